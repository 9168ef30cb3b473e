/* SPDX-License-Identifier: BSD-3-Clause */
/* The headers that may follow a DDP header, start-up frames and Markers: runs each decoder on the
 * same octets, and encodes its result again. */
#include "decode.h"

static void print(const uint8_t *octets, size_t length)
{
    char text[400];
    size_t needed = iw_wire_print_startup(text, sizeof text, octets, length);

    IW_FUZZ_CHECK(needed < sizeof text && strlen(text) == needed,
                  "rdmap: a frame printed otherwise");
}

static void run(const uint8_t *input, size_t length)
{
    const uint8_t *octets = iw_fuzz_fenced(input, length);
    struct iw_rdmap_read_request read;
    struct iw_rdmap_atomic_request atomic;
    struct iw_rdmap_atomic_response response;
    struct iw_mpa_startup_header startup;
    struct iw_mpa_enhanced enhanced;
    struct iw_mpa_marker marker;

    IW_FUZZ_ROUND_TRIP("read request", iw_wire_get_read_request, iw_wire_put_read_request,
                       struct iw_rdmap_read_request, octets, length, &read);
    IW_FUZZ_ROUND_TRIP("atomic request", iw_wire_get_atomic_request, iw_wire_put_atomic_request,
                       struct iw_rdmap_atomic_request, octets, length, &atomic);
    IW_FUZZ_ROUND_TRIP("atomic response", iw_wire_get_atomic_response, iw_wire_put_atomic_response,
                       struct iw_rdmap_atomic_response, octets, length, &response);
    IW_FUZZ_ROUND_TRIP("start-up frame", iw_wire_get_startup, iw_wire_put_startup,
                       struct iw_mpa_startup_header, octets, length, &startup);
    IW_FUZZ_ROUND_TRIP("enhanced block", iw_wire_get_enhanced, iw_wire_put_enhanced,
                       struct iw_mpa_enhanced, octets, length, &enhanced);
    IW_FUZZ_ROUND_TRIP("marker", iw_wire_get_marker, iw_wire_put_marker, struct iw_mpa_marker,
                       octets, length, &marker);
    if (length >= IW_MPA_KEY_LENGTH)
        (void)iw_wire_mpa_key(octets);
    print(octets, length);
}

const struct iw_fuzz_harness iw_fuzz_harness = {.name = "rdmap", .most = 4096, .run = run};
