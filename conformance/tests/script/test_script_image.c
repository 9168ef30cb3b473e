/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of scripts, and images of it: each case begins as if it had loaded everything itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "host/text.h"
#include "play.h"
#include "recording.h"
#include "script/script_host.h"
#include "script/script_memory.h"

enum { BLOCKS = 300, STEPS = 60000 };

static struct iw_target nobody = {.name = "nobody", .host = "127.0.0.1"};

/* ---- the stretch ---- */

static void take(void)
{
    assert_true(iw_script_stretch_take(0));
}

static uint32_t drawn(void)
{
    static uint32_t state = 1;
    state = state * 1664525 + 1013904223;
    return state >> 8;
}

struct block {
    uint8_t *octets;
    size_t size;
    uint8_t fill;
};

static void holds(const struct block *b, size_t size)
{
    for (size_t i = 0; i < size; i++)
        assert_int_equal(b->octets[i], b->fill);
}

/* Mostly small, now and then too large for the stretch. */
static size_t some_size(void)
{
    size_t bits = drawn() % 500 == 0 ? 22 : 4 + drawn() % 9;
    return drawn() % ((size_t)1 << bits) + 1;
}

static void resize(struct block *b, size_t size)
{
    size_t kept = b->size < size ? b->size : size;
    b->octets = iw_script_stretch_allocate(b->octets, b->size, size);
    b->size = size;
    if (!size) {
        assert_null(b->octets);
        return;
    }
    assert_non_null(b->octets);
    assert_int_equal((uintptr_t)b->octets % 16, 0);
    holds(b, kept);
    b->fill = (uint8_t)drawn();
    memset(b->octets, b->fill, size);
}

static void blocks_do_not_overlap(void **state)
{
    static struct block blocks[BLOCKS];

    (void)state;
    take();
    for (unsigned i = 0; i < STEPS; i++) {
        struct block *b = &blocks[drawn() % BLOCKS];
        if (i % 64 == 0)
            holds(b, b->size);
        resize(b, drawn() % 3 ? some_size() : 0);
    }
    for (size_t i = 0; i < BLOCKS; i++)
        holds(&blocks[i], blocks[i].size);
    iw_script_stretch_give();
}

/* More of them than the stretch has room for. */
static void a_full_stretch_goes_on_outside(void **state)
{
    enum { COUNT = 160, MIB = 1 << 20 };
    static struct block blocks[COUNT];

    (void)state;
    take();
    for (unsigned i = 0; i < COUNT; i++)
        resize(&blocks[i], MIB);
    resize(&blocks[COUNT - 1], MIB + 5);
    resize(&blocks[COUNT - 2], 7);
    for (unsigned i = 0; i < COUNT; i++)
        holds(&blocks[i], blocks[i].size);
    size_t length;
    assert_null(iw_script_stretch_copy(&length));
    for (unsigned i = 0; i < COUNT; i += 2)
        resize(&blocks[i], 0);
    iw_script_stretch_give();
}

static void a_copy_is_put_back(void **state)
{
    struct block first = {0}, second = {0};
    size_t length;

    (void)state;
    take();
    assert_false(iw_script_stretch_take(0));
    resize(&first, 1000);
    void *copy = iw_script_stretch_copy(&length);
    assert_non_null(copy);
    assert_false(iw_script_stretch_restore(copy, length));
    struct block before = first;
    resize(&second, 5000);
    resize(&first, 900);
    uint8_t *place = second.octets;
    iw_script_stretch_give();
    assert_true(iw_script_stretch_restore(copy, length));
    holds(&before, before.size);
    second = (struct block){0};
    resize(&second, 5000);
    assert_ptr_equal(second.octets, place);
    holds(&before, before.size);
    iw_script_stretch_give();
    free(copy);
}

/* ---- cases ---- */

static int clear(void **state)
{
    (void)state;
    play_remove();
    return 0;
}

/* What a case can reach: names, tables of the language, of the vocabulary and of its own file. */
static const char changing[] =
    "local own = { 0 }\n"
    "local timers = use 'timers'\n"
    "local function run()\n"
    "  local seen = ('%d %s %s'):format(own[1], string.mark, timers.mark)\n"
    "  own[1], string.mark, timers.mark = 1, 'left', 'left'\n"
    "  for i = 2, 20000 do own[i] = { i } end\n"
    "  assert(seen == '0 nil nil', seen)\n"
    "end\n"
    "local fields = { purpose = 'p', rules = { 'MPA-8-02' }, role = 'responder', run = run }\n"
    "fields.id = 'one' local one = case(fields)\n"
    "fields.id = 'two' local two = case(fields)\n"
    "return family { one, two }\n";

static void no_case_sees_what_another_has_changed(void **state)
{
    struct iw_case *cases;
    char error[1024] = "";
    size_t n;

    (void)state;
    play_write(changing);
    iw_case_load(play_file, &play_options, &cases, &n, error, sizeof(error));
    assert_string_equal(error, "");
    assert_int_equal(n, 2);
    for (unsigned i = 0; i < 6; i++) {
        struct iw_result r;
        assert_int_equal(iw_script_run_case(&cases[i % 2], &nobody, &play_options, &r), 0);
        assert_string_equal(r.reason != NULL ? r.reason : "", "");
        assert_int_equal(r.verdict, IW_VERDICT_PASS);
        iw_result_free(&r);
    }
    iw_case_free_all(cases, n);
}

