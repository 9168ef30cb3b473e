/* SPDX-License-Identifier: BSD-3-Clause */
#include "pool_rig.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "host/text.h"
#include "target/target_instance.h"

struct pool_rig rig;

bool pool_next(void *context, unsigned worker, struct iw_job *job)
{
    (void)context;
    assert_true(worker < rig.pool.workers);
    if (rig.next_job == rig.n_jobs)
        return false;
    *job = (struct iw_job){.c = &rig.cases[rig.next_job],
                           .option = rig.options_of[rig.next_job],
                           .round = (unsigned)rig.next_job};
    rig.next_job++;
    return true;
}

void pool_done(void *context, unsigned worker, const struct iw_job *job, struct iw_result *result)
{
    size_t i = (size_t)(job->c - rig.cases);

    (void)context;
    (void)worker;
    assert_true(i < rig.n_jobs);
    assert_null(rig.results[i].id); /* each once */
    rig.results[i] = *result;
    rig.n_done++;
}

void pool_trouble(void *context, const char *line)
{
    (void)context;
    rig.n_trouble++;
    snprintf(rig.troubles, sizeof(rig.troubles), "%s", line);
}

static void charge(void *context, const char *id, struct iw_result *result)
{
    size_t n = strlen(rig.charges);

    (void)context;
    assert_int_equal(result->verdict, IW_VERDICT_FAIL);
    assert_int_equal(result->n_deviations, 1);
    assert_non_null(result->log);
    snprintf(rig.charges + n, sizeof(rig.charges) - n, "%s: %s\n", id, result->deviations[0].text);
    iw_result_free(result);
}

/* Cases with these ids; an id is an order to the play function. */
void pool_add(const char *id)
{
    snprintf(rig.names[rig.n_jobs], sizeof(rig.names[rig.n_jobs]), "%s", id);
    rig.cases[rig.n_jobs] = (struct iw_case){
        .id = rig.names[rig.n_jobs], .file = "f.lua", .line = 7, .role = IW_MPA_RESPONDER};
    rig.n_jobs++;
}

/* What a worker has of its parent: descriptors, and what signals do. */
static char *describe_process(void)
{
    unsigned sockets = 0, signals = 0;
    sigset_t blocked;
    int death = 0;

    for (int fd = 0; fd < 1024; fd++) {
        char name[32], to[64] = "";

        snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
        if (readlink(name, to, sizeof(to) - 1) < 0)
            continue;
        sockets += strncmp(to, "socket:", 7) == 0;
        signals += strstr(to, "signalfd") != NULL;
    }
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    prctl(PR_GET_PDEATHSIG, &death);
    return iw_text_format("sockets %u, signals %u, INT %d, PIPE %d, TERM %d, HUP %d, death %d",
                          sockets, signals, signal(SIGINT, SIG_IGN) == SIG_IGN,
                          signal(SIGPIPE, SIG_IGN) == SIG_IGN, sigismember(&blocked, SIGTERM),
                          sigismember(&blocked, SIGHUP), death);
}

/* "vain", and "vain-a" for another reason, are INCONCLUSIVE; "vain-pass" and "vain-hasty" are not,
 * but for the latter in haste. The whole patience is one second or more. */
static void wait_in_vain(const char *id, double patience, struct iw_result *out)
{
    bool hasty = patience < 1;
    if (strcmp(id, "vain-pass") != 0 && (hasty || strcmp(id, "vain-hasty") != 0)) {
        out->verdict = IW_VERDICT_INCONCLUSIVE;
        out->reason = iw_text_copy(id);
    }
    if (!hasty && strcmp(id, "vain") != 0)
        usleep(50000); /* so that another worker most often comes to its end before this one */
    out->waited = patience;
    out->observed = iw_text_format("%g", patience);
}

