/* SPDX-License-Identifier: BSD-3-Clause */
/* The parent of the workers. */
#include "pool.h"
#include "pool_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "haste.h"
#include "host/text.h"
#include "iwarp/capture.h"
#include "iwarp/transport.h"

enum {
    ANSWER = 16 << 20, /* octets of the longest answer */
    WORKERS = 256,
    MS = 1000000, /* ns */
    BLOCK = 65536 /* octets of one read */
};

/* A job that is judged when a trial has ended. */
struct later {
    struct iw_job job;
    struct iw_result result;
    iw_haste_trial trial;
};

struct worker {
    struct parent *parent;
    unsigned number;
    pid_t pid; /* 0: none */
    int fd;
    pid_t group; /* of its target, 0: none */
    bool busy;
    bool closing; /* it is to end */
    struct iw_job job;
    struct iw_pool_clock clock;
    double patience;      /* with which its case is played; 0: the whole */
    iw_haste_trial trial; /* of its case; 0: none */
    struct later *later;
    size_t n_later;
    char *answer;
    size_t length;
};

struct parent {
    struct iw_pool *pool;
    struct worker *workers;
    int signals;
    sigset_t before;
    struct iw_haste haste;
};

/* The processor time that a worker has used, in ns. */
static uint64_t processor_time(const struct worker *w)
{
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(w->pid, &clock) || clock_gettime(clock, &used))
        return 0;
    return (uint64_t)used.tv_sec * IW_POOL_SECOND + (uint64_t)used.tv_nsec;
}

static void give_time(struct worker *w, double seconds)
{
    iw_pool_clock_start(&w->clock, seconds, iw_transport_now(), processor_time(w));
}

/* ---- workers come and go ---- */

static int start_worker(struct worker *w)
{
    const struct parent *p = w->parent;
    pid_t parent = getpid();
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return -1;
    fflush(NULL);
    w->pid = fork();
    if (w->pid == 0) {
        /* Nothing goes on when we are killed: a run that is resumed has the target to itself. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(0);
        signal(SIGINT, SIG_IGN); /* the parent sees to it */
        signal(SIGPIPE, SIG_IGN);
        sigprocmask(SIG_SETMASK, &p->before, NULL);
        for (unsigned i = 0; i < p->pool->workers; i++)
            if (i != w->number && p->workers[i].pid > 0)
                close(p->workers[i].fd);
        close(p->signals);
        close(pair[0]);
        iw_worker_serve(p->pool, w->number, pair[1]);
        fflush(NULL);
        _exit(0);
    }
    close(pair[1]);
    if (w->pid < 0) {
        w->pid = 0;
        close(pair[0]);
        return -1;
    }
    fcntl(pair[0], F_SETFL, O_NONBLOCK);
    w->fd = pair[0];
    w->length = 0;
    w->closing = false;
    return 0;
}

/* ---- jobs ---- */

static void finish(struct worker *w, struct iw_result *result)
{
    struct iw_pool *pool = w->parent->pool;
    w->busy = false;
    iw_haste_tried(&w->parent->haste, w->trial);
    w->trial = 0;
    if (result->verdict != IW_VERDICT_SKIP) {
        if (result->heard)
            pool->silent = 0;
        else if (result->verdict != IW_VERDICT_PASS)
            pool->silent++;
    }
    result->id = iw_text_copy(w->job.c->id);
    result->role = w->job.c->role;
    pool->done(pool->context, w->number, &w->job, result);
}

/* With a verdict of our own; takes over `reason`. */
static void finish_with(struct worker *w, enum iw_verdict verdict, char *reason)
{
    struct iw_result result = {.verdict = verdict, .reason = reason};
    if (verdict == IW_VERDICT_ERROR)
        result.where = iw_text_format("%s:%d", w->job.c->file, w->job.c->line);
    result.seconds = (double)(iw_transport_now() - w->clock.began) / 1e9;
    finish(w, &result);
}

static void send_job(struct worker *w)
{
    const struct iw_pool *pool = w->parent->pool;
    struct iw_order order = {.c = w->job.c, .round = w->job.round, .patience = w->patience};
    snprintf(order.option, sizeof(order.option), "%s", w->job.option != NULL ? w->job.option : "");
    give_time(w, iw_pool_case_seconds(pool, w->job.c));
    /* One order at a time always fits into the socket's buffer; a dead worker is seen when its
     * answer is read. */
    (void)!send(w->fd, &order, sizeof(order), MSG_NOSIGNAL);
}

