/* SPDX-License-Identifier: BSD-3-Clause */
/* Minimises findings against a peer that is a function: checks the result, the number of tries, and
 * the tries themselves (as a digest). */
#include "live_support.h"

#include "host/text.h"
#include "iwarp/transport.h"

#define REQUEST "4d504120494420526571204672616d65ff01000401020304"
#define USUAL "4d504120494420526571204672616d655002000400100010"

static struct iw_hunt_options options;
static struct iw_hunt hunt;
static volatile int stop;
static unsigned tries, stop_at;
static uint64_t digest, waited, each;
static bool (*happens)(struct iw_hunt_input *const *inputs, size_t n);
static enum iw_hunt_kind otherwise;

struct iw_hunt_event __wrap_iw_hunt_try(struct iw_hunt *h, struct iw_hunt_input *const *inputs,
                                        size_t n, const struct iw_hunt_event *wanted,
                                        bool *requested);
uint64_t __wrap_iw_transport_now(void);

struct iw_hunt_event __wrap_iw_hunt_try(struct iw_hunt *h, struct iw_hunt_input *const *inputs,
                                        size_t n, const struct iw_hunt_event *wanted,
                                        bool *requested)
{
    bool yes = happens(inputs, n);
    struct iw_hunt_event e = {.kind = yes ? wanted->kind : otherwise};

    (void)h;
    assert_null(requested);
    assert_true(n > 0);
    tries++;
    stop = tries == stop_at;
    waited += each;
    for (size_t i = 0; i < n; i++)
        digest = iw_hunt_input_digest(digest ^ inputs[i]->n, inputs[i]);
    digest = digest * 31 + yes;
    snprintf(e.text, sizeof(e.text), "try %u", tries);
    return e;
}

uint64_t __wrap_iw_transport_now(void)
{
    return waited;
}

/* A sequence in which "m..." is a ULPDU, as a regular FPDU. */
static struct iw_hunt_input *sequence(const char *text)
{
    struct iw_hunt_input *in = iw_hunt_input_new();
    char *copy = iw_text_copy(text);

    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " ")) {
        bool message = *word == 'm';
        struct iw_hunt_input *one;
        uint8_t octets[256];

        *word = message ? 'a' : *word;
        one = support_input(word);
        if (message)
            iw_hunt_add(in, IW_FUZZ_A, octets,
                        iw_hunt_fpdu(one->steps[0].octets, one->steps[0].length, octets));
        else
            iw_hunt_add(in, one->steps[0].kind, one->steps[0].octets, one->steps[0].length);
        iw_hunt_input_free(one);
    }
    free(copy);
    return in;
}

static void begin(void)
{
    hunt = (struct iw_hunt){.o = &options, .stop = &stop, .world = {.scale = 1}};
    stop = 0;
    tries = stop_at = 0;
    waited = each = 0;
    digest = IW_HUNT_DIGEST;
    otherwise = IW_HUNT_NOTHING;
}

