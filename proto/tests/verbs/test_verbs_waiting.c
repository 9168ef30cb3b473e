/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that wait, on one processor and with a real-time policy: no wake-up is lost, nobody keeps
 * the other from running, and nobody wakes up for nothing. */
#include "verbs_world.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 1000 };

/* There if the program has been built with ThreadSanitizer, which has a thread of its own. */
extern void __tsan_init(void) __attribute__((weak));

/* Whether a thread that runs may wait for one that does not: valgrind and ThreadSanitizer have
 * locks of their own. */
static bool serializes_threads(void)
{
    const char *preloaded = getenv("LD_PRELOAD");
    return __tsan_init != NULL || (preloaded != NULL && strstr(preloaded, "vgpreload") != NULL);
}

/* How a player waits for its next message. */
enum way { BY_EVENT, BY_POLL, BY_ASKING };

struct player {
    struct side *side;
    enum way way;
    bool begins;
    atomic_int thread;
    atomic_uint received;
};

static struct ibv_wc await(struct player *p)
{
    struct ibv_wc wc;
    struct ibv_cq *cq;
    void *its;
    struct pollfd fd = {.fd = p->side->channel->fd, .events = POLLIN};
    while (ibv_poll_cq(p->side->cq, 1, &wc) == 0) {
        if (p->way == BY_ASKING)
            continue;
        assert_int_equal(ibv_req_notify_cq(p->side->cq, 0), 0);
        if (ibv_poll_cq(p->side->cq, 1, &wc) != 0)
            break;
        if (p->way == BY_POLL)
            assert_int_equal(poll(&fd, 1, -1), 1);
        assert_int_equal(ibv_get_cq_event(p->side->channel, &cq, &its), 0);
        ibv_ack_cq_events(cq, 1);
    }
    assert_int_equal(wc.status, IBV_WC_SUCCESS);
    return wc;
}

static void serve(struct player *p)
{
    struct ibv_sge sge = sge_of(p->side, 0, 8);
    struct ibv_send_wr wr = request(IBV_WR_SEND, &sge, NULL, 0);
    wr.send_flags = 0;
    post_recv(p->side, 70, 64, 8);
    assert_int_equal(post(p->side, &wr), 0);
}

static void *play(void *context)
{
    struct player *p = context;
    atomic_store(&p->thread, (int)syscall(SYS_gettid));
    if (p->begins)
        serve(p);
    while (atomic_load(&p->received) < ROUNDS) {
        assert_int_equal(await(p).wr_id, 70);
        if (atomic_fetch_add(&p->received, 1) + 1 < ROUNDS || !p->begins)
            serve(p);
    }
    return NULL;
}

static int set_up_channels(void **state)
{
    struct world *w = make_world(state);
    w->channels = true;
    return connect_world(w, false);
}

/* Keeps this thread, and those that it makes, on one processor. */
static void one_processor(bool one)
{
    static cpu_set_t before;
    cpu_set_t only;
    if (!one) {
        assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
        return;
    }
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    CPU_ZERO(&only);
    CPU_SET((size_t)sched_getcpu(), &only);
    assert_int_equal(sched_setaffinity(0, sizeof(only), &only), 0);
}

/* Has both sides play against each other on one processor. */
static void match(struct world *w, enum way a, enum way b, const pthread_attr_t *attr)
{
    struct player players[2] = {{.side = &w->a, .way = a, .begins = true},
                                {.side = &w->b, .way = b}};
    pthread_t threads[2];
    one_processor(true);
    post_recv(&w->b, 70, 64, 8); /* before the first message comes */
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], attr, play, &players[i]), 0);
    for (unsigned i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    one_processor(false);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(atomic_load(&players[i].received), ROUNDS);
}

static void one_processor_is_enough(void **state)
{
    match(*state, BY_EVENT, BY_EVENT, NULL);
}

static void one_processor_is_enough_for_poll(void **state)
{
    match(*state, BY_POLL, BY_EVENT, NULL);
}

/* What threads of a first-in, first-out policy are made with. Returns false if this process may
 * make none. */
