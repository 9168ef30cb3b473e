/* SPDX-License-Identifier: BSD-3-Clause */
/* Seeds from a capture: what our side has sent, with placeholders for the peer's STags. */
#include "live_support.h"

#include "host/text.h"
#include "iwarp/capture.h"
#include "iwarp/wire.h"

enum { ATOMIC = IW_DDP_UNTAGGED_HEADER + 12 /* with its STag, and without its TO */ };

/* Returns the seed of a connection on which a Request and this ULPDU have been sent. */
static struct iw_hunt_input *recorded(const uint8_t *ulpdu, size_t length)
{
    static const struct iw_synth_tcp tcp = {
        .address = {{.family = 4, .octets = {10, 0, 0, 1}}, {.family = 4, .octets = {10, 0, 0, 2}}},
        .port = {1000, 2000}};
    struct iw_hunt_seeds seeds = {.side = IW_SIDE_INITIATOR};
    uint8_t fpdu[256];
    char error[1024];
    char *path = iw_text_format("%s/capture.pcapng", support_folder());
    struct iw_synth *s = iw_got(iw_synth_new(1 << 16));
    struct iw_synth_span span;
    int connection = iw_synth_connect(s, &tcp, 0, &span);

    iw_synth_data(s, connection, 0, 0, "MPA ID Req Frame\x40\1\0\0", 20);
    iw_synth_data(s, connection, 1, 0, "MPA ID Rep Frame\x40\1\0\0", 20);
    iw_synth_data(s, connection, 0, 0, fpdu, iw_hunt_fpdu(ulpdu, length, fpdu));
    assert_true(iw_synth_write(s, path, "test", NULL, error));
    iw_synth_free(s);
    assert_int_equal(iw_hunt_seeds_record(&seeds, path, error, sizeof(error)), 1);
    free(path);
    struct iw_hunt_input *in = iw_hunt_input_copy(seeds.list[0]);
    iw_hunt_seeds_free(&seeds);
    return in;
}

static void stags_become_placeholders(void **state)
{
    uint8_t write[16] = {0xc1, 0x40, 0x11, 0x22, 0x33, 0x44, 0, 0, 0, 0, 0, 0, 0x10, 0, 'o', 'k'};
    struct iw_hunt_input *in = recorded(write, sizeof(write));
    const struct iw_hunt_step *last = &in->steps[in->n - 1];

    (void)state;
    assert_int_equal(last->length, iw_wire_fpdu_size(sizeof(write)));
    assert_memory_equal(last->octets + 2, "\xc1\x40\x1f\x5a\0\0\0\0\0\0\0\0\0\0ok", sizeof(write));
    iw_hunt_input_free(in);
}

/* An Atomic Request that ends in its TO stays as it was: there is no whole TO to be replaced. */
static void half_an_atomic_request(void **state)
{
    uint8_t ulpdu[ATOMIC] = {0x41, 0x4a, [9] = 1, [13] = 1, [26] = 0x77, [29] = 0x77};
    struct iw_hunt_input *in = recorded(ulpdu, sizeof(ulpdu));
    const struct iw_hunt_step *last = &in->steps[in->n - 1];

    (void)state;
    assert_int_equal(last->length, iw_wire_fpdu_size(sizeof(ulpdu)));
    assert_memory_equal(last->octets + 2, ulpdu, sizeof(ulpdu));
    iw_hunt_input_free(in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(stags_become_placeholders, support_clean),
        cmocka_unit_test_teardown(half_an_atomic_request, support_clean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
