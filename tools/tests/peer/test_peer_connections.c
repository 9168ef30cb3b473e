/* SPDX-License-Identifier: BSD-3-Clause */
/* What iwarp-peer does with what its connections report, and what it says of them: transport and
 * endpoint are the test's. */
#include "peer_program.h"

#include <errno.h>

#include "connection_doubles.h"
#include "host/complain.h"

/* ---- a personality of the test's ---- */

static int open_result, closed;
static struct peer_connection *opened;

static int test_open(struct peer_connection *pc)
{
    opened = pc;
    note("open\n");
    return open_result;
}

static void test_begin(struct peer_connection *pc)
{
    assert_ptr_equal(pc, opened);
    note("begin\n");
}

static void as_client(struct peer_connection *pc, const struct iw_completion *done)
{
    assert_ptr_equal(pc, opened);
    note("client %d\n", (int)done->id);
}

static void as_server(struct peer_connection *pc, const struct iw_completion *done)
{
    assert_ptr_equal(pc, opened);
    note("server %d\n", (int)done->id);
}

static void test_close(struct peer_connection *pc)
{
    (void)pc;
    closed++;
}

static const struct personality personality = {
    "test", test_open, test_begin, {as_client, as_server}, test_close};
const struct personality peer_echo = {.name = "echo"}, peer_rping = {.name = "rping"};

int peer_run(struct peer *p)
{
    (void)p;
    return 1;
}

static struct peer peer;

static int begin(void **state)
{
    (void)state;
    record[0] = '\0';
    result = os_error = open_result = closed = 0;
    n_events = n_completions = 0;
    no_transport = no_memory = false;
    no_line = NULL;
    opened = context_set = connect_context = NULL;
    peer = (struct peer){.personality = &personality,
                         .count = 5,
                         .limit = 77,
                         .threads = 1,
                         .address = {.host = "h", .port = 5},
                         .reactor = (struct iw_reactor *)&a_reactor,
                         .domain = (struct iw_domain *)&a_domain};
    peer.options.endpoint.mulpdu = 900;
    memcpy(peer.options.private_data, "ours", 4);
    peer.options.private_length = 4;
    return 0;
}

/* Starts it; what it prints and says is `text`. */
static void start(int fd, const char *text, int expected)
{
    catch_from(fd);
    int status = peer_start(&peer);
    assert_string_equal(caught(), text);
    assert_int_equal(status, expected);
}

/* Makes the listening peer accept a connection. Returns what its accepted() does. */
static bool arrive(void)
{
    struct iw_endpoint_config config = listening.endpoint;
    listening.configure(listening.context, &config);
    return listening.accepted(listening.context, (struct iw_connection *)&a_connection);
}

static void connect_one(void)
{
    start(2, "", 0);
    assert_ptr_equal(connect_context, opened);
    expect("connect to h:5\nopen\n");
}

/* What `ready` says on standard error after an event. */
static void happen(const struct iw_event *event, const char *text)
{
    events[0] = *event;
    n_events = 1;
    catch_from(2);
    connecting.ready(opened, (struct iw_connection *)&a_connection);
    assert_string_equal(caught(), text);
}

/* ---- listening ---- */

