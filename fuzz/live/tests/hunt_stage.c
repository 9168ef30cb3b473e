/* SPDX-License-Identifier: BSD-3-Clause */
#include "hunt_stage.h"

#include <stdio.h>

#include "host/text.h"
#include "iwarp/transport.h"

struct iw_hunt_options options;
struct iw_hunt hunt;
struct stage stage;

static struct iw_target_spec spec;
static char target[] = "the target", loop_and_instance;

void stage_note(const char *format, ...)
{
    size_t n = strlen(stage.noted);
    va_list arguments;

    if (stage.only != NULL && strchr(stage.only, format[1]) == NULL)
        return;
    va_start(arguments, format);
    vsnprintf(stage.noted + n, sizeof(stage.noted) - n, format, arguments);
    va_end(arguments);
}

void stage_noted(const char *expected)
{
    assert_string_equal(stage.noted, expected);
    *stage.noted = 0;
}

/* ---- instead of connections ---- */

enum iw_target_opened __wrap_iw_hunt_world_open(struct iw_hunt_world *w);
void __wrap_iw_hunt_world_close(struct iw_hunt_world *w);
const char *__wrap_iw_hunt_world_death(struct iw_hunt_world *w);
const char *__wrap_iw_hunt_world_stray(struct iw_hunt_world *w, char *text, size_t size);
struct iw_hunt_loop *__wrap_iw_hunt_loop_new(struct iw_hunt_world *world,
                                             void (*done)(void *context, struct iw_hunt_done *d),
                                             void *context);
void __wrap_iw_hunt_loop_attach(struct iw_hunt_loop *l);
bool __wrap_iw_hunt_loop_start(struct iw_hunt_loop *l, struct iw_hunt_input *input,
                               uint64_t number);
unsigned __wrap_iw_hunt_loop_busy(const struct iw_hunt_loop *l);
uint64_t __wrap_iw_hunt_loop_oldest(const struct iw_hunt_loop *l);
void __wrap_iw_hunt_loop_step(struct iw_hunt_loop *l, int ms);
void __wrap_iw_hunt_loop_abort(struct iw_hunt_loop *l);
struct iw_hunt_event __wrap_iw_hunt_look(struct iw_hunt *h, bool hanging);
void __wrap_iw_hunt_triage(struct iw_hunt *h, const struct iw_hunt_event *event,
                           struct iw_hunt_input *const *suspects, size_t n);
void __wrap_iw_hunt_progress(struct iw_hunt *h, bool end);
uint64_t __wrap_iw_transport_now(void);
void __wrap_iw_hunt_save_kept(struct iw_hunt *h, size_t i);
void __wrap_iw_hunt_save_started(struct iw_hunt *h, const struct iw_hunt_input *in);
bool __wrap_iw_hunt_deadly(struct iw_hunt *h, const struct iw_hunt_input *in);
struct iw_hunt_input *__wrap_iw_hunt_mutate(struct iw_hunt_mutator *m,
                                            const struct iw_hunt_input *in,
                                            const struct iw_hunt_input *other,
                                            struct iw_mutate_random *r);
unsigned __wrap_iw_hunt_coverage_fresh(struct iw_hunt_coverage *c);

enum iw_target_opened __wrap_iw_hunt_world_open(struct iw_hunt_world *w)
{
    stage_note(" open");
    stage.opens++;
    if (stage.opens > stage.good_opens && stage.bad_opens) {
        stage.bad_opens--;
        snprintf(w->error, sizeof(w->error), "so it is");
        return stage.opened;
    }
    w->instance = (struct iw_target_instance *)&loop_and_instance;
    return IW_TARGET_OPENED;
}

void __wrap_iw_hunt_world_close(struct iw_hunt_world *w)
{
    stage_note(" close");
    w->instance = NULL;
}

const char *__wrap_iw_hunt_world_death(struct iw_hunt_world *w)
{
    (void)w;
    return stage.dead_from && hunt.started >= stage.dead_from ? "dead" : NULL;
}

