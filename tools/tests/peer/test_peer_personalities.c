/* SPDX-License-Identifier: BSD-3-Clause */
/* What iwarp-peer's personalities, echo and rping, post and make of what comes: the connection
 * itself is the test's. */
#include "peer_program.h"

#include "../caught.h"
#include "iwarp/octets.h"

/* ---- the connection ---- */

static char record[8192];          /* what was asked for, a line each */
static int refused;                /* the receive that is refused, from 1; 0: none */
static int receives;               /* that were posted */
static struct iw_iov places[4096]; /* of receives, by their id */
static uint8_t sent[65536];        /* the last message */
static struct iw_work posted;

static __attribute__((format(printf, 1, 2))) void note(const char *format, ...)
{
    size_t used = strlen(record);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(record + used, sizeof(record) - used, format, arguments);
    va_end(arguments);
}

void peer_abort(struct peer_connection *pc, const char *format, ...)
{
    char text[256];
    va_list arguments;
    (void)pc;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    note("abort: %s\n", text);
}

bool peer_post(struct peer_connection *pc, const struct iw_work *work)
{
    static const char *const names[] = {"send", "?", "?", "?", "write", "read", "immediate"};
    (void)pc;
    assert_true(work->opcode <= IW_WORK_IMMEDIATE);
    note("%s %llu:", names[work->opcode], (unsigned long long)work->id);
    for (size_t i = 0; i < work->sge_count; i++) {
        note(" %zu octets", work->sge[i].length);
        memcpy(sent, work->sge[i].base, work->sge[i].length);
    }
    note("\n");
    posted = *work;
    return true;
}

void peer_send(struct peer_connection *pc, void *octets, size_t length)
{
    (void)pc;
    note("send: %zu octets\n", length);
    memcpy(sent, octets, length);
}

bool peer_post_recv(struct peer_connection *pc, uint64_t id, void *buffer, size_t length)
{
    (void)pc;
    assert_true(id < 4096);
    places[id] = (struct iw_iov){buffer, length};
    note("receive %llu: %zu octets\n", (unsigned long long)id, length);
    return ++receives != refused;
}

void peer_done(struct peer_connection *pc)
{
    (void)pc;
    note("done\n");
}

/* The endpoint's stream is 99. */
uint64_t __wrap_iw_endpoint_stream(const struct iw_endpoint *ep);
uint64_t __wrap_iw_endpoint_stream(const struct iw_endpoint *ep)
{
    (void)ep;
    return 99;
}

/* ---- memory ---- */

static struct iw_region regions[4];
static int n_regions, released, no_region;

int __wrap_iw_domain_register(struct iw_domain *d, struct iw_region *region);
int __wrap_iw_domain_register(struct iw_domain *d, struct iw_region *region)
{
    (void)d;
    if (n_regions + 1 == no_region)
        return -1;
    region->stag = (uint32_t)(0x01020300 + n_regions);
    regions[n_regions++] = *region;
    return 0;
}

int __wrap_iw_domain_deregister(struct iw_domain *d, uint32_t stag);
int __wrap_iw_domain_deregister(struct iw_domain *d, uint32_t stag)
{
    (void)d;
    note("release %x\n", stag);
    released++;
    return 0;
}

static int no_memory; /* the call that gets none, from 1; 0: none */

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
    return no_memory > 0 && --no_memory == 0 ? NULL : __real_calloc(count, size);
}

void *__wrap_malloc(size_t size)
{
    return no_memory > 0 && --no_memory == 0 ? NULL : __real_malloc(size);
}

static int mapped; /* calls of mmap less those of munmap */
static bool no_pages;

void *__real_mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *at, size_t length);
int __wrap_munmap(void *at, size_t length);

void *__wrap_mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset)
{
    if (no_pages)
        return (void *)-1;
    mapped++;
    note("map %zu octets\n", length);
    return __real_mmap(at, length, protection, flags, fd, offset);
}

int __wrap_munmap(void *at, size_t length)
{
    mapped--;
    note("unmap %zu octets\n", length);
    return __real_munmap(at, length);
}

static struct peer peer;
static struct peer_connection pc;

static int begin(void **state)
{
    (void)state;
    record[0] = '\0';
    refused = receives = n_regions = released = no_region = mapped = 0;
    no_pages = false;
    no_memory = 0;
    peer = (struct peer){.count = 2, .size = 10, .buffers = 3};
    peer.options.endpoint.pd = 55;
    pc = (struct peer_connection){.peer = &peer};
    return 0;
}