/* An error leaves it with the script. */
static void what_c_was_at_ends_with_the_script(void **state)
{
    struct iw_script s = {.options = &play_options, .file = "x"};
    char error[1024] = "";

    (void)state;
    assert_int_equal(iw_script_open(&s, error, sizeof(error)), 0);
    json_t *value = iw_got(json_object());
    s.kept = json_incref(value);
    iw_script_close(&s);
    assert_null(s.kept);
    assert_int_equal(value->refcount, 1);
    json_decref(value);
}

/* ---- which image ---- */

static const struct iw_case one;
static char *file;

static int make(void **state)
{
    if (recording_setup(state))
        return -1;
    const struct folder *f = *state;
    free(folder_file(f, "init.lua", "return { env = _G, collect = function(l) return l end }"));
    file = folder_file(f, "file.lua", "return {}");
    return 0;
}

static int remove_folder(void **state)
{
    free(file);
    return recording_teardown(state);
}

/* Whether a state begins with the file; it has it at its end. */
static bool has_file(const struct iw_run_options *options, const struct iw_case *playing)
{
    struct iw_script s = {.options = options, .file = file, .playing = playing};
    char error[1024] = "";

    assert_int_equal(iw_script_open(&s, error, sizeof(error)), 0);
    bool loaded = s.loaded;
    assert_int_equal(lua_gettop(s.L), loaded ? 2 : 1);
    assert_int_equal(iw_script_load(&s, error, sizeof(error)), 0);
    assert_int_equal(lua_gettop(s.L), 2);
    assert_ptr_equal(iw_script_of(s.L), &s);
    assert_true(s.loaded);
    assert_true(s.used > 0);
    iw_script_close(&s);
    assert_int_equal(s.used, 0);
    return loaded;
}

static void changed(const struct folder *f, const char *name, const char *content)
{
    free(folder_file(f, name, content));
}

static void only_what_fits_is_taken(void **state)
{
    const struct folder *f = *state;
    struct iw_run_options options = {.library = f->path};

    take();
    iw_script_stretch_give();
    assert_false(has_file(&options, NULL));
    assert_false(has_file(&options, NULL)); /* a file is read once */
    assert_false(has_file(&options, &one));
    assert_true(has_file(&options, &one));
    assert_true(has_file(&options, &one));
    changed(f, "file.lua", "return { 1 }");
    assert_false(has_file(&options, &one));
    assert_true(has_file(&options, &one));
    options.memory = 1 << 20;
    assert_false(has_file(&options, &one));
    assert_true(has_file(&options, &one));
    changed(f, "init.lua", "return { env = _G, collect = function() return {} end }");
    assert_false(has_file(&options, &one));
    assert_true(has_file(&options, &one));
    char *there = file;
    file = folder_file(f, "other.lua", "return {}");
    assert_false(has_file(&options, &one));
    assert_true(has_file(&options, &one));
    free(file);
    file = there;
    assert_false(has_file(&options, &one));
}

/* What the run, the case or the target say is another thing the next time. */
static void what_was_asked_is_not_kept(void **state)
{
    static const char *const questions[] = {"iw.patience()", "iw.timer()", "iw.instrument('echo')",
                                            "iw.about('echo')", NULL};
    const struct folder *f = *state;
    struct iw_run_options options = {.library = f->path};

    for (const char *const *question = questions; *question != NULL; question++) {
        char *text = iw_text_format("%s return {}", *question);
        changed(f, "file.lua", text);
        assert_false(has_file(&options, &one));
        assert_false(has_file(&options, &one));
        free(text);
    }
    changed(f, "init.lua", "iw.timer() return { env = _G, collect = function(l) return l end }");
    changed(f, "file.lua", "return { 1, 2 }");
    assert_false(has_file(&options, &one));
    assert_false(has_file(&options, &one));
}

/* Two states at a time: the second has its memory elsewhere. */
static void one_state_at_a_time_has_the_stretch(void **state)
{
    const struct folder *f = *state;
    struct iw_run_options options = {.library = f->path};
    struct iw_script s = {.options = &options, .file = file, .playing = &one};
    char error[1024] = "";

    (void)has_file(&options, &one);
    assert_int_equal(iw_script_open(&s, error, sizeof(error)), 0);
    assert_false(has_file(&options, &one));
    assert_false(has_file(&options, &one));
    assert_int_equal(iw_script_load(&s, error, sizeof(error)), 0);
    iw_script_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_do_not_overlap),
        cmocka_unit_test(a_full_stretch_goes_on_outside),
        cmocka_unit_test(a_copy_is_put_back),
        cmocka_unit_test_teardown(no_case_sees_what_another_has_changed, clear),
        cmocka_unit_test(what_c_was_at_ends_with_the_script),
        cmocka_unit_test_setup_teardown(only_what_fits_is_taken, make, remove_folder),
        cmocka_unit_test_setup_teardown(what_was_asked_is_not_kept, make, remove_folder),
        cmocka_unit_test_setup_teardown(one_state_at_a_time_has_the_stretch, make, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
