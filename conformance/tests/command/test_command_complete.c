/* SPDX-License-Identifier: BSD-3-Clause */
/* What a shell is offered after iwarp-conform's commands and options. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/complete.h"
#include "iwarp/rules.h"

static char *offered; /* what was, each line begins with a word */

static int end(void **state)
{
    (void)state;
    free(offered);
    offered = NULL;
    return 0;
}

static void (*offering)(const struct iw_offers *to);

static void by_operand(const struct iw_offers *to)
{
    iw_complete_operand(to, 0);
}

/* Offers what begins so; keeps it. */
static void offer(void (*offers)(const struct iw_offers *to), const char *typed)
{
    FILE *file = tmpfile();
    const int kept = dup(1);
    const struct iw_offers to = {.typed = typed, .before = typed};
    assert_non_null(file);
    fflush(stdout);
    dup2(fileno(file), 1);
    offering = offers;
    offering(&to);
    fflush(stdout);
    dup2(kept, 1);
    close(kept);
    free(offered);
    const long length = ftell(file) >= 0 ? lseek(fileno(file), 0, SEEK_END) : 0;
    offered = calloc((size_t)length + 2, 1);
    assert_non_null(offered);
    offered[0] = '\n';
    assert_int_equal(pread(fileno(file), offered + 1, (size_t)length, 0), length);
    fclose(file);
}

static void operand(const char *command, const char *typed)
{
    iw_complete_operands_of(command);
    offer(by_operand, typed);
}

/* Whether a word was offered, alone or with its help. */
static bool has(const char *word)
{
    char line[200];
    snprintf(line, sizeof(line), "\n%s", word);
    for (const char *at = offered; (at = strstr(at, line)) != NULL; at++)
        if (strchr("\n\t ", at[strlen(line)]) != NULL)
            return true;
    return false;
}

static size_t lines(void)
{
    size_t count = 0;
    for (const char *c = offered + 1; *c != '\0'; c++)
        count += *c == '\n';
    return count;
}

static void choices(void **state)
{
    (void)state;
    static const char *const others[] = {"rule:",         "tag:",      "level:must",
                                         "level:should",  "level:may", "role:responder",
                                         "role:initiator"};
    static const char *const commands[] = {"run", "list"};
    for (unsigned k = 0; k < 2; k++) {
        operand(commands[k], "");
        for (unsigned i = 0; i < 7; i++)
            assert_true(has(others[i]));
        assert_true(has("mpa-crc-bad")); /* a case */
        assert_false(has("MPA-8-02"));
        assert_true(lines() > 500);
        operand(commands[k], "level:s");
        assert_int_equal(lines(), 1);
        assert_true(has("level:should"));
        operand(commands[k], "rule:MPA-8-0");
        assert_true(has("rule:MPA-8-02"));
        assert_false(has("rule:MPA-4.4-11"));
        assert_true(lines() >= 2 && lines() < 20);
        operand(commands[k], "rule:");
        assert_int_equal(lines(), IW_RULE_COUNT);
    }
}

static void operands(void **state)
{
    (void)state;
    operand("show", "");
    assert_true(has("MPA-8-02"));
    assert_true(has("mpa-crc-bad"));
    assert_false(has("rule:"));
    operand("requirements", "");
    assert_int_equal(lines(), IW_RULE_COUNT);
    assert_true(has("MPA-8-02"));
    operand("requirements", "MPA-8-02");
    assert_int_equal(lines(), 1);
    operand("probe", "");
    assert_true(has("embedded"));
    assert_true(has("tcp:"));
    assert_true(has("iwarp-peer"));
    assert_false(has("iwarp-peer.lua"));
    assert_false(has("README"));
    operand("probe", "iwarp-p");
    assert_true(has("iwarp-peer"));
    assert_false(has("embedded"));
    operand("self-check", "");
    assert_string_equal(offered, "\n");
    operand("diff", ""); /* files, as for all others */
    char *files = strdup(offered);
    operand("merge", "");
    assert_string_equal(offered, files);
    free(files);
}

static void switches(void **state)
{
    (void)state;
    offer(iw_complete_switch, "");
    assert_int_equal(lines(), 4);
    assert_true(has("ignore="));
    assert_true(has("overstrict="));
    assert_true(has("violate="));
    assert_true(has("botch="));
    static const struct {
        const char *name, *check;
        enum iw_switch kind;
        enum iw_botch botch;
    } kinds[] = {{"ignore=", "mpa-crc", IW_SWITCH_IGNORE, IW_BOTCH_NONE},
                 {"overstrict=", NULL, IW_SWITCH_OVERSTRICT, IW_BOTCH_NONE},
                 {"violate=", "rdmap-response-past", IW_SWITCH_VIOLATE, IW_BOTCH_NONE},
                 {"botch=", "ddp-stag", IW_SWITCH_BOTCH, IW_BOTCH_SILENT}};
    for (unsigned i = 0; i < 4; i++) {
        size_t count = 0;
        offer(iw_complete_switch, kinds[i].name);
        for (int c = IW_CHECK_NONE + 1; c < IW_CHECK_COUNT; c++)
            count += iw_switch_applies(kinds[i].kind, (enum iw_check)c, kinds[i].botch);
        assert_int_equal(lines(), count);
        if (kinds[i].check != NULL) {
            char word[100];
            snprintf(word, sizeof(word), "%s%s", kinds[i].name, kinds[i].check);
            assert_true(has(word));
        }
    }
    offer(iw_complete_switch, "ignore=mpa-cr");
    assert_true(has("ignore=mpa-crc"));
    assert_false(has("ignore=ddp-stag"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(choices, end),
        cmocka_unit_test_teardown(operands, end),
        cmocka_unit_test_teardown(switches, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