static void test_listening(void **state)
{
    (void)state;
    peer.listens = true;
    start(1, "listening on here:4711\n", 0);
    expect("listen on h:5\n");
    assert_int_equal(peer.address.port, 4711);
    assert_ptr_equal(peer.listener, &a_listener);
    assert_ptr_equal(listening.domain, &a_domain);
    assert_ptr_equal(listening.context, &peer);
    assert_int_equal(listening.endpoint.mulpdu, 900);
    assert_int_equal(listening.limit, 77);
    assert_true(listening.defer && !listening.shared);
    assert_null(listening.ops.stream);
    for (int i = 1; i <= 2; i++) {
        assert_true(arrive());
        expect("open\n");
        assert_ptr_equal(context_set, opened);
        assert_int_equal(opened->tracer.connection, i - 1);
        assert_null(opened->tracer.out);
        assert_int_equal(peer.living, i);
        assert_ptr_equal(opened->peer, &peer);
    }
    /* A connection that is told of but does not come. */
    struct iw_endpoint_config config = listening.endpoint;
    listening.configure(&peer, &config);
    assert_null(config.trace);
    assert_int_equal(peer.living, 3);
    assert_int_equal(closed, 0);
    listening.configure(&peer, &config);
    assert_int_equal(peer.living, 3);
    assert_int_equal(closed, 1);
    assert_true(listening.accepted(&peer, (struct iw_connection *)&a_connection));
    assert_int_equal(opened->tracer.connection, 3);
    record[0] = '\0';
    assert_false(listening.accepted(&peer, (struct iw_connection *)&a_connection));
    expect("");
    while (!LIST_EMPTY(&peer.connections))
        peer_forget(LIST_FIRST(&peer.connections));
    assert_int_equal(peer.living, 0);
    assert_int_equal(closed, 4);
}

static void test_listening_in_threads(void **state)
{
    (void)state;
    peer.listens = true;
    peer.threads = 3;
    peer.number = 2;
    start(1, "", 0); /* the first thread says it */
    assert_true(listening.shared);
    assert_int_equal(peer.address.port, 4711);
    for (unsigned i = 0; i < 2; i++) {
        assert_true(arrive());
        assert_int_equal(opened->tracer.connection, 2 + 3 * i);
    }
    peer_forget(LIST_FIRST(&peer.connections));
    peer_forget(LIST_FIRST(&peer.connections));
}

static void test_no_listener(void **state)
{
    (void)state;
    peer.listens = true;
    no_transport = true;
    start(2, "iwarp-peer: no place\n", 69);
}

static void test_once(void **state)
{
    (void)state;
    peer.listens = peer.once = true;
    start(1, "listening on here:4711\n", 0);
    record[0] = '\0';
    /* One that there is no memory for is not the one. */
    open_result = -1;
    catch_from(2);
    assert_false(arrive());
    assert_string_equal(caught(),
                        "iwarp-peer: connection 0 with there:7: no memory for its buffers\n");
    expect("open\n");
    assert_int_equal(peer.living, 0);
    assert_int_equal(closed, 1);
    open_result = 0;
    assert_true(arrive());
    expect("open\nlisten no more\n");
    peer_forget(opened);
}

static void test_traces(void **state)
{
    (void)state;
    peer.trace = stderr;
    connect_one();
    assert_ptr_equal(connect_config.trace_context, &opened->tracer);
    assert_true(connect_config.trace == iw_trace_json);
    assert_ptr_equal(opened->tracer.out, stderr);
    peer_forget(opened);
}

/* ---- connecting ---- */

static void test_connecting(void **state)
{
    (void)state;
    connect_one();
    assert_int_equal(connect_config.mulpdu, 900);
    assert_null(connect_config.trace);
    assert_null(connecting.stream);
    assert_ptr_equal(opened->c, &a_connection);
    assert_ptr_equal(context_set, opened);
    peer_forget(opened);
    no_transport = true;
    start(2, "iwarp-peer: no way\n", 3);
    expect("connect to h:5\n");
    peer_forget(LIST_FIRST(&peer.connections));
    no_transport = false;
    open_result = -1;
    start(2, "iwarp-peer: connection 2 with there:7: no memory for its buffers\n", 70);
    peer_forget(opened);
}

static void test_no_memory(void **state)
{
    (void)state;
    no_memory = true;
    start(2, "iwarp-peer: no memory\n", 70);
    expect("");
    peer.listens = true;
    start(1, "listening on here:4711\n", 0);
    record[0] = '\0';
    assert_false(arrive());
    expect("");
    assert_int_equal(peer.living, 0);
    no_memory = false;
    assert_true(arrive());
    assert_int_equal(opened->tracer.connection, 0);
    peer_forget(opened);
}