const char *__wrap_iw_hunt_world_stray(struct iw_hunt_world *w, char *text, size_t size)
{
    (void)w;
    stage_note(" glance%u", (unsigned)hunt.over);
    if (!stage.stray_from || hunt.started < stage.stray_from)
        return NULL;
    snprintf(text, size, "changed");
    return text;
}

struct iw_hunt_loop *__wrap_iw_hunt_loop_new(struct iw_hunt_world *world,
                                             void (*done)(void *context, struct iw_hunt_done *d),
                                             void *context)
{
    assert_ptr_equal(world, &hunt.world);
    assert_ptr_equal(context, &hunt);
    stage.call = done;
    return (struct iw_hunt_loop *)&loop_and_instance;
}

void __wrap_iw_hunt_loop_attach(struct iw_hunt_loop *l)
{
    assert_true((char *)l == &loop_and_instance);
    stage_note(" attach");
}

bool __wrap_iw_hunt_loop_start(struct iw_hunt_loop *l, struct iw_hunt_input *input, uint64_t number)
{
    (void)l;
    if (!stage.room)
        return false;
    stage.room--;
    stage.busy[stage.n_busy].input = input;
    stage.busy[stage.n_busy++].number = number;
    stage_note(" @%u:%02x", (unsigned)number, input->steps[0].octets[0]);
    return true;
}

unsigned __wrap_iw_hunt_loop_busy(const struct iw_hunt_loop *l)
{
    (void)l;
    return stage.n_busy;
}

uint64_t __wrap_iw_hunt_loop_oldest(const struct iw_hunt_loop *l)
{
    (void)l;
    return stage.n_busy ? stage.busy[0].number : 0;
}

/* The oldest one is over. */
static void finish_one(enum iw_hunt_answer answer)
{
    struct iw_hunt_done d = {.input = stage.busy[0].input, .number = stage.busy[0].number};

    memmove(stage.busy, stage.busy + 1, --stage.n_busy * sizeof(*stage.busy));
    if (stage.refused_from && d.number >= stage.refused_from && d.number <= stage.refused_to)
        answer = IW_ANSWER_REFUSED;
    uint32_t detail = stage.rows == EACH ? (uint32_t)d.number : 0;
    for (uint64_t n = d.number; stage.rows == RARER && n % 2 == 0; n /= 2)
        detail++; /* half of all are 0, a quarter 1 ... */
    iw_hunt_row_add(&d.row, IW_ANSWER_MESSAGE, detail, IW_SAID_NOTHING);
    iw_hunt_row_add(&d.row, answer, 0, IW_SAID_FIN);
    if (stage.broken)
        d.findings[d.n_findings++] = stage.broken;
    stage.call(&hunt, &d);
}

void __wrap_iw_hunt_loop_step(struct iw_hunt_loop *l, int ms)
{
    (void)l;
    stage_note(" step%d", ms);
    stage.now += stage.step_ms * (uint64_t)1000000;
    for (unsigned n = stage.slow ? 1 : stage.n_busy; stage.n_busy && n; n--)
        finish_one(IW_ANSWER_FIN);
}

void __wrap_iw_hunt_loop_abort(struct iw_hunt_loop *l)
{
    (void)l;
    stage_note(" abort");
    while (stage.n_busy)
        finish_one(IW_ANSWER_NONE);
}

struct iw_hunt_event __wrap_iw_hunt_look(struct iw_hunt *h, bool hanging)
{
    assert_ptr_equal(h, &hunt);
    assert_false(hanging);
    assert_int_equal(stage.n_busy, 0);
    stage_note(" look%u", (unsigned)h->over);
    if (stage.dead_from && h->started >= stage.dead_from)
        stage.looks_like = IW_HUNT_CRASH;
    if (stage.stray_from && h->started >= stage.stray_from)
        stage.looks_like = IW_HUNT_STRAY;
    return iw_hunt_event_of(stage.looks_like, stage.looks_like == IW_HUNT_NOTHING ? "" : "bad");
}

