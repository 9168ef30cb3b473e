/* SPDX-License-Identifier: BSD-3-Clause */
/* The headers that may follow a DDP header, start-up frames and Markers: runs each decoder on the
 * same octets, and encodes its result again. */
#include "decode.h"

static void print(const uint8_t *octets, size_t length)
{
    char text[400];
    size_t needed = iw_wire_print_startup(text, sizeof(text), octets, length);
    IW_FUZZ_CHECK(needed < sizeof(text) && strlen(text) == needed,
                  "rdmap: a frame printed otherwise");
}

static void run(const uint8_t *input, size_t length)
{
    const uint8_t *octets = iw_fuzz_fenced(input, length);

    IW_FUZZ_ROUND_TRIP("read request", read_request, struct iw_rdmap_read_request, octets, length);
    IW_FUZZ_ROUND_TRIP("atomic request", atomic_request, struct iw_rdmap_atomic_request, octets,
                       length);
    IW_FUZZ_ROUND_TRIP("atomic response", atomic_response, struct iw_rdmap_atomic_response, octets,
                       length);
    IW_FUZZ_ROUND_TRIP("start-up frame", startup, struct iw_mpa_startup_header, octets, length);
    IW_FUZZ_ROUND_TRIP("enhanced block", enhanced, struct iw_mpa_enhanced, octets, length);
    IW_FUZZ_ROUND_TRIP("marker", marker, struct iw_mpa_marker, octets, length);
    if (length >= IW_MPA_KEY_LENGTH)
        (void)iw_wire_mpa_key(octets);
    print(octets, length);
}

const struct iw_fuzz_harness iw_fuzz_harness = {.name = "rdmap", .most = 4096, .run = run};