static bool make_real_time(pthread_attr_t *attr, int priority)
{
    const struct sched_param param = {.sched_priority = priority};
    struct player none = {.received = ROUNDS};
    pthread_t probe;
    pthread_attr_init(attr);
    pthread_attr_setinheritsched(attr, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(attr, SCHED_FIFO);
    pthread_attr_setschedparam(attr, &param);
    if (pthread_create(&probe, attr, play, &none) != 0)
        return false;
    pthread_join(probe, NULL);
    return true;
}

/* Of that policy, a thread that polls runs until it gives the processor away. */
static void who_polls_lets_its_peer_run(void **state)
{
    pthread_attr_t attr;
    if (!make_real_time(&attr, 1))
        skip();
    match(*state, BY_ASKING, BY_ASKING, &attr);
    match(*state, BY_ASKING, BY_EVENT, &attr);
    match(*state, BY_EVENT, BY_POLL, &attr);
    pthread_attr_destroy(&attr);
}

enum { LOW, MIDDLE, HIGH, LEVELS };

struct levels {
    struct ibv_cq *cq;
    atomic_uint rounds; /* of the high one */
};

static void rest(long microseconds)
{
    const struct timespec t = {.tv_nsec = microseconds * 1000};
    nanosleep(&t, NULL);
}

/* Holds the library's lock most of the time. */
static void *poll_always(void *context)
{
    struct levels *l = context;
    struct ibv_wc wc;
    while (atomic_load(&l->rounds) < ROUNDS)
        assert_int_equal(ibv_poll_cq(l->cq, 1, &wc), 0);
    return NULL;
}

/* Leaves the processor only to the high one, until that has done a round. */
static void *keep_processor(void *context)
{
    struct levels *l = context;
    unsigned before;
    while ((before = atomic_load(&l->rounds)) < ROUNDS) {
        while (atomic_load(&l->rounds) == before)
            ;
        rest(50);
    }
    return NULL;
}

static void *poll_now_and_then(void *context)
{
    struct levels *l = context;
    struct ibv_wc wc;
    while (atomic_load(&l->rounds) < ROUNDS) {
        rest(100);
        assert_int_equal(ibv_poll_cq(l->cq, 1, &wc), 0);
        atomic_fetch_add(&l->rounds, 1);
    }
    return NULL;
}

/* Who waits for the lock lends its priority to who holds it: else the middle one, which needs no
 * lock, would keep both from running. */
static void priorities_are_not_turned_round(void **state)
{
    static void *(*const functions[LEVELS])(void *) = {poll_always, keep_processor,
                                                       poll_now_and_then};
    struct world *w = *state;
    struct levels l = {.cq = w->a.cq};
    pthread_attr_t attrs[LEVELS];
    pthread_t threads[LEVELS];
    if (serializes_threads())
        skip();
    for (int i = LOW; i < LEVELS; i++)
        if (!make_real_time(&attrs[i], i + 1))
            skip();
    one_processor(true);
    for (unsigned i = LOW; i < LEVELS; i++)
        assert_int_equal(pthread_create(&threads[i], &attrs[i], functions[i], &l), 0);
    for (unsigned i = LOW; i < LEVELS; i++) {
        pthread_join(threads[i], NULL);
        pthread_attr_destroy(&attrs[i]);
    }
    one_processor(false);
}

/* In a child: a Write comes to memory that its program watches with a real-time policy. */
static int watch_memory(void)
{
    const struct sched_param priority = {.sched_priority = 1};
    void *state;
    (void)alarm(60); /* a guard: nobody else could end it */
    one_processor(true);
    if (sched_setscheduler(0, SCHED_FIFO, &priority) != 0)
        return 1;
    if (set_up_channels(&state) != 0)
        return 2;
    struct world *w = state;
    struct ibv_sge sge = sge_of(&w->a, 0, 8);
    struct ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &sge, &w->b, 64);
    w->a.memory[0] = 0x1234;
    if (post(&w->a, &wr) != 0)
        return 3;
    while (*(volatile uint64_t *)&w->b.memory[8] != 0x1234)
        ;
    return 0;
}

/* A child has an engine of its own, which it starts with its own policy. */
static void who_watches_memory_lets_the_library_run(void **state)
{
    int status;
    (void)state;
    if (serializes_threads())
        skip();
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(watch_memory());
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
        skip();
    assert_int_equal(status, 0);
}

/* What the threads but this one have done so far. */
struct done {
    unsigned long waits;
    unsigned long long ran; /* ns */
};

static struct done count(void)
{
    struct done all = {0};
    DIR *folder = opendir("/proc/self/task");
    assert_non_null(folder);
    for (const struct dirent *e; (e = readdir(folder)) != NULL;) {
        char path[300], line[200];
        unsigned long waits;
        unsigned long long ran;
        if (e->d_name[0] == '.' || atoi(e->d_name) == (int)syscall(SYS_gettid))
            continue;
        snprintf(path, sizeof(path), "/proc/self/task/%s/status", e->d_name);
        FILE *f = fopen(path, "r");
        assert_non_null(f);
        while (fgets(line, sizeof(line), f) != NULL)
            if (sscanf(line, "voluntary_ctxt_switches: %lu", &waits) == 1)
                all.waits += waits;
        fclose(f);
        snprintf(path, sizeof(path), "/proc/self/task/%s/schedstat", e->d_name);
        f = fopen(path, "r");
        if (f != NULL && fscanf(f, "%llu", &ran) == 1)
            all.ran += ran;
        if (f != NULL)
            fclose(f);
    }
    closedir(folder);
    return all;
}

/* Waits until nobody but this thread has run for a while, however busy the machine is. Fails if
 * somebody always does. */
static void expect_rest(void)
{
    struct done before, after = count();
    unsigned tries = 0;
    do {
        before = after;
        usleep(200000);
        after = count();
    } while ((after.waits != before.waits || after.ran != before.ran) && ++tries < 50);
    assert_int_equal(after.waits, before.waits);
    assert_int_equal(after.ran, before.ran);
}

