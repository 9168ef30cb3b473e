/* SPDX-License-Identifier: BSD-3-Clause */
/* The harness of the control protocol: what it gives to whom, and what it notices. */
#include "spy.h"

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "iwarp/control.h"

/* ---- channels and a client that do as the test says ---- */

enum role { CHANNEL, TO, FROM };

struct iw_control_channel {
    int fd;
    enum role role;
    size_t run, next;
};

static struct {
    size_t created, none; /* channels; this one and later ones are not created */
    struct {
        int got;
        const char *text; /* of the object, or the error */
    } lines[2][4];
    int read[2];    /* result, once lines have come: -1 */
    bool too_long;  /* cannot be sent on */
    int flushes;    /* how often it is not done */
    int waits;      /* how often the line is not there */
    int from_read;  /* result of reading it */
    bool lost;      /* it never arrives, */
    const char *as; /* or as another */
    json_t *sent;
    size_t open;
    /* the client */
    bool no_client;
    const char *reply, *error;
    int events;
    int client;
} fake;

static struct iw_control_channel channels[6];

/* Objects that were made: an oracle that fails leaves them to nobody else. */
static json_t *objects[200];
static size_t object_count;

static json_t *make(const char *text)
{
    assert_true(object_count < sizeof(objects) / sizeof(objects[0]));
    return objects[object_count++] = json_loads(text, JSON_DECODE_ANY, NULL);
}

struct iw_control_channel *iw_control_channel_create(int fd)
{
    struct iw_control_channel *ch = &channels[fake.created];

    ch->fd = fd;
    ch->role = (enum role)(fake.created % 3);
    ch->run = fake.created / 3;
    ch->next = 0;
    fake.created++;
    if (fake.none > 0 && fake.created >= fake.none) {
        close(fd);
        return NULL;
    }
    fake.open++;
    return ch;
}

void iw_control_channel_destroy(struct iw_control_channel *ch)
{
    close(ch->fd);
    fake.open--;
}

static void note_there(int fd)
{
    uint8_t octets[64];
    ssize_t n = recv(fd, octets, sizeof(octets), MSG_DONTWAIT);

    spy_note("reads ");
    if (n > 0)
        spy_note_octets(octets, (size_t)n);
    spy_note("\n");
}

int iw_control_channel_read(struct iw_control_channel *ch)
{
    if (ch->role == FROM) {
        spy_note("reads on\n");
        return fake.from_read;
    }
    assert_int_equal(ch->role, CHANNEL);
    note_there(ch->fd);
    return fake.read[ch->run];
}

int iw_control_channel_next(struct iw_control_channel *ch, json_t **out, char *error, size_t room)
{
    if (ch->role == FROM) {
        if (fake.waits-- > 0)
            return 0;
        *out = fake.as != NULL ? make(fake.as) : json_incref(fake.sent);
        if (fake.lost) {
            json_decref(*out);
            *out = NULL;
        }
        return fake.lost ? -1 : 1;
    }
    assert_int_equal(ch->role, CHANNEL);
    const char *text = fake.lines[ch->run][ch->next].text;
    int got = fake.lines[ch->run][ch->next].got;
    ch->next += got != 0;
    if (got > 0)
        *out = make(text);
    else if (got < 0)
        snprintf(error, room, "%s", text);
    return got;
}

int iw_control_channel_write(struct iw_control_channel *ch, const json_t *object)
{
    assert_int_equal(ch->role, TO);
    json_decref(fake.sent);
    fake.sent = json_deep_copy(object);
    spy_note("passes on\n");
    return fake.too_long ? -1 : 0;
}

int iw_control_channel_flush(struct iw_control_channel *ch)
{
    assert_int_equal(ch->role, TO);
    return fake.flushes-- > 0;
}

struct iw_control *iw_control_adopt(int fd)
{
    fake.client = fd;
    return fake.no_client ? NULL : (struct iw_control *)&fake.client;
}

json_t *iw_control_call(struct iw_control *c, json_t *request, uint64_t deadline, char *error,
                        size_t room)
{
    assert_non_null(c);
    assert_int_equal(deadline, 0);
    note_there(fake.client);
    assert_string_equal(json_string_value(json_object_get(request, "do")), "hello");
    json_decref(request);
    if (fake.error != NULL)
        snprintf(error, room, "%s", fake.error);
    return fake.reply != NULL ? make(fake.reply) : NULL;
}

json_t *iw_control_event(struct iw_control *c, uint64_t deadline)
{
    assert_non_null(c);
    assert_int_equal(deadline, 0);
    spy_note("event\n");
    return fake.events-- > 0 ? json_object() : NULL;
}

bool iw_control_lost(const struct iw_control *c)
{
    assert_non_null(c);
    spy_note("lost\n");
    return true;
}

void iw_control_close(struct iw_control *c)
{
    assert_non_null(c);
    spy_note("close\n");
    close(fake.client);
}

/* ---- tests ---- */

static void again(void)
{
    json_decref(fake.sent);
    memset(&fake, 0, sizeof(fake));
    fake.error = "no reply";
}

static void line(size_t at, int got, const char *text)
{
    for (size_t run = 0; run < 2; run++) {
        fake.lines[run][at].got = got;
        fake.lines[run][at].text = text;
    }
}

