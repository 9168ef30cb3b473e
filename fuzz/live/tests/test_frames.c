/* SPDX-License-Identifier: BSD-3-Clause */
/* How minimising sees the frames of an input: as parts of a script, wherever steps begin and end.
 */
#include "live_input.h"
#include "mutate/mutate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { FPDU = 24 };

/* Sends and a Read Request's header, each a regular FPDU. */
#define SEND_1 "\x00\x12\x41\x43\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\x58\x7b\xe8\xc4"
#define SEND_2 "\x00\x12\x41\x43\0\0\0\0\0\0\0\0\0\0\0\x02\0\0\0\0\xac\xcb\xdb\x8c"
#define SEND_2_PART "\x00\x12\x01\x43\0\0\0\0\0\0\0\0\0\0\0\x02\0\0\0\0\x7f\xda\xaf\x58"
#define SEND_3 "\x00\x12\x41\x43\0\0\0\0\0\0\0\0\0\0\0\x03\0\0\0\0\x00\xa4\xca\xb4"
#define SEND_3_PART "\x00\x12\x01\x43\0\0\0\0\0\0\0\0\0\0\0\x03\0\0\0\0\xd3\xb5\xbe\x60"
#define SEND_7 "\x00\x12\x41\x43\0\0\0\0\0\0\0\0\0\0\0\x07\0\0\0\0\xb0\x1a\x8f\x54"
#define READ_1 "\x00\x12\x41\x41\0\0\0\0\0\0\0\x01\0\0\0\x01\0\0\0\0\xae\x15\x1f\x8f"
#define READ_2 "\x00\x12\x41\x41\0\0\0\0\0\0\0\x01\0\0\0\x02\0\0\0\0\x5a\xa5\x2c\xc7"
#define QUEUE_4 "\x00\x12\x41\x43\0\0\0\0\0\0\0\x04\0\0\0\x09\0\0\0\0\xfa\xb2\x40\xdf"
#define WRONG_CRC "\x00\x12\x41\x43\0\0\0\0\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0\0"

/* An input of these octets, in steps of these lengths with a pause between two of them. */
static struct iw_hunt_input *input(const char *octets, const size_t *lengths)
{
    struct iw_hunt_input *in = iw_hunt_input_new();

    for (; *lengths; octets += *lengths++) {
        if (in->n)
            iw_hunt_add_time(in, 1);
        iw_hunt_add(in, IW_FUZZ_A, octets, *lengths);
    }
    return in;
}

static struct iw_mutate_script script;
static uint8_t room[IW_MUTATE_INPUT_MAX];

static void read_script(const struct iw_hunt_input *in)
{
    script.single = true;
    assert_true(iw_mutate_read(&script, room, iw_hunt_input_write(in, room, sizeof(room))));
}

/* Numbers the messages of an input (freed) anew. */
static struct iw_hunt_input *renumbered(struct iw_hunt_input *in)
{
    read_script(in);
    iw_hunt_input_free(in);
    iw_mutate_renumber(&script);
    return iw_hunt_input_read(room, iw_mutate_write(&script, room, sizeof(room)));
}

static void is(struct iw_hunt_input *in, const char *octets, const size_t *lengths)
{
    struct iw_hunt_input *other = input(octets, lengths);

    assert_true(iw_hunt_input_same(in, other));
    iw_hunt_input_free(other);
    iw_hunt_input_free(in);
}

static void messages_are_counted_from_one(void **state)
{
    const size_t lengths[] = {3 * FPDU, 2 * FPDU, 0};
    struct iw_hunt_input *in = input(SEND_3 READ_2 SEND_7 SEND_2_PART SEND_7, lengths);

    (void)state;
    in = renumbered(in);
    is(in, SEND_1 READ_1 SEND_2 SEND_3_PART SEND_3, lengths);
}

static void also_where_a_step_ends_inside_one(void **state)
{
    const size_t lengths[] = {5, FPDU, FPDU - 6, 1, 0};
    const size_t cut[] = {5, FPDU - 5, 5, FPDU - 6, 1, 0};
    struct iw_hunt_input *in = renumbered(input(SEND_2 SEND_3, lengths));
    struct iw_hunt_input *expected = input(SEND_1 SEND_2, cut);

    (void)state;
    /* A pause inside a frame comes after it, but the frame stays cut. */
    for (size_t i = 1; i < expected->n;)
        if (expected->steps[i].kind == IW_FUZZ_TIME)
            iw_hunt_drop(expected, i, 1);
        else
            i++;
    for (size_t i = in->n; i > 0; i--)
        if (in->steps[i - 1].kind == IW_FUZZ_TIME)
            iw_hunt_drop(in, i - 1, 1);
    assert_true(iw_hunt_input_same(in, expected));
    iw_hunt_input_free(expected);
    iw_hunt_input_free(in);
}

static void what_counts_on_no_queue_stays(void **state)
{
    const size_t lengths[] = {FPDU, 4, FPDU, FPDU, 4, 0};
    const char *octets = QUEUE_4 "\xff\xff\xff\xff" WRONG_CRC SEND_1 "\x00\x12\x41\x43";
    struct iw_hunt_input *in = renumbered(input(octets, lengths));

    (void)state;
    is(in, octets, lengths);
    in = renumbered(iw_hunt_input_new());
    assert_int_equal(in->n, 0);
    iw_hunt_input_free(in);
}

static void a_step_for_each_frame(void **state)
{
    const size_t lengths[] = {2 * FPDU + 5, FPDU - 5, 0};
    struct iw_hunt_input *in = input(SEND_1 SEND_2 SEND_3, lengths);
    const uint8_t kinds[] = {IW_MUTATE_FPDU, IW_MUTATE_FPDU, IW_MUTATE_FPDU, IW_MUTATE_OTHER};

    (void)state;
    read_script(in);
    iw_hunt_input_free(in);
    assert_int_equal(script.count, sizeof(kinds));
    for (size_t i = 0; i < script.count; i++) {
        assert_int_equal(script.part[i].kind, kinds[i]);
        assert_int_equal(script.part[i].joined, i == 1 || i == 2);
        assert_int_equal(script.part[i].cuts, i == 2);
    }
    assert_int_equal(script.part[2].cut[0], 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_counted_from_one),
        cmocka_unit_test(also_where_a_step_ends_inside_one),
        cmocka_unit_test(what_counts_on_no_queue_stays),
        cmocka_unit_test(a_step_for_each_frame),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