/* Why no case is played any more; NULL if the next one is. The caller frees it. */
static char *given_up(const struct iw_pool *pool)
{
    if (pool->no_mpa != NULL)
        return iw_text_format(IW_NO_MPA "%s", pool->no_mpa);
    if (pool->unreached >= IW_POOL_ATTEMPTS)
        return iw_text_format(IW_UNREACHED "%s", pool->why_not);
    if (pool->patience && pool->silent >= pool->patience)
        return iw_text_format(IW_SILENT "%u cases in a row had no answer of any kind",
                              pool->patience);
    return NULL;
}

static void judge_later(struct worker *w, struct iw_result *result, iw_haste_trial trial)
{
    w->later = iw_got(realloc(w->later, (w->n_later + 1) * sizeof(*w->later)));
    w->later[w->n_later++] = (struct later){.job = w->job, .result = *result, .trial = trial};
    w->busy = false;
}

/* Finishes an idle worker's jobs that stand, now that a trial has ended. Returns whether one of
 * them is played again, which is its job now. */
static bool judge_now(struct worker *w)
{
    struct iw_haste *haste = &w->parent->haste;
    for (size_t i = 0; i < w->n_later;) {
        struct later *l = &w->later[i];
        enum iw_haste_verdict verdict = IW_HASTE_LATER;
        if (!iw_haste_trying(haste, l->trial))
            verdict = iw_haste_judge_later(haste, &l->result, &l->trial);
        if (verdict == IW_HASTE_LATER) {
            i++;
            continue;
        }
        struct later now = *l;
        memmove(l, l + 1, (--w->n_later - i) * sizeof(*l));
        w->job = now.job;
        if (verdict == IW_HASTE_AGAIN) {
            iw_result_free(&now.result);
            w->trial = now.trial;
            return true;
        }
        finish(w, &now.result);
    }
    return false;
}

/* Gives work to an idle worker, or has it end. 0, or -1 if no process can be made. */
static int feed(struct worker *w)
{
    struct iw_pool *pool = w->parent->pool;
    while (!w->busy) {
        bool again = judge_now(w);
        if (!again && !pool->next(pool->context, w->number, &w->job)) {
            if (w->n_later > 0)
                return 0;
            if (w->pid > 0 && !w->closing) {
                w->closing = true;
                give_time(w, iw_pool_close_seconds(pool));
                shutdown(w->fd, SHUT_WR);
            }
            return 0;
        }
        w->busy = true;
        w->clock.began = iw_transport_now();
        char *why = given_up(pool);
        if (why != NULL)
            finish_with(w, IW_VERDICT_INCONCLUSIVE, why);
        else if (w->pid == 0 && start_worker(w))
            return -1;
        else {
            w->patience =
                pool->hasty && !again ? iw_haste_patience(&w->parent->haste, pool->options) : 0;
            send_job(w);
        }
    }
    return 0;
}

/* ---- answers ---- */

static void take_reached(struct iw_pool *pool, const json_t *object)
{
    const char *version = json_string_value(json_object_get(object, "version"));
    const char *why = json_string_value(json_object_get(object, "why"));
    if (json_is_true(json_object_get(object, "reached"))) {
        pool->reached = true;
        pool->unreached = 0;
        if (version != NULL && pool->version == NULL)
            pool->version = iw_text_copy(version);
        iw_device_add_json(&pool->device, json_object_get(object, "device"));
        return;
    }
    pool->unreached++;
    snprintf(pool->why_not, sizeof(pool->why_not), "%s", why != NULL ? why : "unknown");
}

static void take_charge(struct iw_pool *pool, const json_t *charge)
{
    const char *id = json_string_value(json_object_get(charge, "id"));
    struct iw_result result;
    if (id != NULL && iw_result_from_json(json_object_get(charge, "result"), &result))
        pool->charge(pool->context, id, &result);
}