/* ---- events and completions ---- */

static void test_events(void **state)
{
    (void)state;
    connect_one();
    struct iw_event event = {.kind = IW_EVENT_NONE};
    happen(&event, "");
    event.kind = IW_EVENT_ESTABLISHED;
    assert_false(opened->was_established);
    happen(&event, "");
    expect("begin\n");
    assert_true(opened->was_established);
    event.kind = IW_EVENT_REJECTED;
    happen(&event, "iwarp-peer: connection 0 with there:7: rejected by the peer\n");
    assert_true(opened->failed);
    event.kind = IW_EVENT_FAULT;
    event.fault = (struct iw_fault){.check = IW_CHECK_DDP_MSN, .pos = 12345678901};
    char text[512];
    snprintf(text, sizeof(text),
             "iwarp-peer: connection 0 with there:7: fault ddp-msn (DDP-7.1-09) at octet "
             "12345678901: %s\n",
             iw_check_info(IW_CHECK_DDP_MSN)->text);
    happen(&event, text);
    event.fault.got = 0x01000000;
    event.fault.want = 1;
    snprintf(text, sizeof(text),
             "iwarp-peer: connection 0 with there:7: fault ddp-msn (DDP-7.1-09) at octet "
             "12345678901: %s: the MSN is in reversed octet order\n",
             iw_check_info(IW_CHECK_DDP_MSN)->text);
    happen(&event, text);
    event.kind = IW_EVENT_TERMINATED;
    event.terminate.layer = 2;
    event.terminate.etype = 0;
    event.terminate.code = 2;
    snprintf(text, sizeof(text),
             "iwarp-peer: connection 0 with there:7: Terminate 2/0/02 from the peer: %s\n",
             iw_wire_term_name(2, 0, 2));
    happen(&event, text);
    event.terminate.etype = 1;
    event.terminate_reversed = true;
    event.meant = (struct iw_rdmap_terminate){.layer = 1, .etype = 2, .code = 5};
    happen(&event, "iwarp-peer: connection 0 with there:7: Terminate 1/2/05 from the peer (the "
                   "control word of the "
                   "Terminate is in reversed bit order: it says 2/1/02): message too long for "
                   "available buffer\n");
    event.kind = IW_EVENT_PEER_CLOSED;
    expect("");
    happen(&event, "");
    expect("shutdown\n");
    event.kind = IW_EVENT_CLOSED;
    event.cause = IW_CAUSE_LOST;
    happen(&event, "");
    assert_int_equal(opened->cause, IW_CAUSE_LOST);
    expect("");
    event.kind = IW_EVENT_REQUEST;
    happen(&event, "");
    expect("accept ours\n");
    result = IW_ERR_STATE;
    happen(&event, "");
    expect("accept ours\n");
    result = IW_ERR_ARGUMENT;
    happen(&event, "iwarp-peer: connection 0 with there:7: the Reply has no room for the private "
                   "data\n");
    expect("accept ours\nabort\n");
    /* A listening peer waits for what comes. */
    peer.listens = true;
    event.kind = IW_EVENT_ESTABLISHED;
    happen(&event, "");
    expect("");
    peer_forget(opened);
}

/* Each that is well goes to the personality, in order and after the events. */
static void test_completions(void **state)
{
    (void)state;
    connect_one();
    for (int listens = 0; listens < 2; listens++) {
        peer.listens = listens;
        n_events = 1;
        events[0].kind = IW_EVENT_PEER_CLOSED;
        n_completions = 3;
        for (unsigned i = 0; i < 3; i++)
            completions[i] = (struct iw_completion){
                .id = i, .status = i == 1 ? IW_STATUS_FLUSHED : IW_STATUS_OK};
        connecting.ready(opened, (struct iw_connection *)&a_connection);
        expect(listens ? "shutdown\nserver 2\nserver 0\n" : "shutdown\nclient 2\nclient 0\n");
    }
    peer_forget(opened);
}