static int lowest(void)
{
    int fd = dup(STDERR_FILENO);

    close(fd);
    return fd;
}

/* Runs it, which leaves no descriptor open. */
static const char *says(const char *hex)
{
    int before = lowest();

    fake.created = fake.open = 0;
    const char *said = spy_runs(&iw_fuzz_harness, hex);
    if (said[0] == '\0') {
        assert_int_equal(lowest(), before);
        assert_int_equal(fake.open, 0);
    }
    return said;
}

#define SAYS(expected) assert_string_equal(says("6162"), expected)

static void octets_come_in_two_ways(void **state)
{
    (void)state;
    again();
    fake.events = 2;
    line(0, 1, "{\"a\":1}");
    line(1, -1, "an error");
    line(2, 1, "{\"b\":2}");
    assert_string_equal(says("6162636465666768696a6b6c6d6e6f70"), "");
    spy_noted("reads 6162636465666768696a6b6c6d6e6f70\n"
              "passes on\n"
              "passes on\n"
              "reads 616263\n"
              "passes on\n"
              "passes on\n"
              "reads 646566\n"
              "reads 676869\n"
              "reads 6a6b6c\n"
              "reads 6d6e6f\n"
              "reads 70\n"
              "reads 6162636465666768696a6b6c6d6e6f70\n"
              "event\n"
              "event\n"
              "event\n"
              "lost\n"
              "close\n");
    assert_string_equal(says(""), "");
    spy_noted("reads \n"
              "event\n"
              "lost\n"
              "close\n");
}

static void broken_channels_are_left(void **state)
{
    (void)state;
    again();
    fake.read[0] = fake.read[1] = -1;
    assert_string_equal(says("6162636465666768"), "");
    spy_noted("reads 6162636465666768\n"
              "reads 6162\n"
              "reads 6162636465666768\n"
              "event\n"
              "lost\n"
              "close\n");
    again();
    line(0, -2, "too long");
    line(1, 1, "{}");
    assert_string_equal(says("6162636465666768"), "");
    spy_noted("reads 6162636465666768\n"
              "reads 6162\n"
              "reads 6162636465666768\n"
              "event\n"
              "lost\n"
              "close\n");
}

static void errors_can_be_printed(void **state)
{
    static const char cannot[] = "control: an error that cannot be printed";

    (void)state;
    again();
    line(0, -1, " ~");
    SAYS("");
    line(0, -1, "a\x1f");
    SAYS(cannot);
    line(0, -2, "a\x7f");
    SAYS(cannot);
}

static void lines_are_objects(void **state)
{
    (void)state;
    again();
    line(0, 1, "[1]");
    SAYS("control: a line that is no object");
}

static void both_ways_give_the_same_lines(void **state)
{
    static const char others[] = "control: cut otherwise there are other lines";

    (void)state;
    for (int run = 0; run < 2; run++) {
        again();
        line(0, 1, "{\"a\":1}");
        fake.lines[run][0].text = "{\"a\":2}";
        SAYS(others);
        fake.lines[run][0].got = 0;
        SAYS(others);
        fake.lines[run][0].got = -1;
        SAYS(others);
        line(0, -1, "an error");
        fake.lines[run][0].text = "an errar";
        SAYS(others);
        fake.lines[run][0].got = -2;
        fake.lines[run][0].text = "an error";
        SAYS("");
        line(0, -1, ""); /* a line, but no text */
        fake.lines[run][0].got = 0;
        SAYS(others);
    }
}

static void lines_arrive_unchanged(void **state)
{
    static const char never[] = "control: a line does not arrive";
    static const char another[] = "control: a line arrives as another";

    (void)state;
    again();
    line(0, 1, "{\"a\":1}");
    fake.flushes = 2;
    fake.waits = 2;
    SAYS("");
    assert_non_null(
        strstr(spy_notes(), "passes on\nreads on\nreads on\nreads on\nreads on\nreads "));
    fake.from_read = -1;
    SAYS("");
    fake.flushes = 1;
    SAYS(never);
    fake.flushes = 0;
    fake.waits = 1;
    SAYS(never);
    again();
    line(0, 1, "{\"a\":1}");
    fake.as = "{\"a\":2}";
    SAYS(another);
    fake.too_long = true;
    SAYS("");
    again();
    line(0, 1, "{\"a\":1}");
    fake.lost = true;
    SAYS(another);
}

static void memory_is_needed(void **state)
{
    (void)state;
    for (size_t none = 1; none < 4; none++) {
        again();
        fake.none = none;
        SAYS("no memory");
    }
    again();
    fake.no_client = true;
    SAYS("no memory");
}

static void calls_have_a_reply_or_a_reason(void **state)
{
    (void)state;
    again();
    fake.error = NULL;
    SAYS("control: no reply and no reason");
    fake.reply = "{}";
    SAYS("");
}

static int forget(void **state)
{
    (void)state;
    json_decref(fake.sent);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(octets_come_in_two_ways),
        cmocka_unit_test(broken_channels_are_left),
        cmocka_unit_test(errors_can_be_printed),
        cmocka_unit_test(lines_are_objects),
        cmocka_unit_test(both_ways_give_the_same_lines),
        cmocka_unit_test(lines_arrive_unchanged),
        cmocka_unit_test(memory_is_needed),
        cmocka_unit_test(calls_have_a_reply_or_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, forget);
}
