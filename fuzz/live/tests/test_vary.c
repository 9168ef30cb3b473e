/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks the sequences that a seed gives, as a digest, and the map of places that a peer reached.
 */
#include "live_support.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "host/text.h"
#include "live_coverage.h"

static void a_seed_repeats(void **state)
{
    struct iw_hunt_mutator *m = iw_hunt_mutator_new();
    struct iw_hunt_seeds seeds = {.side = IW_SIDE_INITIATOR};
    struct iw_mutate_random r = {5};
    uint64_t digest = IW_HUNT_DIGEST;

    (void)state;
    iw_hunt_seeds_generate(&seeds, IW_TARGET_RPING);
    for (size_t i = 0; i < 3000; i++) {
        struct iw_hunt_input *in =
            iw_hunt_mutate(m, seeds.list[i % seeds.n], seeds.list[i / 7 % seeds.n], &r);

        digest = iw_hunt_input_digest(digest ^ in->n, in);
        iw_hunt_input_free(seeds.list[i % seeds.n]);
        seeds.list[i % seeds.n] = in;
    }
    assert_int_equal(digest, 0x86dd1075f014bbe);
    iw_hunt_seeds_free(&seeds);
    free(m);
}

/* Marks a place as the peer does. */
static void reach(const char *path, long place)
{
    FILE *f = iw_got(fopen(path, "r+"));

    assert_int_equal(fseek(f, place, SEEK_SET), 0);
    putc(1, f);
    assert_int_equal(fclose(f), 0);
}

static void places_are_counted_once(void **state)
{
    const char *folder = support_folder();
    char *path = iw_text_format("%s/coverage.map", folder);
    struct iw_hunt_coverage *c = iw_hunt_coverage_open(NULL, folder);

    (void)state;
    assert_non_null(c);
    assert_string_equal(getenv(IW_HUNT_COVERAGE_FILE), path);
    assert_int_equal(iw_hunt_coverage_fresh(c), 0);
    reach(path, 0);
    reach(path, 7);
    reach(path, IW_HUNT_COVERAGE_PLACES - 1);
    assert_int_equal(iw_hunt_coverage_fresh(c), 3);
    assert_int_equal(iw_hunt_coverage_places(c), 3);
    assert_int_equal(iw_hunt_coverage_fresh(c), 0);
    reach(path, 7);
    reach(path, 8);
    assert_int_equal(iw_hunt_coverage_fresh(c), 1);
    assert_int_equal(iw_hunt_coverage_places(c), 4);
    iw_hunt_coverage_close(c);
    iw_hunt_coverage_close(NULL);
    assert_int_equal(access(path, F_OK), -1); /* our own */
    fclose(iw_got(fopen(path, "w")));
    c = iw_hunt_coverage_open(path, NULL); /* too short: made longer, and left */
    assert_non_null(c);
    reach(path, IW_HUNT_COVERAGE_PLACES - 1);
    assert_int_equal(iw_hunt_coverage_fresh(c), 1);
    iw_hunt_coverage_close(c);
    assert_int_equal(access(path, F_OK), 0);
    free(path);
}

/* Without a standard input, the file gets the least of all descriptors; it is closed again. */
static void a_map_in_place_of_the_standard_input(void **state)
{
    int kept = dup(0);

    (void)state;
    close(0);
    struct iw_hunt_coverage *c = iw_hunt_coverage_open(NULL, support_folder());
    int left = fcntl(0, F_GETFD);
    dup2(kept, 0);
    close(kept);
    assert_non_null(c);
    assert_int_equal(left, -1);
    iw_hunt_coverage_close(c);
}

static void open_none(void *context)
{
    assert_null(iw_hunt_coverage_open(context, NULL));
}

static void a_map_that_is_none(void **state)
{
    static char path[] = "/no/map";
    char *text = support_printed(2, open_none, path);

    (void)state;
    assert_string_equal(text, "iwarp-fuzz: --coverage: /no/map: No such file or directory\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_repeats),
        cmocka_unit_test_teardown(places_are_counted_once, support_clean),
        cmocka_unit_test_teardown(a_map_in_place_of_the_standard_input, support_clean),
        cmocka_unit_test_teardown(a_map_that_is_none, support_clean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