/* Returns whether a thread sleeps in ppoll(). */
static bool sleeps(int thread)
{
    char path[64], text[16] = "";
    snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", thread);
    FILE *f = fopen(path, "r");
    if (f != NULL) {
        (void)!fgets(text, sizeof(text), f);
        fclose(f);
    }
    return atoi(text) == SYS_ppoll;
}

/* A thread that waits is a point of cancellation, and gives the lead away there. */
static void waiting_can_be_cancelled(void **state)
{
    struct world *w = *state;
    pthread_t thread;
    for (enum way way = BY_EVENT; way <= BY_POLL; way++) {
        struct player player = {.side = &w->b, .way = way};
        assert_int_equal(pthread_create(&thread, NULL, play, &player), 0);
        while (atomic_load(&player.thread) == 0 || !sleeps(atomic_load(&player.thread)))
            sched_yield();
        assert_int_equal(pthread_cancel(thread), 0);
        pthread_join(thread, NULL);
        assert_int_equal(atomic_load(&player.received), 0);
        match(w, BY_EVENT, way, NULL);
    }
}

/* What its caller has to find out: the thread returns from each call. */
static void *poll_cancelled(void *context)
{
    struct player *p = context;
    struct pollfd fd = {.fd = p->side->channel->fd, .events = POLLIN};
    struct ibv_wc wc;
    pthread_cancel(pthread_self());
    assert_int_equal(ibv_poll_cq(p->side->cq, 1, &wc), 0);
    serve(p);
    atomic_fetch_add(&p->received, 1);
    (void)poll(&fd, 1, 0);
    return NULL;
}

/* The library reads and writes sockets under its lock: a thread that were cancelled there would
 * keep it for ever. */
static void who_is_cancelled_keeps_no_lock(void **state)
{
    struct world *w = *state;
    pthread_t thread;
    void *result;
    struct player player = {.side = &w->a};
    post_recv(&w->b, 70, 64, 8);
    assert_int_equal(pthread_create(&thread, NULL, poll_cancelled, &player), 0);
    pthread_join(thread, &result);
    assert_int_equal(atomic_load(&player.received), 1);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    assert_int_equal(await(&(struct player){.side = &w->b, .way = BY_EVENT}).wr_id, 70);
    match(w, BY_EVENT, BY_POLL, NULL);
}

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void expect_nothing_in(struct pollfd *fd, int ms)
{
    const uint64_t begun = now();
    assert_int_equal(poll(fd, 1, ms), 0);
    assert_true(now() - begun >= (uint64_t)ms * 1000000u);
}

/* poll() ends when its time is over and not before, with and without another thread that leads. */
static void poll_has_its_time(void **state)
{
    struct world *w = *state;
    struct player player = {.side = &w->b, .way = BY_EVENT, .received = ROUNDS - 1};
    struct pollfd fd = {.fd = w->a.channel->fd, .events = POLLIN};
    pthread_t thread;
    for (int ms = 0; ms < 3; ms++)
        expect_nothing_in(&fd, ms);
    /* Beside a peer that has a minute to say something. */
    struct sockaddr_in to = loopback(rdma_get_src_port(w->listener));
    int silent = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(silent, (struct sockaddr *)&to, sizeof(to)), 0);
    const uint64_t begun = now();
    for (int i = 0; i < 10; i++)
        expect_nothing_in(&fd, 2);
    assert_true(now() - begun < UINT64_C(30000000000));
    close(silent);
    post_recv(&w->b, 70, 64, 8);
    post_recv(&w->a, 70, 64, 8);
    assert_int_equal(pthread_create(&thread, NULL, play, &player), 0);
    for (int ms = 0; ms < 20; ms++)
        expect_nothing_in(&fd, ms);
    serve(&(struct player){.side = &w->a});
    pthread_join(thread, NULL);
}

/* Waiting is free, whoever drives: the thread of a program that waits, or the library's own. */
static void nobody_wakes_up_for_nothing(void **state)
{
    struct world *w = *state;
    struct player player = {.side = &w->b, .way = BY_EVENT, .received = ROUNDS - 21};
    struct player here = {.side = &w->a, .way = BY_ASKING};
    struct ibv_wc wc;
    pthread_t thread;
    if (__tsan_init != NULL)
        skip();
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(ibv_poll_cq(w->a.cq, 1, &wc), 0);
    expect_rest();
    post_recv(&w->b, 70, 64, 8);
    assert_int_equal(pthread_create(&thread, NULL, play, &player), 0);
    expect_rest();
    for (unsigned i = 0; i < 20; i++) {
        serve(&here);
        assert_int_equal(await(&here).wr_id, 70);
    }
    expect_rest(); /* after the lead has changed hands */
    serve(&here);
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&player.received), ROUNDS);
    expect_rest();
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up_channels, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_processor_is_enough),         TEST(one_processor_is_enough_for_poll),
        TEST(who_polls_lets_its_peer_run),     TEST(who_watches_memory_lets_the_library_run),
        TEST(priorities_are_not_turned_round), TEST(poll_has_its_time),
        TEST(waiting_can_be_cancelled),        TEST(who_is_cancelled_keeps_no_lock),
        TEST(nobody_wakes_up_for_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
