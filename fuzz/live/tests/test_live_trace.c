/* SPDX-License-Identifier: BSD-3-Clause */
#include "live_support.h"

#include <jansson.h>
#include <stdio.h>

#include "host/text.h"

static void answers_have_names(void **state)
{
    static const struct {
        uint32_t code;
        const char *name;
    } rows[] = {{0, "connected"},
                {0x01000000, "reply rev 0"},
                {0x01000110, "request rev 1"},
                {0x01800200, "reply rev 2 M"},
                {0x01400200, "reply rev 2 C"},
                {0x01200200, "reply rev 2 R"},
                {0x01100200, "reply rev 2 S"},
                {0x01010208, "reply rev 2 A"},
                {0x01000201, "reply rev 2 send"},
                {0x01000202, "reply rev 2 write"},
                {0x01000204, "reply rev 2 read"},
                {0x01f0ff1f, "request rev 255 M C R S A send write read"},
                {0x02000000, "write"},
                {0x02000003, "send"},
                {0x0200000b, "atomic-response"},
                {0x0200000c, "opcode c"},
                {0x0200000f, "opcode f"},
                {0x03000000, "terminate 0/0/00"},
                {0x0301020a, "terminate 1/2/0a"},
                {0x030a0bfe, "terminate a/b/fe"},
                {0x04000000, "no FPDU"},
                {0x05000000, "fin"},
                {0x06000000, "reset"},
                {0x07000000, "refused"},
                {0x08000000, "silence"}};
    char text[96];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        iw_hunt_code_print(rows[i].code, text, sizeof(text));
        assert_string_equal(text, rows[i].name);
    }
}

static struct iw_hunt_row row_of(const char *codes, uint8_t stimulus)
{
    struct iw_hunt_row row = {.n = 0};

    for (; *codes; codes++)
        iw_hunt_row_add(&row, IW_ANSWER_MESSAGE, (uint32_t)(*codes - 'a'), stimulus);
    return row;
}

static void a_row_has_bounds(void **state)
{
    struct iw_hunt_row row = {.n = 0};

    (void)state;
    for (uint32_t i = 0; i < 70; i++)
        iw_hunt_row_add(&row, IW_ANSWER_TERMINATE, i, (uint8_t)(i + 1));
    assert_int_equal(row.n, 64);
    assert_int_equal(row.at[0].code, 0x03000000);
    assert_int_equal(row.at[0].stimulus, 1);
    assert_int_equal(row.at[63].code, 0x0300003f);
    assert_int_equal(row.at[63].stimulus, 64);
}

static char *written(const struct iw_hunt_graph *g, bool json)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = iw_got(open_memstream(&text, &size));

    iw_hunt_graph_write(g, f, json);
    fclose(f);
    return text;
}

static void is(const struct iw_hunt_graph *g, bool json, const char *expected)
{
    char *text = written(g, json);

    if (json) {
        json_t *got = json_loads(text, 0, NULL), *wanted = json_loads(expected, 0, NULL);
        assert_non_null(wanted);
        assert_true(json_equal(got, wanted));
        json_decref(got);
        json_decref(wanted);
    } else {
        assert_string_equal(text, expected);
    }
    free(text);
}

static void a_graph_is_written(void **state)
{
    struct iw_hunt_graph *g = iw_hunt_graph_new();
    struct iw_hunt_row row = {.n = 0};

    (void)state;
    is(g, false,
       "digraph states {\n  rankdir=LR;\n  node [shape=box];\n  s0 "
       "[label=\"connected\\n0\"];\n}\n");
    is(g, true,
       "{\"schema\": 1,\n \"states\": [\n  {\"state\": 0, \"answer\": \"connected\", \"visits\": "
       "0}],\n \"edges\": []}\n");
    iw_hunt_row_add(&row, IW_ANSWER_STARTUP, 0x400200, IW_SAID_REQUEST);
    iw_hunt_row_add(&row, IW_ANSWER_FIN, 0, IW_SAID_OCTETS);
    assert_int_equal(iw_hunt_graph_add(g, &row), 4);
    row.at[1].stimulus = 3;
    assert_int_equal(iw_hunt_graph_add(g, &row), 1);
    assert_int_equal(iw_hunt_graph_states(g), 3);
    assert_int_equal(iw_hunt_graph_edges(g), 3);
    is(g, false,
       "digraph states {\n"
       "  rankdir=LR;\n"
       "  node [shape=box];\n"
       "  s0 [label=\"connected\\n2\"];\n"
       "  s1 [label=\"reply rev 2 C\\n2\"];\n"
       "  s2 [label=\"fin\\n2\"];\n"
       "  s0 -> s1 [label=\"request\\n2\"];\n"
       "  s1 -> s2 [label=\"octets\\n1\"];\n"
       "  s1 -> s2 [label=\"send\\n1\"];\n"
       "}\n");
    is(g, true,
       "{\"schema\": 1,\n"
       " \"states\": [\n"
       "  {\"state\": 0, \"answer\": \"connected\", \"visits\": 2},\n"
       "  {\"state\": 1, \"answer\": \"reply rev 2 C\", \"visits\": 2},\n"
       "  {\"state\": 2, \"answer\": \"fin\", \"visits\": 2}],\n"
       " \"edges\": [\n"
       "  {\"from\": 0, \"to\": 1, \"stimulus\": \"request\", \"visits\": 2},\n"
       "  {\"from\": 1, \"to\": 2, \"stimulus\": \"octets\", \"visits\": 1},\n"
       "  {\"from\": 1, \"to\": 2, \"stimulus\": \"send\", \"visits\": 1}]}\n");
    free(g);
    free(NULL);
}

