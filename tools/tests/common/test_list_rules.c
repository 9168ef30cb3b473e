/* SPDX-License-Identifier: BSD-3-Clause */
/* What --list-rules prints. */
#include "list_rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host/json_values.h"
#include "iwarp/rules.h"

static void test_list(void **state)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    (void)state;
    assert_non_null(out);
    iw_list_rules(out);
    assert_int_equal(fclose(out), 0);
    static const char head[] = "# checks: name, switches that it takes, reaction, rule that a "
                               "receiver enforces, rule that the sender breaks, what is wrong\n";
    assert_memory_equal(text, head, sizeof(head) - 1);
    /* One of each kind: as they end, and as they may be bent. */
    static const char *const lines[] = {
        "\nmpa-req-key                       ignore,violate,botch=silent      close   MPA-7.1.1-02 "
        "  MPA-7.1.1-01   the key of the Request frame is not \"MPA ID Req Frame\"\n",
        "\nmpa-rev-older                     overstrict                       close   EMPA-6-07    "
        "  -              a start-up frame is of an older revision than this end's\n",
        "\nmpa-startup-timeout               ignore,botch=silent              close   MPA-7.1.2-27 "
        "  -              the start-up exchange did not end in time\n",
        "\nmpa-res-bits                      overstrict,violate               close   MPA-7.1.1-14 "
        "  MPA-7.1.1-14   reserved bits of a start-up frame are not zero\n",
        "\nmpa-rep-a                         violate                          close   EMPA-9.2-04  "
        "  EMPA-9.2-04    control flag A is zero in the Reply to a Request that has it set\n",
        "\nmpa-rtr-match                     ignore,botch!=place              2/0/07  EMPA-9.2-11  "
        "  -              the Reply offers no RTR form that this end can send\n",
        "\nmpa-rtr-first                     ignore,violate,botch             2/0/07  EMPA-9.2-10  "
        "  EMPA-9.2-10    the first FPDU is not one of the negotiated RTR forms\n",
        "\nmpa-ord-obey                      violate                          -       EMPA-9.1-08  "
        "  EMPA-9.1-08    the initiator ignores the responder's IRD\n",
        "\nmpa-responder-early               overstrict,violate               2/0/05  MPA-7.1.2-15 "
        "  MPA-7.1.2-15   the responder sent an FPDU before it received one\n",
        "\nmpa-crc-off                       overstrict                       2/0/02  MPA-4.1-06   "
        "  -              the CRC field is examined although CRCs are off\n",
        "\nmpa-crc-default                   -                                -       MPA-4.4-03   "
        "  MPA-4.4-03     a start-up frame does without CRCs though nobody has configured that\n",
        "\nmpa-marker-lone                   overstrict                       local   MPA-4.3-06   "
        "  -              the stream ends with a Marker that no FPDU follows\n",
        "\nmpa-local                         -                                2/0/05  EMPA-9.3-01  "
        "  -              this end lacks the resources for the connection\n",
        "\nmpa-lost                          -                                local   MPA-8-01     "
        "  -              the TCP connection was lost\n",
        "\nmpa-fin-inside                    ignore,violate                   local   MPA-7.2-02   "
        "  MPA-4.1-01     the stream ended inside an FPDU\n",
        "\nddp-header-short                  ignore,violate,botch!=place      1/0/00  DDP-4.4-02   "
        "  DDP-4.4-01     the ULPDU is shorter than its DDP header\n",
        "\nddp-stag-pd                       ignore,botch                     1/1/02  DDP-8.2-01   "
        "  -              the STag belongs to another protection domain\n",
        "\nrdmap-terminate-valid             ignore                           local   RDMAP-5.4-07 "
        "  RDMAP-4.8-01   a Terminate cannot be decoded\n",
        "\nrdmap-terminate-rsvd              overstrict,violate               local   RDMAP-4.8-07 "
        "  RDMAP-4.8-07   reserved bits of a Terminate are not zero\n",
        "\nrdmap-terminate-stop              ignore                           local   DDP-7.1-19   "
        "  DDP-7.1-19     segments after an error are dropped\n",
        "\n# rules: id, level, number of checks, requirement\n",
        "\nMPA-3-05          MUST NOT     1 DDP never hands MPA a ULPDU above 64768 octets\n",
        "\nMPA-3-06          MAY          1 ULPDUs of any size from one octet to 64768 octets are "
        "legal to post\n",
        "\nMPA-3-03          SHOULD       1 DDP keeps each record within MULPDU\n",
        "\nMPA-1.2-02        MUST         1 CRC use stays on unless the path is known to give "
        "integrity at least as good as CRC32c\n",
        "\nSCTP-13-03        MUST         0 The selector support equals that for TCP\n"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        assert_non_null(strstr(text, lines[i]));
    unsigned rows = 0;
    for (const char *at = text; *at != '\0'; at++)
        rows += *at == '\n';
    assert_int_equal(rows, 3 + IW_CHECK_COUNT - 1 + IW_RULE_COUNT);
    free(text);
}

static void test_json_values(void **state)
{
    static const uint8_t octets[] = {0, 0x9a, 0xff};
    json_t *values[] = {iw_json_hex(octets, 3), iw_json_hex(octets, 0), iw_json_wide(0),
                        iw_json_wide(UINT64_MAX)};
    static const char *const expected[] = {"009aff", "", "0x0", "0xffffffffffffffff"};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(json_string_value(values[i]), expected[i]);
        json_decref(values[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_json_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
