/* SPDX-License-Identifier: BSD-3-Clause */
/* A ULPDU: its DDP header decoded, judged, encoded and printed. */
#include "decode.h"

#include "iwarp/rdmap.h"

static void judge(const struct iw_ddp_header *h)
{
    unsigned seen = 0, reserved = 0;

    for (unsigned version = 0; version < 2; version++)
        for (unsigned extensions = 0; extensions < 2; extensions++) {
            enum iw_check check = iw_rdmap_check_header(h, version, extensions != 0, NULL);
            unsigned opcode = iw_rdmap_op(h);
            if (check != IW_CHECK_NONE)
                continue;
            IW_FUZZ_CHECK(iw_ddp_version(h) == version && iw_rdmap_version(h) == version &&
                              iw_rdmap_assigned(opcode, extensions != 0) &&
                              iw_rdmap_is_tagged(opcode) == iw_ddp_tagged(h) &&
                              (iw_ddp_tagged(h) || iw_rdmap_queue(opcode) == h->qn),
                          "ddp: a header is right that is not (opcode %u)", opcode);
        }
    while (iw_rdmap_check_reserved(h, &seen) != IW_CHECK_NONE)
        IW_FUZZ_CHECK(reserved++ < 8, "ddp: irregularities without end");
}

static void print(const uint8_t *octets, size_t length)
{
    char whole[400];
    size_t needed = iw_wire_print_segment(whole, sizeof(whole), octets, length);
    IW_FUZZ_CHECK(needed < sizeof(whole) && strlen(whole) == needed, "ddp: printed otherwise");
    char cut[64];
    size_t room = length % sizeof(cut);
    cut[room] = '#';
    IW_FUZZ_CHECK(iw_wire_print_segment(cut, room, octets, length) == needed,
                  "ddp: the room changes what is to be printed");
    IW_FUZZ_CHECK(cut[room] == '#', "ddp: printed beyond its room");
    if (room == 0)
        return;
    room = needed < room ? needed : room - 1;
    IW_FUZZ_CHECK(cut[room] == '\0' && memcmp(cut, whole, room) == 0,
                  "ddp: printed otherwise in less room");
}

static void run(const uint8_t *input, size_t length)
{
    const uint8_t *octets = iw_fuzz_fenced(input, length);

    IW_FUZZ_ROUND_TRIP("ddp", ddp, struct iw_ddp_header, octets, length);
    struct iw_ddp_header h;
    if (iw_wire_get_ddp(octets, length, &h) > 0)
        judge(&h);
    print(octets, length);
}

const struct iw_fuzz_harness iw_fuzz_harness = {.name = "ddp", .most = 4096, .run = run};