static void test_posting(void **state)
{
    static const struct {
        int result;
        bool good;
        const char *text;
    } cases[] = {
        {IW_OK, true, ""},
        {IW_ERR_STATE, false, ""},
        {IW_ERR_FULL, false,
         "iwarp-peer: connection 0 with there:7: the endpoint refuses a work request: too many are "
         "outstanding\n"},
        {IW_ERR_ARGUMENT, false,
         "iwarp-peer: connection 0 with there:7: the endpoint refuses a work request\n"}};
    (void)state;
    connect_one();
    for (size_t i = 0; i < 4; i++) {
        char octets[] = "abc", expected[64];
        struct iw_iov sge = {octets, 2};
        struct iw_work work = {.opcode = IW_WORK_WRITE, .sge = &sge, .sge_count = 1};
        const char *abort = cases[i].text[0] != '\0' ? "abort\n" : "";
        result = cases[i].result;
        catch_from(2);
        bool good = peer_post(opened, &work);
        assert_string_equal(caught(), cases[i].text);
        assert_int_equal(good, cases[i].good);
        snprintf(expected, sizeof(expected), "post 4: ab\n%s", abort);
        expect(expected);
        catch_from(2);
        peer_send(opened, octets, 3);
        assert_string_equal(caught(), cases[i].text);
        snprintf(expected, sizeof(expected), "post 0: abc\n%s", abort);
        expect(expected);
        catch_from(2);
        good = peer_post_recv(opened, 7, octets, 3);
        assert_string_equal(caught(), cases[i].text);
        assert_int_equal(good, cases[i].good);
        snprintf(expected, sizeof(expected), "receive 7: 3 octets\n%s", abort);
        expect(expected);
    }
    assert_false(opened->done);
    peer_done(opened);
    assert_true(opened->done);
    expect("shutdown\n");
    peer_forget(opened);
}

/* ---- ends ---- */

/* How a connection ends, what is said of it, and what becomes of the program. */
static void test_ends(void **state)
{
    static const struct {
        bool listens, once, established, done, failed;
        enum iw_cause cause;
        const char *text;
        int status;
    } cases[] = {
        {false, false, true, true, false, IW_CAUSE_GRACEFUL, "", 0},
        {false, false, true, false, false, IW_CAUSE_GRACEFUL,
         "the peer closed the connection before everything was done", 1},
        {false, false, true, true, false, IW_CAUSE_TIMEOUT,
         "the peer did not close the connection in time", 1},
        {false, false, true, true, false, IW_CAUSE_LOST, "the connection was lost", 1},
        {false, false, true, true, false, IW_CAUSE_NONE, "the connection was lost", 1},
        {false, false, true, true, false, IW_CAUSE_FAULT, "the connection was lost", 1},
        {false, false, true, true, true, IW_CAUSE_LOST, "", 1}, /* it was said before */
        {false, false, false, true, false, IW_CAUSE_GRACEFUL, "cannot connect", 3},
        {false, false, false, false, false, IW_CAUSE_LOST, "cannot connect", 3},
        {true, false, true, false, false, IW_CAUSE_GRACEFUL, "", -1},
        {true, false, false, false, false, IW_CAUSE_GRACEFUL, "no start-up took place", -1},
        {true, false, true, false, false, IW_CAUSE_LOST, "the connection was lost", -1},
        {true, true, true, false, false, IW_CAUSE_GRACEFUL, "", 0},
        {true, true, false, false, false, IW_CAUSE_LOST, "no start-up took place", 1},
        {true, true, true, false, false, IW_CAUSE_TIMEOUT,
         "the peer did not close the connection in time", 1}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[256] = "";
        (void)begin(state);
        connect_one();
        peer.listens = cases[i].listens;
        peer.once = cases[i].once;
        opened->was_established = cases[i].established;
        opened->done = cases[i].done;
        opened->failed = cases[i].failed;
        opened->cause = cases[i].cause;
        if (cases[i].text[0] != '\0')
            snprintf(text, sizeof(text), "iwarp-peer: connection 0 with there:7: %s\n",
                     cases[i].text);
        catch_from(2);
        connecting.ended(opened, (struct iw_connection *)&a_connection);
        assert_string_equal(caught(), text);
        /* -1: the program goes on. */
        assert_int_equal(peer.stopping, cases[i].status >= 0);
        assert_int_equal(peer.status, cases[i].status >= 0 ? cases[i].status : 0);
        assert_int_equal(peer.living, 0);
        assert_true(LIST_EMPTY(&peer.connections));
        assert_int_equal(closed, 1);
    }
}