static void expect(const char *expected)
{
    assert_string_equal(record, expected);
    record[0] = '\0';
}

/* ---- echo ---- */

static void come(const struct personality *p, enum iw_work_opcode opcode, uint64_t id,
                 uint32_t length)
{
    struct iw_completion done = {.opcode = opcode, .id = id, .length = length};
    p->completed[peer.listens](&pc, &done);
}

static void test_echo_server(void **state)
{
    (void)state;
    peer.listens = true;
    assert_int_equal(peer_echo.open(&pc), 0);
    expect("receive 0: 10 octets\nreceive 1: 10 octets\nreceive 2: 10 octets\n");
    /* The buffers lie side by side. */
    assert_ptr_equal(places[2].base, (uint8_t *)places[0].base + 20);
    memcpy(places[1].base, "abcdefgh", 9);
    come(&peer_echo, IW_WORK_RECV, 1, 9);
    expect("send 1: 9 octets\n");
    assert_string_equal((char *)sent, "abcdefgh");
    void *place = places[1].base;
    come(&peer_echo, IW_WORK_SEND, 1, 9);
    expect("receive 1: 10 octets\n");
    assert_ptr_equal(places[1].base, place);
    struct iw_completion done = {.opcode = IW_WORK_RECV,
                                 .id = 2,
                                 .immediate = true,
                                 .immediate_data = {1, 2, 3, 4, 5, 6, 7, 8}};
    peer_echo.completed[1](&pc, &done);
    expect("immediate 2:\n");
    assert_memory_equal(posted.immediate, done.immediate_data, 8);
    peer_echo.close(&pc);
    expect("");
}