void __wrap_iw_hunt_triage(struct iw_hunt *h, const struct iw_hunt_event *event,
                           struct iw_hunt_input *const *suspects, size_t n)
{
    assert_ptr_equal(h, &hunt);
    stage_note(" triage(%s, %s:", iw_hunt_kind_name(event->kind), event->text);
    for (size_t i = 0; i < n; i++)
        stage_note(" %02x", suspects[i]->steps[0].octets[0]);
    stage_note(")");
    stage.looks_like = IW_HUNT_NOTHING;
    stage.dead_from = stage.stray_from = stage.refused_from = 0;
    stage.broken = IW_CHECK_NONE;
    h->findings = stage.found;
    if (stage.closes)
        h->world.instance = NULL;
}

void __wrap_iw_hunt_progress(struct iw_hunt *h, bool end)
{
    assert_ptr_equal(h, &hunt);
    stage_note(end ? " end" : " .");
}

uint64_t __wrap_iw_transport_now(void)
{
    return stage.now;
}

void __wrap_iw_hunt_save_kept(struct iw_hunt *h, size_t i)
{
    assert_int_equal(h->n_corpus, i + 1);
    stage_note(" kept(%02x)", h->corpus[i].input->steps[0].octets[0]);
}

void __wrap_iw_hunt_save_started(struct iw_hunt *h, const struct iw_hunt_input *in)
{
    assert_ptr_equal(h, &hunt);
    stage_note(" !%02x", in->steps[0].octets[0]);
}

bool __wrap_iw_hunt_deadly(struct iw_hunt *h, const struct iw_hunt_input *in)
{
    (void)h;
    (void)in;
    if (!stage.deadly)
        return false;
    stage.deadly--;
    return true;
}

/* A new one, with the number that is noted. */
struct iw_hunt_input *__wrap_iw_hunt_mutate(struct iw_hunt_mutator *m,
                                            const struct iw_hunt_input *in,
                                            const struct iw_hunt_input *other,
                                            struct iw_mutate_random *r)
{
    uint8_t octet = (uint8_t)++stage.made;
    struct iw_hunt_input *out = iw_hunt_input_new();

    assert_ptr_equal(m, hunt.mutator);
    assert_ptr_equal(r, &hunt.random);
    iw_hunt_add(out, IW_FUZZ_A, &octet, 1);
    stage_note(" *%02x/%02x", in->steps[0].octets[0], other->steps[0].octets[0]);
    return out;
}

unsigned __wrap_iw_hunt_coverage_fresh(struct iw_hunt_coverage *c)
{
    assert_true((char *)c == (char *)&stage);
    return (unsigned)stage.fresh;
}

/* ---- */

/* ---- */

int stage_begin(void **state)
{
    (void)state;
    options = (struct iw_hunt_options){.seed = 11, .count = 5};
    spec = (struct iw_target_spec){.text = target};
    hunt = (struct iw_hunt){
        .o = &options, .spec = &spec, .stop = &stage.stop, .world = {.scale = 2, .slots = 2}};
    for (unsigned i = 0; i < STAGE_SEEDS; i++) {
        const char text[] = {'a', 'a', (char)('1' + i), 0};

        iw_hunt_seeds_add(&hunt.seeds, support_input(text));
    }
    stage = (struct stage){.now = 1000000000, .room = UINT32_MAX, .step_ms = 1};
    return 0;
}

int stage_end(void **state)
{
    (void)state;
    for (size_t i = 0; i < hunt.n_corpus; i++)
        iw_hunt_input_free(hunt.corpus[i].input);
    free(hunt.corpus);
    free(hunt.mutator);
    free(hunt.graph);
    iw_hunt_recent_clear(&hunt.recent);
    iw_hunt_seeds_free(&hunt.seeds);
    return support_clean(state);
}

void stage_goes(int status, const char *expected)
{
    assert_int_equal(iw_hunt_go(&hunt), status);
    stage_noted(expected);
}

struct gone {
    int status;
};

static void go_printed(void *context)
{
    ((struct gone *)context)->status = iw_hunt_go(&hunt);
}

void stage_fails(int status, const char *printed, const char *expected)
{
    struct gone gone = {0};
    char *text = support_printed(2, go_printed, &gone);

    assert_int_equal(gone.status, status);
    assert_string_equal(text, printed);
    free(text);
    stage_noted(expected);
}