static void test_error_of_the_system(void **state)
{
    (void)state;
    connect_one();
    os_error = ECONNREFUSED;
    opened->c = NULL; /* whose address is not known */
    catch_from(2);
    connecting.ended(opened, (struct iw_connection *)&a_connection);
    assert_string_equal(caught(),
                        "iwarp-peer: connection 0 with -: cannot connect: Connection refused\n");
}

/* ---- lines before MPA ---- */

/* How many of these octets are taken as part of the line. */
static size_t hear(const struct iw_connection_ops *ops, const char *octets, size_t length)
{
    return ops->stream(opened, (struct iw_connection *)&a_connection, (const uint8_t *)octets,
                       length);
}

static void test_lines(void **state)
{
    char line[202];
    (void)state;
    memset(line, 'x', sizeof(line));
    peer.stream = "hello";
    start(2, "", 0);
    expect("connect to h:5\nopen\nsay hello\nsay \n\n");
    assert_true(connecting.ready != NULL && connecting.ended != NULL);
    assert_int_equal(hear(&connecting, "an", 2), 2);
    expect("");
    assert_int_equal(hear(&connecting, "swer\nMPA", 8), 5);
    expect("start\n");
    peer_forget(opened);
    for (int i = 0; i < 2; i++) {
        no_line = i == 0 ? "hello" : "\n";
        start(2,
              i == 0 ? "iwarp-peer: connection 1 with there:7: no memory for a line\n"
                     : "iwarp-peer: connection 2 with there:7: no memory for a line\n",
              0);
        expect(i == 0 ? "connect to h:5\nopen\nabort\n"
                      : "connect to h:5\nopen\nsay hello\nabort\n");
        peer_forget(opened);
    }
    /* A listening peer answers; 200 octets are a line, in however many pieces. */
    (void)begin(state);
    peer.listens = true;
    peer.stream = "welcome";
    start(1, "listening on here:4711\n", 0);
    assert_true(arrive());
    record[0] = '\0';
    assert_int_equal(hear(&listening.ops, line, 150), 150);
    line[50] = '\n';
    assert_int_equal(hear(&listening.ops, line, 60), 51);
    expect("say welcome\nsay \n\nstart\n");
    peer_forget(opened);
    assert_true(arrive());
    record[0] = '\0';
    line[50] = 'x';
    catch_from(2);
    assert_int_equal(hear(&listening.ops, line, 200), 200);
    assert_string_equal(caught(), "");
    catch_from(2);
    assert_int_equal(hear(&listening.ops, line, 1), 1);
    assert_string_equal(caught(), "iwarp-peer: connection 1 with there:7: the line before MPA is "
                                  "longer than 200 octets\n");
    expect("abort\n");
    peer_forget(opened);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, begin, catch_no_more)

int main(void)
{
    iw_complain_as("iwarp-peer");
    const struct CMUnitTest tests[] = {
        EACH(test_listening),   EACH(test_listening_in_threads),
        EACH(test_no_listener), EACH(test_once),
        EACH(test_traces),      EACH(test_connecting),
        EACH(test_no_memory),   EACH(test_events),
        EACH(test_completions), EACH(test_posting),
        EACH(test_ends),        EACH(test_error_of_the_system),
        EACH(test_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