/* Minimises these and checks the result. */
static void becomes(const char *const *before, const char *const *after, unsigned expected,
                    uint64_t expected_digest)
{
    struct iw_hunt_finding f = {.event = {.kind = IW_HUNT_CRASH}};
    size_t n = 0;

    f.inputs = iw_got(calloc(64, sizeof(*f.inputs)));
    while (before[f.n_inputs] != NULL) {
        f.inputs[f.n_inputs] = sequence(before[f.n_inputs]);
        f.n_inputs++;
    }
    iw_hunt_shrink(&hunt, &f);
    while (after[n] != NULL)
        n++;
    assert_int_equal(f.n_inputs, n);
    for (size_t i = 0; i < n; i++) {
        struct iw_hunt_input *in = sequence(after[i]);
        char *text = support_text(in);

        support_is(f.inputs[i], text);
        free(text);
        iw_hunt_input_free(in);
        iw_hunt_input_free(f.inputs[i]);
    }
    assert_int_equal(tries, expected);
    assert_int_equal(digest, expected_digest);
    free(f.inputs);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- whose doing it is ---- */

static bool any_has(struct iw_hunt_input *const *inputs, size_t n, const char *part)
{
    bool has = false;

    for (size_t i = 0; i < n && !has; i++) {
        char *text = support_text(inputs[i]);

        has = strstr(text, part) != NULL;
        free(text);
    }
    return has;
}

static bool of_77(struct iw_hunt_input *const *inputs, size_t n)
{
    return any_has(inputs, n, "77");
}

static bool of_77_and_88(struct iw_hunt_input *const *inputs, size_t n)
{
    return any_has(inputs, n, "77") && any_has(inputs, n, "88");
}

static bool of_two(struct iw_hunt_input *const *inputs, size_t n)
{
    (void)inputs;
    return n >= 2;
}

static void fewer_sequences(void **state)
{
    (void)state;
    begin();
    happens = of_77;
    becomes(LIST("a01", "a02", "a03", "a77", "a05"), LIST("a77"), 15, 0x7f8e0f7e201ca9ad);
    begin();
    happens = of_77_and_88;
    becomes(LIST("a01", "a8800", "a03", "a04", "a05", "a0677", "a07"), LIST("a88", "a0077"), 29,
            0x5b0c2fa92b924c1c);
    begin();
    happens = of_two;
    becomes(LIST("a01", "a02", "a03", "a04"), LIST("", ""), 11, 0xfbabf5c77f0b2c45);
}

/* ---- steps, pauses ---- */

static bool of_a_pause(struct iw_hunt_input *const *inputs, size_t n)
{
    return any_has(inputs, n, "t") && any_has(inputs, n, "77");
}

static void pauses(void **state)
{
    (void)state;
    begin();
    happens = of_a_pause;
    becomes(LIST("a01 t9 a02 t8 b7703 t7 a04 f01"), LIST("t9 a77"), 26, 0x788dcd6b51b63d59);
    begin();
    happens = of_77;
    becomes(LIST("a01 t9 b02 t8 b0077 t7 a04 f01"), LIST("a0077"), 20, 0x42e7adaf3dff9d61);
}

/* ---- frames ---- */

#define SEND(msn, rest)                                                                            \
    "m4143"                                                                                        \
    "00000000"                                                                                     \
    "00000000"                                                                                     \
    "0000000" msn "00000000" rest

/* A Send of the third MSN, if those before it were there. */
static bool of_the_last_send(struct iw_hunt_input *const *inputs, size_t n)
{
    uint32_t next = 1;

    for (size_t i = 0; i < inputs[n - 1]->n; i++) {
        const struct iw_hunt_step *s = &inputs[n - 1]->steps[i];

        if (s->kind != IW_FUZZ_A || !iw_hunt_regular(s->octets, s->length) || s->length < 24 ||
            (s->octets[3] & 0xf) != 3)
            continue;
        if (s->octets[15] != next)
            return false;
        next++;
        if (s->length > 28)
            return true;
    }
    return false;
}

static void messages_are_numbered_anew(void **state)
{
    (void)state;
    begin();
    happens = of_the_last_send;
    becomes(LIST("a" REQUEST " t50 " SEND("1", "aa") " " SEND("2", "bb") " t5 " SEND(
                "3", "0102030405060708090a") " " SEND("4", "")),
            LIST(SEND("1", "0000000005")), 23, 0xecf8f127f97c240d);
}

/* A Read Request with a source TO that is not 0, on a connection with a start-up frame. */
static bool of_a_source_to(struct iw_hunt_input *const *inputs, size_t n)
{
    const struct iw_hunt_input *in = inputs[n - 1];
    bool started = false;

    for (size_t i = 0; i < in->n; i++) {
        const struct iw_hunt_step *s = &in->steps[i];

        started = started || iw_hunt_startup_size(s->octets, s->length);
        if (started && iw_hunt_regular(s->octets, s->length) && s->length >= 52 &&
            (s->octets[3] & 0xf) == 1 && s->octets[47])
            return true;
    }
    return false;
}

static void fields_become_plain(void **state)
{
    (void)state;
    begin();
    happens = of_a_source_to;
    becomes(LIST("a" REQUEST " m07f1"
                 "a1a2a3a4"
                 "b1b2b3b4"
                 "c1c2c3c4"
                 "d1d2d3d4"
                 "e1e2e3e4"
                 "f1f2f3f4f5f6f7f8"
                 "11121314"
                 "21222324"
                 "3132333435363738"),
            LIST("a" USUAL " m4141"
                 "00000000"
                 "00000000"
                 "00000001"
                 "00000000"
                 "00000000"
                 "0000000000000000"
                 "00000000"
                 "00000000"
                 "0000000035363738"),
            44, 0xae6a98e39c44a007);
}

static bool of_a_tagged_one(struct iw_hunt_input *const *inputs, size_t n)
{
    for (size_t i = 0; i < inputs[n - 1]->n; i++) {
        const struct iw_hunt_step *s = &inputs[n - 1]->steps[i];

        if (iw_hunt_regular(s->octets, s->length) && s->octets[2] & 0x80 && s->octets[16] == 0x5a)
            return true;
    }
    return false;
}

static void tagged_fields_become_plain(void **state)
{
    (void)state;
    begin();
    happens = of_a_tagged_one;
    becomes(LIST("a0102 m81f0"
                 "a1a2a3a4"
                 "b1b2b3b4b5b6b7b8"
                 "5a5b5c5d5e5f505152535455"
                 " a0304"),
            LIST("mc140"
                 "00000000"
                 "0000000000000000"
                 "5a"),
            26, 0x759c54989bcd071a);
}

/* ---- octets ---- */

static bool of_four(struct iw_hunt_input *const *inputs, size_t n)
{
    const struct iw_hunt_input *in = inputs[n - 1];
    size_t size = 0;
    uint8_t sum = 0;

    for (size_t i = 0; i < in->n; i++)
        for (size_t k = 0; k < in->steps[i].length && in->steps[i].kind <= IW_FUZZ_B; k++) {
            size++;
            sum |= in->steps[i].octets[k];
        }
    return size >= 4 && sum & 0x40;
}

static void octets_become_few(void **state)
{
    (void)state;
    begin();
    happens = of_four;
    becomes(LIST("a0102034405060708 b11121314 a2122232425"), LIST("a00000044"), 22,
            0x3c3f9328537f27ce);
}

/* A frame whose octets left in parts. */
static bool of_a_frame(struct iw_hunt_input *const *inputs, size_t n)
{
    const struct iw_hunt_input *in = inputs[n - 1];
    uint8_t octets[256];
    size_t length = 0;

    for (size_t i = 0; i < in->n; i++)
        if (iw_hunt_sends(&in->steps[i])) {
            memcpy(octets + length, in->steps[i].octets, in->steps[i].length);
            length += in->steps[i].length;
        }
    for (size_t i = 0; i + 24 <= length; i++)
        if (iw_hunt_regular(octets + i, 24))
            return true;
    return false;
}

static void parts_of_a_frame_are_joined(void **state)
{
    (void)state;
    begin();
    happens = of_a_frame;
    becomes(LIST("b0012 t3 a4143 t4 b00000000000000000000000100000000"
                 "587be8c4 a0102"),
            LIST(SEND("1", "")), 19, 0xbfcfe7064793dc28);
}

/* ---- chance ---- */

static bool of_every_second(struct iw_hunt_input *const *inputs, size_t n)
{
    return tries % 2 && of_77(inputs, n);
}

static bool of_the_first_ten(struct iw_hunt_input *const *inputs, size_t n)
{
    (void)inputs;
    (void)n;
    return tries < 10;
}

static bool always(struct iw_hunt_input *const *inputs, size_t n)
{
    (void)inputs;
    (void)n;
    return true;
}

static bool never(struct iw_hunt_input *const *inputs, size_t n)
{
    (void)inputs;
    (void)n;
    return false;
}

static void what_depends_on_chance(void **state)
{
    (void)state;
    begin();
    happens = of_every_second;
    becomes(LIST("a01", "a02 a77 a03", "a04"), LIST("a77"), 18, 0xdbaa7eabce66ab5);
    begin();
    happens = of_the_first_ten;
    becomes(LIST("a01 a02 a03", "a04"), LIST(""), 7, 0x6801af4a4c676a32);
    /* Something else that happens does not count. */
    begin();
    happens = of_77;
    otherwise = IW_HUNT_HANG;
    becomes(LIST("a77 a01", "a02"), LIST("a77"), 12, 0x3e73b734aaf41422);
}

/* ---- limits ---- */

static const char row[] = "a01 a02 a03 a04 a05 a06 a07 a08 a09 a0a a0b a0c a0d a0e a0f a10 a11 a12 "
                          "a13 a14 a15 a16 a17 a18 a19 a1a a1b a1c a1d a1e a1f a20";

static void limits(void **state)
{
    (void)state;
    /* Nothing goes: as many tries as it takes, then as many as are allowed. */
    begin();
    happens = never;
    becomes(LIST(row), LIST(row), 377, 0xef9ce89a4882a7bb);
    begin();
    happens = never;
    becomes(LIST(row, row, row, row, row), LIST(row, row, row, row, row), 600, 0xc532ce9000a663f4);
    /* More than the time for it ends it; where each try starts something, from 30 tries on. */
    options.minimise = 60;
    begin();
    happens = never;
    each = 60000000000 / 30;
    becomes(LIST(row), LIST(row), 31, 0xafe562656292c559);
    begin();
    happens = never;
    each = 60000000000;
    becomes(LIST(row), LIST(row), 2, 0xce6161647c9aa5c5);
    begin();
    happens = never;
    each = 60000000000 / 30;
    hunt.outside = true;
    becomes(LIST(row), LIST(row), 31, 0xafe562656292c559);
    begin();
    happens = never;
    each = 60000000000;
    hunt.outside = true;
    becomes(LIST(row), LIST(row), 30, 0xb8e362404910414c);
    begin();
    happens = never;
    each = 60000000000;
    hunt.world.scale = 100;
    becomes(LIST(row), LIST(row), 101, 0x19f1ffb740b3036b);
    /* A signal ends it at once. */
    begin();
    happens = never;
    stop_at = 7;
    becomes(LIST(row), LIST(row), 7, 0x7131c815c0a216fb);
}

static void the_event_is_the_last_one(void **state)
{
    struct iw_hunt_input *in = support_input("a77");
    struct iw_hunt_finding f = {.event = {.kind = IW_HUNT_CRASH}, .inputs = &in, .n_inputs = 1};

    (void)state;
    begin();
    happens = of_77;
    iw_hunt_shrink(&hunt, &f);
    assert_string_equal(f.event.text, "try 3");
    iw_hunt_input_free(in);
    in = support_input("a77 a88");
    begin();
    happens = always;
    f.event.text[0] = 0;
    iw_hunt_shrink(&hunt, &f);
    assert_int_equal(in->n, 0);
    assert_int_equal(tries, 7);
    assert_string_equal(f.event.text, "try 7");
    iw_hunt_input_free(in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fewer_sequences),
        cmocka_unit_test(pauses),
        cmocka_unit_test(messages_are_numbered_anew),
        cmocka_unit_test(fields_become_plain),
        cmocka_unit_test(tagged_fields_become_plain),
        cmocka_unit_test(octets_become_few),
        cmocka_unit_test(parts_of_a_frame_are_joined),
        cmocka_unit_test(what_depends_on_chance),
        cmocka_unit_test(limits),
        cmocka_unit_test(the_event_is_the_last_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