static double number_of(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

/* A case that was too hasty is played again. */
static void take_result(struct worker *w, const json_t *object)
{
    struct iw_pool *pool = w->parent->pool;
    struct iw_result result;
    if (!w->busy || !iw_result_from_json(json_object_get(object, "result"), &result))
        return;
    result.waited = number_of(object, "waited");
    result.slowest = number_of(object, "slowest");
    iw_haste_trial trial = 0;
    enum iw_haste_verdict verdict = IW_HASTE_STANDS;
    if (pool->hasty)
        verdict = iw_haste_judge(&w->parent->haste, pool->options, w->patience, &result, &trial);
    if (verdict == IW_HASTE_STANDS) {
        finish(w, &result);
        return;
    }
    if (verdict == IW_HASTE_LATER) {
        judge_later(w, &result, trial);
        return;
    }
    iw_result_free(&result);
    w->trial = trial;
    w->patience = 0;
    send_job(w);
}

static void take_line(struct worker *w, const char *line)
{
    struct iw_pool *pool = w->parent->pool;
    json_t *object = iw_got(json_loads(line, 0, NULL));
    const char *trouble = json_string_value(json_object_get(object, "trouble"));
    const json_t *group = json_object_get(object, "group");
    const json_t *more = json_object_get(object, "more");
    if (more != NULL)
        give_time(w, json_number_value(more));
    if (pool->charge != NULL)
        take_charge(pool, json_object_get(object, "charge"));
    if (group != NULL)
        w->group = (pid_t)json_integer_value(group);
    if (trouble != NULL)
        pool->trouble(pool->context, trouble);
    if (json_object_get(object, "reached") != NULL)
        take_reached(pool, object);
    take_result(w, object);
    json_decref(object);
}

/* Reads what there is. False at the worker's end. */
static bool hear(struct worker *w)
{
    if (w->length >= ANSWER)
        return false;
    w->answer = iw_got(realloc(w->answer, w->length + BLOCK + 1));
    ssize_t got = read(w->fd, w->answer + w->length, BLOCK);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (got <= 0)
        return false;
    w->length += (size_t)got;
    w->answer[w->length] = 0;
    char *newline;
    while (((newline = memchr(w->answer, '\n', w->length)) != NULL)) {
        *newline++ = 0;
        take_line(w, w->answer);
        w->length -= (size_t)(newline - w->answer);
        memmove(w->answer, newline, w->length + 1);
    }
    return true;
}

/* Takes a worker's end, and ends what it has left behind. Returns how it ended, for the caller to
 * free. */
static char *bury(struct worker *w, bool kill_it)
{
    int status = 0;
    if (kill_it)
        kill(w->pid, SIGKILL);
    TEMP_FAILURE_RETRY(waitpid(w->pid, &status, 0));
    while (hear(w)) /* its last words, up to the end of the stream */
        ;
    if (w->group > 0)
        kill(-w->group, SIGKILL);
    close(w->fd);
    w->pid = 0;
    w->group = 0;
    return WIFSIGNALED(status)
               ? iw_text_format("the worker was killed by signal %d (%s)", WTERMSIG(status),
                                strsignal(WTERMSIG(status)))
               : iw_text_format("the worker ended with status %d", WEXITSTATUS(status));
}

/* `why` it is killed, which this takes over; NULL: it has ended by itself. */
static void lose(struct worker *w, char *why)
{
    char *how = bury(w, why != NULL);
    if (w->busy)
        finish_with(w, IW_VERDICT_ERROR, iw_text_copy(why != NULL ? why : how));
    free(how);
    free(why);
}

/* ---- the loop ---- */

/* Returns whether its deadline counts. */
static bool timed(const struct worker *w)
{
    return w->pid > 0 && (w->busy || w->closing);
}

static int wait_ms(const struct parent *p)
{
    uint64_t now = iw_transport_now(), first = UINT64_MAX;
    for (unsigned i = 0; i < p->pool->workers; i++)
        if (timed(&p->workers[i]) && p->workers[i].clock.deadline < first)
            first = p->workers[i].clock.deadline;
    if (first == UINT64_MAX)
        return -1;
    return first <= now ? 0 : (int)((first - now) / MS + 1);
}

static bool is_live(const struct iw_pool *pool)
{
    return pool->live != NULL && !*pool->live_error;
}

static void pump(struct iw_pool *pool)
{
    if (is_live(pool))
        iw_live_pump(pool->live, pool->live_error);
}

/* One turn: waits for something to happen and takes it. */
static void turn(struct parent *p)
{
    struct iw_pool *pool = p->pool;
    unsigned n = pool->workers;
    struct pollfd fds[WORKERS + 2];
    for (unsigned i = 0; i < n; i++)
        fds[i] = (struct pollfd){.fd = p->workers[i].pid ? p->workers[i].fd : -1, .events = POLLIN};
    fds[n] = (struct pollfd){.fd = p->signals, .events = POLLIN};
    fds[n + 1] =
        (struct pollfd){.fd = is_live(pool) ? iw_live_fd(pool->live) : -1, .events = POLLIN};
    if (poll(fds, n + 2, wait_ms(p)) < 0)
        return;
    if (fds[n].revents) {
        struct signalfd_siginfo info;
        if (read(p->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
            pool->interrupted = (int)info.ssi_signo;
        return;
    }
    if (fds[n + 1].revents)
        pump(pool);
    for (unsigned i = 0; i < n; i++) {
        struct worker *w = &p->workers[i];
        double seconds = (double)(iw_transport_now() - w->clock.began) / 1e9;
        if (fds[i].revents && !hear(w))
            lose(w, w->length < ANSWER ? NULL
                                       : iw_text_format("an answer of more than %d octets: the "
                                                        "worker was killed",
                                                        ANSWER));
        else if (timed(w) && !iw_pool_clock_prolong(&w->clock, iw_pool_still_seconds(pool),
                                                    iw_transport_now(), processor_time(w)))
            lose(w, iw_text_format("no result after %.1f s: the worker was killed", seconds));
    }
}

/* 0 when all is done or a signal has come; -1 with errno. */
static int loop(struct parent *p)
{
    bool alive = true;
    while (alive && !p->pool->interrupted) {
        alive = false;
        for (unsigned i = 0; i < p->pool->workers; i++) {
            if (feed(&p->workers[i]))
                return -1;
            alive = alive || p->workers[i].pid > 0;
        }
        if (alive)
            turn(p);
    }
    pump(p->pool);
    return 0;
}

int iw_pool_run(struct iw_pool *pool, char *error, size_t room)
{
    struct parent p = {.pool = pool};
    sigset_t caught;
    if (pool->workers > WORKERS)
        pool->workers = WORKERS;
    p.workers = iw_got(calloc(pool->workers, sizeof(*p.workers)));
    for (unsigned i = 0; i < pool->workers; i++)
        p.workers[i] = (struct worker){.parent = &p, .number = i};
    sigemptyset(&caught);
    sigaddset(&caught, SIGINT);
    sigaddset(&caught, SIGTERM);
    sigaddset(&caught, SIGHUP);
    sigprocmask(SIG_BLOCK, &caught, &p.before);
    p.signals = signalfd(-1, &caught, SFD_CLOEXEC | SFD_NONBLOCK);
    int status = p.signals < 0 ? -1 : loop(&p);
    if (status)
        snprintf(error, room, "cannot start a worker: %s", strerror(errno));
    for (unsigned i = 0; i < pool->workers; i++) {
        if (p.workers[i].pid > 0)
            free(bury(&p.workers[i], true));
        free(p.workers[i].answer);
        for (size_t k = 0; k < p.workers[i].n_later; k++)
            iw_result_free(&p.workers[i].later[k].result);
        free(p.workers[i].later);
    }
    free(p.workers);
    iw_haste_free(&p.haste);
    if (p.signals >= 0)
        close(p.signals);
    sigprocmask(SIG_SETMASK, &p.before, NULL);
    return status;
}

static void ignore_trouble(void *context, const char *line)
{
    (void)context;
    (void)line;
}

int iw_pool_run_before(struct iw_pool *pool, struct iw_pool *first, char *error, size_t room)
{
    struct iw_run_options options = *pool->options;
    options.pcap_dir = NULL;
    options.exchange = false;
    options.trace = NULL;
    first->options = &options;
    if (first->workers == 0 || first->workers > pool->workers)
        first->workers = 1;
    first->log_dir = pool->log_dir;
    first->play = pool->play;
    first->trouble = ignore_trouble;
    int status = iw_pool_run(first, error, room);
    pool->interrupted = first->interrupted;
    free(first->version);
    first->version = NULL;
    iw_device_add(&pool->device, &first->device);
    iw_device_free(&first->device);
    first->options = NULL;
    return status;
}
