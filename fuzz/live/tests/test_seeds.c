/* SPDX-License-Identifier: BSD-3-Clause */
/* Every seed in literal octets, for the initiator and for the responder. */
#include "live_support.h"

#include <stdio.h>

#include "host/text.h"

/* One step per line, a seed's settings before its first. */
static char *listed(const struct iw_hunt_seeds *seeds)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = iw_got(open_memstream(&text, &size));

    for (size_t i = 0; i < seeds->n; i++) {
        char *steps = support_text(seeds->list[i]);
        const uint8_t *settings = seeds->list[i]->settings;

        fprintf(f, "%02x%02x%02x%02x\n", settings[0], settings[1], settings[2], settings[3]);
        for (char *step = strtok(steps, " "); step != NULL; step = strtok(NULL, " "))
            fprintf(f, "  %s\n", step);
        free(steps);
    }
    fclose(f);
    return text;
}

static void generates(enum iw_side side, enum iw_target_class class, const char *name)
{
    struct iw_hunt_seeds seeds = {.side = side};
    char *text;

    iw_hunt_seeds_generate(&seeds, class);
    text = listed(&seeds);
    support_expects(text, name);
    free(text);
    iw_hunt_seeds_free(&seeds);
    assert_int_equal(seeds.n, 0);
    assert_null(seeds.list);
}

static void of_an_initiator(void **state)
{
    (void)state;
    generates(IW_SIDE_INITIATOR, IW_TARGET_AGENT, "seeds-initiator.txt");
}

/* These and one more: the client of rping. */
static void of_an_initiator_like_rping(void **state)
{
    struct iw_hunt_seeds seeds = {.side = IW_SIDE_INITIATOR};

    (void)state;
    iw_hunt_seeds_generate(&seeds, IW_TARGET_RPING);
    assert_int_equal(seeds.n, 25);
    support_is(
        seeds.list[24],
        "a4d504120494420526571204672616d655002000400100010 "
        "t50 "
        "a00224143000000000000000000000001000000000000000000000000001000010000004032e8abf7 "
        "t50 "
        "a004ec1421f5a00ff0000000000000000000000000000000000000000000000000000000000000000000000000"
        "0000000000000000000000000000000000000000000000000000000000000000000000028916508 "
        "t50 "
        "a002241430000000000000000000000020000000000000000000000000010000100000040056eb5e0 "
        "t50 "
        "a002241430000000000000000000000030000000000000000000000000010000100000040e813bfed");
    iw_hunt_seeds_free(&seeds);
}

static void of_a_responder(void **state)
{
    (void)state;
    generates(IW_SIDE_RESPONDER, IW_TARGET_RPING, "seeds-responder.txt");
}

static void the_usual_startup(void **state)
{
    static const char *const texts[] = {
        "a4d504120494420526571204672616d655002000400100010 t50",
        "t50 a4d504120494420526570204672616d655002000400100010 t50"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct iw_hunt_input *in = iw_hunt_seed_probe(i ? IW_SIDE_RESPONDER : IW_SIDE_INITIATOR);

        support_is(in, texts[i]);
        iw_hunt_input_free(in);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_an_initiator),
        cmocka_unit_test(of_an_initiator_like_rping),
        cmocka_unit_test(of_a_responder),
        cmocka_unit_test(the_usual_startup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