/* The same answer again and again, from the first to the 17th time. */
static void how_often_an_answer_came(void **state)
{
    struct iw_hunt_graph *g = iw_hunt_graph_new();
    struct iw_hunt_row row = row_of("aaaaaaaaaaaaaaaaa", IW_SAID_FIN);

    (void)state;
    assert_int_equal(iw_hunt_graph_add(g, &row), 6 + 9);
    is(g, false,
       "digraph states {\n"
       "  rankdir=LR;\n"
       "  node [shape=box];\n"
       "  s0 [label=\"connected\\n1\"];\n"
       "  s1 [label=\"write\\n1\"];\n"
       "  s2 [label=\"write (2nd)\\n1\"];\n"
       "  s3 [label=\"write (3rd)\\n1\"];\n"
       "  s4 [label=\"write (4th to 7th)\\n4\"];\n"
       "  s5 [label=\"write (8th to 15th)\\n8\"];\n"
       "  s6 [label=\"write (16th and on)\\n2\"];\n"
       "  s0 -> s1 [label=\"fin\\n1\"];\n"
       "  s1 -> s2 [label=\"fin\\n1\"];\n"
       "  s2 -> s3 [label=\"fin\\n1\"];\n"
       "  s3 -> s4 [label=\"fin\\n1\"];\n"
       "  s4 -> s4 [label=\"fin\\n3\"];\n"
       "  s4 -> s5 [label=\"fin\\n1\"];\n"
       "  s5 -> s5 [label=\"fin\\n7\"];\n"
       "  s5 -> s6 [label=\"fin\\n1\"];\n"
       "  s6 -> s6 [label=\"fin\\n1\"];\n"
       "}\n");
    free(g);
}

static void stimuli_have_names(void **state)
{
    static const char *const names[] = {"write",
                                        "read-request",
                                        "read-response",
                                        "send",
                                        "send-invalidate",
                                        "send-se",
                                        "send-se-invalidate",
                                        "terminate",
                                        "immediate",
                                        "immediate-se",
                                        "atomic-request",
                                        "atomic-response",
                                        "reserved opcode",
                                        "reserved opcode",
                                        "reserved opcode",
                                        "reserved opcode",
                                        "nothing",
                                        "request",
                                        "octets",
                                        "fin",
                                        "reply",
                                        "reserved opcode"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct iw_hunt_graph *g = iw_hunt_graph_new();
        struct iw_hunt_row row = row_of("a", (uint8_t)i);
        char *text, *want = iw_text_format("s0 -> s1 [label=\"%s\\n1\"]", names[i]);

        iw_hunt_graph_add(g, &row);
        text = written(g, false);
        if (strstr(text, want) == NULL)
            assert_string_equal(text, want);
        free(want);
        free(text);
        free(g);
    }
}

static void how_rare_a_row_is(void **state)
{
    struct iw_hunt_graph *g = iw_hunt_graph_new();
    struct iw_hunt_row ab = row_of("ab", 3), ac = row_of("ac", 3), ad = row_of("ad", 3),
                       other = row_of("ab", 4), none = row_of("", 3);

    (void)state;
    for (int i = 0; i < 3; i++)
        iw_hunt_graph_add(g, &ab);
    assert_int_equal(iw_hunt_graph_rarity(g, &ab), 3);
    iw_hunt_graph_add(g, &ac);
    iw_hunt_graph_add(g, &ac);
    assert_int_equal(iw_hunt_graph_rarity(g, &ab), 3);
    assert_int_equal(iw_hunt_graph_rarity(g, &ac), 2);
    assert_int_equal(iw_hunt_graph_rarity(g, &ad), 5);
    assert_true(iw_hunt_graph_rarity(g, &other) == UINT64_MAX);
    assert_true(iw_hunt_graph_rarity(g, &none) == UINT64_MAX);
    free(g);
}

/* Far more answers than there is room for. */
static void a_graph_has_bounds(void **state)
{
    struct iw_hunt_graph *g = iw_hunt_graph_new();
    unsigned fresh = 0;

    (void)state;
    for (uint32_t i = 0; i < 9000; i++) {
        struct iw_hunt_row row = {.n = 0};

        iw_hunt_row_add(&row, IW_ANSWER_TERMINATE, i, 3);
        fresh += iw_hunt_graph_add(g, &row);
    }
    assert_int_equal(iw_hunt_graph_states(g), 8192);
    assert_int_equal(iw_hunt_graph_edges(g), 8191);
    assert_int_equal(fresh, 2 * 8191);
    for (uint32_t i = 0; i < 8191; i++) {
        struct iw_hunt_row row = {.n = 0};

        iw_hunt_row_add(&row, IW_ANSWER_TERMINATE, i, 3);
        assert_int_equal(iw_hunt_graph_rarity(g, &row), 1);
        row.at[0].stimulus = 4;
        fresh += iw_hunt_graph_add(g, &row);
    }
    assert_int_equal(iw_hunt_graph_edges(g), 8192);
    assert_int_equal(fresh, 2 * 8191 + 1);
    free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_have_names), cmocka_unit_test(a_row_has_bounds),
        cmocka_unit_test(a_graph_is_written), cmocka_unit_test(how_often_an_answer_came),
        cmocka_unit_test(stimuli_have_names), cmocka_unit_test(how_rare_a_row_is),
        cmocka_unit_test(a_graph_has_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