int pool_play(const struct iw_case *c, struct iw_target *target,
              const struct iw_run_options *options, struct iw_result *out)
{
    static unsigned refusals; /* in this worker */

    *out = (struct iw_result){.verdict = IW_VERDICT_PASS, .heard = strncmp(c->id, "mute", 4) != 0};
    out->reason = iw_text_format("%s by %s", c->id, target->name);
    if (strcmp(c->id, "fail") == 0)
        out->verdict = IW_VERDICT_FAIL;
    if (strcmp(c->id, "mute") == 0)
        out->verdict = IW_VERDICT_INCONCLUSIVE;
    if (strcmp(c->id, "skip") == 0)
        out->verdict = IW_VERDICT_SKIP;
    if (strcmp(c->id, "refuse") == 0 || strcmp(c->id, "fail-refuse") == 0)
        target->refused = refusals++ % 2 == 0;
    if (target->refused)
        out->verdict = *c->id == 'f' ? IW_VERDICT_FAIL : IW_VERDICT_INCONCLUSIVE;
    if (strcmp(c->id, "trace") == 0)
        fputs("traced\n", options->trace);
    if (strncmp(c->id, "vain", 4) == 0)
        wait_in_vain(c->id, options->patience, out);
    if (strcmp(c->id, "round") == 0)
        out->observed = iw_text_format("%u", options->round);
    if (strcmp(c->id, "process") == 0)
        out->observed = describe_process();
    if (strcmp(c->id, "huge") == 0) {
        out->observed = iw_got(malloc((17 << 20) + 1));
        memset(out->observed, 'x', 17 << 20);
        out->observed[17 << 20] = 0;
    }
    if (strcmp(c->id, "broken") == 0)
        return -1;
    if (strcmp(c->id, "crash") == 0)
        raise(SIGKILL); /* cmocka would catch the others */
    if (strcmp(c->id, "leave") == 0)
        _exit(3);
    if (strcmp(c->id, "signal") == 0)
        kill(getppid(), SIGTERM);
    if (strcmp(c->id, "hang") == 0 || strcmp(c->id, "signal") == 0)
        for (;;)
            pause();
    if (strcmp(c->id, "spin") == 0)
        for (volatile int i = 0;; i++)
            ;
    if (strcmp(c->id, "long") == 0) {
        out->observed = iw_got(malloc(1000001));
        memset(out->observed, 'x', 1000000);
        out->observed[1000000] = 0;
    }
    if (strcmp(c->id, "spoil") == 0) /* which only a later case sees */
        kill(iw_target_group((struct iw_target_instance *)target), SIGUSR1);
    if (strcmp(c->id, "see") == 0) {
        const struct iw_target_instance *instance = (struct iw_target_instance *)target;

        kill(iw_target_group(instance), SIGUSR2);
        while (target->death(target) == NULL && !iw_process_said(&instance->process, "seen"))
            usleep(1000);
    }
    if (strcmp(c->id, "odd") == 0)
        out->actual = iw_text_copy("\xff\x01\"\n");
    if (strcmp(c->id, "kill") == 0) {
        const char *how = NULL;

        kill(iw_target_group((struct iw_target_instance *)target), SIGKILL);
        while (how == NULL)
            how = target->death(target);
    }
    return 0;
}

/* ---- set-up ---- */

int pool_set_up(void **state)
{
    (void)state;
    rig.n_jobs = rig.next_job = rig.n_done = rig.n_trouble = 0;
    memset(rig.results, 0, sizeof(rig.results));
    rig.charges[0] = '\0';
    rig.charging = false;
    memset(rig.options_of, 0, sizeof(rig.options_of));
    rig.run_options = (struct iw_run_options){0};
    rig.pool = (struct iw_pool){0};
    return folder_make(&rig.folder);
}

int pool_tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < POOL_JOBS; i++)
        iw_result_free(&rig.results[i]);
    free(rig.pool.version);
    iw_device_free(&rig.pool.device);
    folder_remove(&rig.folder);
    return 0;
}

void pool_run_against(const char *spec, unsigned workers)
{
    struct iw_target_spec *target = iw_target_parse(spec, IW_BINARY_DIR "/bin/iwarp-agent",
                                                    rig.folder.path, rig.error, sizeof(rig.error));

    if (target == NULL)
        fail_msg("%s", rig.error);
    rig.pool = (struct iw_pool){.target = target,
                                .options = &rig.run_options,
                                .workers = workers,
                                .log_dir = rig.folder.path,
                                .grace = rig.pool.grace,
                                .hasty = rig.pool.hasty,
                                .patience = rig.pool.patience,
                                .no_mpa = rig.pool.no_mpa,
                                .play = pool_play,
                                .next = pool_next,
                                .done = pool_done,
                                .trouble = pool_trouble,
                                .charge = rig.charging ? charge : NULL};
    assert_int_equal(iw_pool_run(&rig.pool, rig.error, sizeof(rig.error)), 0);
    iw_target_free(target);
}

/* A started peer that needs no network: it is ready when it says so. */
void pool_run_against_command(const char *command, unsigned workers)
{
    char *text = iw_text_format(
        "return { class = 'bare', address = '127.0.0.1', ready = 'ready', start = [[%s]] }",
        command);

    free(folder_file(&rig.folder, "peer.lua", text));
    free(text);
    pool_run_against("peer", workers);
}

void pool_assert_result(size_t i, enum iw_verdict verdict, const char *reason)
{
    assert_non_null(rig.results[i].id);
    assert_string_equal(rig.results[i].id, rig.names[i]);
    assert_string_equal(rig.results[i].reason, reason);
    assert_int_equal(rig.results[i].verdict, verdict);
}
