/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the CRC of a text and the rule that a receiver breaks which does not check it. */
#include <stdio.h>
#include <string.h>

#include <iwarp/crc32c.h>
#include <iwarp/rules.h>

int main(int argc, char **argv)
{
    const char *text = argc > 1 ? argv[1] : "123456789";
    uint32_t crc = iw_crc32c_finish(iw_crc32c_portable(IW_CRC32C_INIT, text, strlen(text)));
    const struct iw_rule *rule = iw_check_rule(IW_CHECK_MPA_CRC);

    printf("CRC32c of \"%s\": 0x%08lx\n", text, (unsigned long)crc);
    printf("%s (RFC %u section %s, %s): %s\n", rule->id, (unsigned)rule->rfc, rule->section,
           iw_level_name(rule->level), rule->text);
    return 0;
}