static void test_echo_client(void **state)
{
    (void)state;
    assert_string_equal(peer_echo.name, "echo");
    assert_int_equal(peer_echo.open(&pc), 0);
    expect("receive 0: 10 octets\n");
    peer_echo.begin(&pc);
    expect("send: 10 octets\n");
    static const uint8_t first[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    static const uint8_t second[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    assert_memory_equal(sent, first, 10);
    come(&peer_echo, IW_WORK_SEND, 0, 10);
    expect("");
    memcpy(places[0].base, first, 10);
    come(&peer_echo, IW_WORK_RECV, 0, 10);
    expect("receive 0: 10 octets\nsend: 10 octets\n");
    assert_memory_equal(sent, second, 10);
    memcpy(places[0].base, second, 10);
    come(&peer_echo, IW_WORK_RECV, 0, 10);
    expect("done\n");
    peer_echo.close(&pc);
}

static void test_changed_echo(void **state)
{
    static const char changed[] = "abort: message 1 came back changed\n";
    (void)state;
    for (int i = 0; i < 5; i++) {
        (void)begin(state);
        assert_int_equal(peer_echo.open(&pc), 0);
        peer_echo.begin(&pc);
        memcpy(places[0].base, sent, 10);
        expect("receive 0: 10 octets\nsend: 10 octets\n");
        if (i < 2)
            ((uint8_t *)places[0].base)[i == 0 ? 0 : 9] ^= 1;
        struct iw_completion done = {.opcode = IW_WORK_RECV,
                                     .length = i == 2   ? 9
                                               : i == 3 ? 11
                                                        : 10,
                                     .immediate = i == 4};
        peer_echo.completed[0](&pc, &done);
        expect(changed);
        peer_echo.close(&pc);
    }
    /* Without a receive for the answer nothing is sent. */
    (void)begin(state);
    refused = 2;
    assert_int_equal(peer_echo.open(&pc), 0);
    peer_echo.begin(&pc);
    memcpy(places[0].base, sent, 10);
    record[0] = '\0';
    come(&peer_echo, IW_WORK_RECV, 0, 10);
    expect("receive 0: 10 octets\n");
    peer_echo.close(&pc);
}

/* Much memory is mapped, so that nothing is used before a message comes. */
static void test_echo_memory(void **state)
{
    static const struct {
        bool listens;
        uint64_t buffers, size;
        size_t mapped;
    } cases[] = {{true, 1, 16383, 0},    {true, 1, 16384, 16384}, {true, 3, 5461, 0},
                 {true, 3, 5462, 16386}, {false, 9, 8191, 0},     {false, 9, 8192, 16384}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[64] = "";
        (void)begin(state);
        peer.listens = cases[i].listens;
        peer.buffers = cases[i].buffers;
        peer.size = cases[i].size;
        assert_int_equal(peer_echo.open(&pc), 0);
        assert_int_equal(receives, cases[i].listens ? cases[i].buffers : 1);
        assert_int_equal(mapped, cases[i].mapped > 0);
        if (cases[i].mapped > 0)
            snprintf(text, sizeof(text), "map %zu octets\n", cases[i].mapped);
        record[strlen(text)] = '\0';
        expect(text);
        if (!cases[i].listens)
            peer_echo.begin(&pc); /* there is room for what is sent */
        record[0] = '\0';
        peer_echo.close(&pc);
        assert_int_equal(mapped, 0);
        if (cases[i].mapped > 0)
            snprintf(text, sizeof(text), "unmap %zu octets\n", cases[i].mapped);
        expect(text);
    }
    peer.size = 16384;
    no_pages = true;
    assert_int_equal(peer_echo.open(&pc), -1);
    peer_echo.close(&pc);
    expect("");
    pc.state = NULL;
    peer_echo.close(&pc);
    no_pages = false;
    (void)begin(state);
    peer.listens = true;
    refused = 2;
    assert_int_equal(peer_echo.open(&pc), -1);
    assert_int_equal(receives, 2);
    peer_echo.close(&pc);
}

/* ---- rping ---- */

static void send_to_us(const struct personality *p, uint64_t id, uint64_t to, uint32_t stag,
                       uint32_t length)
{
    uint8_t *octets = places[id].base;
    iw_put64(octets, to);
    iw_put32(octets + 8, stag);
    iw_put32(octets + 12, length);
    come(p, IW_WORK_RECV, id, 16);
}

/* What the last message names: address, STag and length. */
static void expect_info(const struct iw_region *region)
{
    assert_int_equal(iw_get64(sent), (uintptr_t)region->base);
    assert_int_equal(iw_get32(sent + 8), region->stag);
    assert_int_equal(iw_get32(sent + 12), region->length);
}

static void test_rping_client(void **state)
{
    (void)state;
    peer.size = 30;
    peer.verify = true;
    assert_string_equal(peer_rping.name, "rping");
    assert_int_equal(peer_rping.open(&pc), 0);
    expect("receive 0: 16 octets\nreceive 1: 16 octets\n");
    assert_int_equal(n_regions, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(regions[i].length, 30);
        assert_int_equal(regions[i].to, (uintptr_t)regions[i].base);
        assert_int_equal(regions[i].pd, 55);
        assert_int_equal(regions[i].stream, 99);
    }
    assert_int_equal(regions[0].access, IW_ACCESS_REMOTE_READ);
    assert_int_equal(regions[1].access, IW_ACCESS_REMOTE_WRITE);
    peer_rping.begin(&pc);
    expect("send: 16 octets\n");
    expect_info(&regions[0]);
    assert_string_equal((char *)regions[0].base, "rdma-ping-0: ABCDEFGHIJKLMNOP");
    come(&peer_rping, IW_WORK_SEND, 0, 16);
    expect("");
    come(&peer_rping, IW_WORK_RECV, 0, 16);
    expect("receive 0: 16 octets\nsend: 16 octets\n");
    expect_info(&regions[1]);
    memcpy(regions[1].base, regions[0].base, 30);
    come(&peer_rping, IW_WORK_RECV, 1, 16);
    expect("receive 1: 16 octets\nsend: 16 octets\n");
    expect_info(&regions[0]);
    assert_string_equal((char *)regions[0].base, "rdma-ping-1: BCDEFGHIJKLMNOPQ");
    assert_int_equal(((uint8_t *)regions[1].base)[0], 0); /* wiped */
    assert_int_equal(((uint8_t *)regions[1].base)[28], 0);
    come(&peer_rping, IW_WORK_RECV, 0, 16);
    memcpy(regions[1].base, regions[0].base, 30);
    record[0] = '\0';
    catch_from(1);
    come(&peer_rping, IW_WORK_RECV, 0, 16);
    assert_string_equal(caught(), "rping: 2 exchanges of 30 octets, verified\n");
    expect("receive 0: 16 octets\ndone\n");
    peer_rping.close(&pc);
    expect("release 1020300\nrelease 1020301\n");
}

/* The characters go round after 'z'. */
static void test_rping_text(void **state)
{
    (void)state;
    peer.size = 80;
    assert_int_equal(peer_rping.open(&pc), 0);
    peer_rping.begin(&pc);
    assert_string_equal(
        (char *)regions[0].base,
        "rdma-ping-0: ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyzABCD"
        "EFGH");
    peer_rping.close(&pc);
}

static void test_rping_client_trouble(void **state)
{
    (void)state;
    for (int verify = 0; verify < 2; verify++)
        for (int place = 0; place < 30; place += 29) {
            (void)begin(state);
            peer.size = 30;
            peer.count = 1;
            peer.verify = verify;
            assert_int_equal(peer_rping.open(&pc), 0);
            peer_rping.begin(&pc);
            come(&peer_rping, IW_WORK_RECV, 0, 16);
            memcpy(regions[1].base, regions[0].base, 30);
            ((uint8_t *)regions[1].base)[place] ^= 1;
            record[0] = '\0';
            catch_from(1);
            come(&peer_rping, IW_WORK_RECV, 1, 16);
            assert_string_equal(caught(), verify ? "" : "rping: 1 exchanges of 30 octets\n");
            expect(verify ? "receive 1: 16 octets\nabort: exchange 0: the data came back changed\n"
                          : "receive 1: 16 octets\ndone\n");
            peer_rping.close(&pc);
        }
    for (uint32_t length = 15; length <= 17; length += 2) {
        record[0] = '\0';
        (void)begin(state);
        peer.size = 30;
        assert_int_equal(peer_rping.open(&pc), 0);
        record[0] = '\0';
        come(&peer_rping, IW_WORK_RECV, 0, length);
        expect(length == 15 ? "abort: a message of 15 octets came, expected 16\n"
                            : "abort: a message of 17 octets came, expected 16\n");
        peer_rping.close(&pc);
    }
    (void)begin(state);
    peer.size = 30;
    refused = 3;
    assert_int_equal(peer_rping.open(&pc), 0);
    record[0] = '\0';
    come(&peer_rping, IW_WORK_RECV, 0, 16);
    expect("receive 0: 16 octets\n"); /* and nothing more */
    peer_rping.close(&pc);
}

static void test_rping_memory(void **state)
{
    (void)state;
    for (int listens = 0; listens < 2; listens++)
        for (int i = 1; i <= 4 - listens; i++) {
            (void)begin(state);
            peer.size = 30;
            peer.listens = listens;
            no_region = i <= 2 - listens ? i : 0;
            refused = i > 2 - listens ? i - (2 - listens) : 0;
            assert_int_equal(peer_rping.open(&pc), -1);
            peer_rping.close(&pc);
            assert_int_equal(released, n_regions);
        }
    pc.state = NULL;
    peer_rping.close(&pc);
}

static void test_rping_server(void **state)
{
    (void)state;
    peer.listens = peer.verify = true;
    assert_int_equal(peer_rping.open(&pc), 0);
    expect("receive 0: 16 octets\nreceive 1: 16 octets\n");
    assert_int_equal(n_regions, 1);
    assert_int_equal(regions[0].length, 1048576);
    assert_int_equal(regions[0].access, IW_ACCESS_LOCAL_WRITE);
    static const char *const texts[] = {"rdma-ping-0: ABCDEF", "rdma-ping-1: BCDEFG"};
    for (int i = 0; i < 2; i++) {
        send_to_us(&peer_rping, 0, 0x1122334455667788, 0x99aabbcc, 20);
        expect("receive 0: 16 octets\nread 0:\n");
        assert_int_equal(posted.remote_to, 0x1122334455667788);
        assert_int_equal(posted.remote_stag, 0x99aabbcc);
        assert_int_equal(posted.length, 20);
        assert_int_equal(posted.sink_stag, regions[0].stag);
        assert_int_equal(posted.sink_to, regions[0].to);
        memcpy(regions[0].base, texts[i], 20);
        come(&peer_rping, IW_WORK_READ, 0, 20);
        expect("send: 16 octets\n");
        static const uint8_t nothing[16];
        assert_memory_equal(sent, nothing, 16);
        send_to_us(&peer_rping, 1, 77, 88, 20);
        expect("receive 1: 16 octets\nwrite 0: 20 octets\n");
        assert_int_equal(posted.remote_to, 77);
        assert_int_equal(posted.remote_stag, 88);
        assert_string_equal((char *)sent, texts[i]);
        come(&peer_rping, IW_WORK_WRITE, 0, 20);
        expect("send: 16 octets\n");
        come(&peer_rping, IW_WORK_SEND, 0, 16);
        expect("");
    }
    peer_rping.close(&pc);
    expect("release 1020300\n");
}

static void test_rping_server_trouble(void **state)
{
    static const struct {
        uint32_t length;
        const char *said;
    } cases[] = {
        {0, "abort: the client offers a buffer of 0 octets, expected 1 to 1048576\n"},
        {1, "read 0:\n"},
        {1048576, "read 0:\n"},
        {1048577, "abort: the client offers a buffer of 1048577 octets, expected 1 to 1048576\n"}};
    char text[160];
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        (void)begin(state);
        peer.listens = true;
        assert_int_equal(peer_rping.open(&pc), 0);
        record[0] = '\0';
        send_to_us(&peer_rping, 0, 1, 2, cases[i].length);
        snprintf(text, sizeof(text), "receive 0: 16 octets\n%s", cases[i].said);
        expect(text);
        peer_rping.close(&pc);
    }
    /* One thing after the other, and of one length. */
    (void)begin(state);
    peer.listens = true;
    assert_int_equal(peer_rping.open(&pc), 0);
    send_to_us(&peer_rping, 0, 1, 2, 20);
    record[0] = '\0';
    send_to_us(&peer_rping, 0, 1, 2, 20);
    expect("receive 0: 16 octets\nabort: the client sends out of turn\n");
    come(&peer_rping, IW_WORK_READ, 0, 20); /* nothing is compared */
    expect("send: 16 octets\n");
    send_to_us(&peer_rping, 0, 1, 2, 19);
    expect("receive 0: 16 octets\nabort: the client offers a buffer of 19 octets, expected as many "
           "as before\n");
    peer_rping.close(&pc);
    for (int place = 0; place < 20; place += 19) {
        (void)begin(state);
        peer.listens = peer.verify = true;
        assert_int_equal(peer_rping.open(&pc), 0);
        send_to_us(&peer_rping, 0, 1, 2, 20);
        memcpy(regions[0].base, "rdma-ping-0: ABCDEF", 20);
        ((uint8_t *)regions[0].base)[place] ^= 1;
        record[0] = '\0';
        come(&peer_rping, IW_WORK_READ, 0, 20);
        expect("abort: exchange 0: not the data of rping\nsend: 16 octets\n");
        peer_rping.close(&pc);
    }
}

/* Each part of what a connection needs. */
static void test_no_memory(void **state)
{
    (void)state;
    for (int listens = 0; listens < 2; listens++)
        for (int i = 1; i <= 2; i++) {
            (void)begin(state);
            peer.listens = listens;
            no_memory = i;
            assert_int_equal(peer_echo.open(&pc), -1);
            peer_echo.close(&pc);
            expect("");
        }
    for (int listens = 0; listens < 2; listens++)
        for (int i = 1; i <= 3 - listens; i++) {
            (void)begin(state);
            peer.listens = listens;
            peer.size = 30;
            no_memory = i;
            assert_int_equal(peer_rping.open(&pc), -1);
            peer_rping.close(&pc);
            assert_int_equal(receives, 0);
            assert_int_equal(released, n_regions);
        }
    /* Nothing to compare with is as good as a difference. */
    (void)begin(state);
    peer.listens = peer.verify = true;
    assert_int_equal(peer_rping.open(&pc), 0);
    send_to_us(&peer_rping, 0, 1, 2, 20);
    memcpy(regions[0].base, "rdma-ping-0: ABCDEF", 20);
    record[0] = '\0';
    no_memory = 1;
    come(&peer_rping, IW_WORK_READ, 0, 20);
    expect("abort: exchange 0: not the data of rping\nsend: 16 octets\n");
    peer_rping.close(&pc);
}

static void run_again(void)
{
    const struct personality *both[] = {&peer_echo, &peer_rping};
    for (int i = 0; i < 4; i++) {
        (void)begin(NULL);
        peer.listens = i % 2 == 0;
        peer.verify = true;
        peer.size = 30;
        assert_int_equal(both[i / 2]->open(&pc), 0);
        if (i == 2) {
            send_to_us(&peer_rping, 0, 1, 2, 20);
            come(&peer_rping, IW_WORK_READ, 0, 20);
        }
        both[i / 2]->close(&pc);
        (void)begin(NULL);
        peer.size = 30;
        no_region = 1;
        if (i / 2 == 1)
            assert_int_equal(peer_rping.open(&pc), -1);
        if (i / 2 == 1)
            peer_rping.close(&pc);
    }
}

static void test_nothing_is_lost(void **state)
{
    (void)state;
    assert_false(leaks(run_again));
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, begin, catch_no_more)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(test_echo_server),          EACH(test_echo_client),     EACH(test_changed_echo),
        EACH(test_echo_memory),          EACH(test_rping_client),    EACH(test_rping_text),
        EACH(test_rping_client_trouble), EACH(test_rping_memory),    EACH(test_rping_server),
        EACH(test_rping_server_trouble), EACH(test_nothing_is_lost), EACH(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
