/* SPDX-License-Identifier: BSD-3-Clause */
/* How the library starts: its thread, what it needs of the system and what is left without that;
 * and what the program's threads keep of their own while it works. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_user_cm.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the system, as a test wants it; the library's, too: this program's comes first ---- */

static int policy = SCHED_OTHER, priority, thread_result = -1; /* -1: as the system has it */
static bool no_priority;
static unsigned refused_events; /* bits: which eventfd of a series fails */
static unsigned events_made;
static bool no_epoll, no_watch;
static atomic_uint yields;

static struct {
    unsigned calls;
    bool plain[4]; /* without attributes */
    int policy, priority, inherits;
    sigset_t blocked;
} made;

int sched_getscheduler(pid_t process)
{
    assert_int_equal(process, 0);
    return policy;
}

int sched_getparam(pid_t process, struct sched_param *param)
{
    assert_int_equal(process, 0);
    param->sched_priority = priority;
    return no_priority ? -1 : 0;
}

int sched_yield(void)
{
    atomic_fetch_add(&yields, 1);
    return (int)syscall(SYS_sched_yield);
}

/* A sanitizer has to see the threads that are made. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                               \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { SEES_THREADS = 0 };
#else
enum { SEES_THREADS = 1 };

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                   void *context)
{
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    struct sched_param param;
    void *found = dlsym(RTLD_NEXT, "pthread_create");
    memcpy(&real, &found, sizeof(found));
    if (thread_result < 0)
        return real(thread, attr, run, context);
    made.plain[made.calls++ % 4] = attr == NULL;
    pthread_sigmask(SIG_SETMASK, NULL, &made.blocked);
    if (attr != NULL) {
        pthread_attr_getschedpolicy(attr, &made.policy);
        pthread_attr_getschedparam(attr, &param);
        pthread_attr_getinheritsched(attr, &made.inherits);
        made.priority = param.sched_priority;
    }
    return thread_result;
}
#endif

int eventfd(unsigned count, int flags)
{
    if ((refused_events >> events_made++ & 1) == 0)
        return (int)syscall(SYS_eventfd2, count, flags);
    errno = EMFILE;
    return -1;
}

int epoll_create1(int flags)
{
    if (!no_epoll)
        return (int)syscall(SYS_epoll_create1, flags);
    errno = EMFILE;
    return -1;
}

int epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
    if (!no_watch || operation != EPOLL_CTL_ADD)
        return (int)syscall(SYS_epoll_ctl, epoll, operation, fd, event);
    errno = ENOSPC;
    return -1;
}

static unsigned count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    unsigned count = 0;
    assert_non_null(folder);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

static struct ibv_context *open_it(void)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_context *context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    return context;
}

/* The device cannot be opened, for this reason, and nothing is left of the attempt. */
static void expect_no_start(int error)
{
    const unsigned before = count_descriptors();
    sigset_t old, now;
    pthread_sigmask(SIG_SETMASK, NULL, &old);
    memset(&made, 0, sizeof(made));
    events_made = 0;
    errno = 0;
    assert_null(open_it());
    assert_int_equal(errno, error);
    assert_int_equal(count_descriptors(), before);
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    for (int signal = 1; signal <= SIGRTMAX; signal++)
        assert_int_equal(sigismember(&now, signal), sigismember(&old, signal));
}

/* ---- before it has started ---- */

/* One of a real-time policy comes before the program's threads, if the system lets it. */
static void the_threads_priority(void **state)
{
    static const struct {
        int policy, priority, result, calls, expected;
    } rows[] = {
        {SCHED_FIFO, 3, EPERM, 2, 4},   {SCHED_FIFO, 98, EPERM, 2, 99},
        {SCHED_FIFO, 99, EPERM, 2, 99}, {SCHED_RR, 1, EPERM, 2, 2},
        {SCHED_RR, 1, EAGAIN, 1, 2},    {SCHED_FIFO, 1, ENOMEM, 1, 2},
    };
    (void)state;
    if (SEES_THREADS == 0)
        skip();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        policy = rows[i].policy;
        priority = rows[i].priority;
        thread_result = rows[i].result;
        expect_no_start(ENOMEM);
        assert_int_equal(made.calls, rows[i].calls);
        assert_false(made.plain[0]);
        assert_int_equal(made.policy, rows[i].policy);
        assert_int_equal(made.priority, rows[i].expected);
        assert_int_equal(made.inherits, PTHREAD_EXPLICIT_SCHED);
        if (rows[i].calls == 2)
            assert_true(made.plain[1]); /* else as its maker is */
    }
}

static void a_thread_like_any_other(void **state)
{
    static const int policies[] = {SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, -1, SCHED_FIFO};
    (void)state;
    if (SEES_THREADS == 0)
        skip();
    thread_result = EAGAIN;
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
        policy = policies[i];
        no_priority = policy == SCHED_FIFO; /* which cannot be asked for */
        expect_no_start(ENOMEM);
        assert_int_equal(made.calls, 1);
        assert_true(made.plain[0]);
    }
    no_priority = false;
    policy = SCHED_OTHER;
}

/* Signals are the program's. */
static void the_thread_takes_no_signal(void **state)
{
    (void)state;
    if (SEES_THREADS == 0)
        skip();
    thread_result = EAGAIN;
    expect_no_start(ENOMEM);
    for (int signal = 1; signal <= SIGRTMAX; signal++) {
        const bool always = signal == SIGKILL || signal == SIGSTOP;
        const bool of_the_c_library = signal > 31 && signal < SIGRTMIN;
        if (!always && !of_the_c_library)
            assert_int_equal(sigismember(&made.blocked, signal), 1);
    }
    thread_result = -1;
}

static void what_it_needs_of_the_system(void **state)
{
    (void)state;
    no_epoll = true;
    expect_no_start(ENOMEM);
    no_epoll = false;
    no_watch = true;
    expect_no_start(ENOMEM);
    no_watch = false;
    /* Two of the context, then two of the library. */
    refused_events = 1;
    expect_no_start(EMFILE);
    refused_events = 2;
    expect_no_start(EMFILE);
    refused_events = 3;
    expect_no_start(EMFILE);
    refused_events = 4;
    expect_no_start(ENOMEM);
    refused_events = 8;
    expect_no_start(ENOMEM);
    refused_events = 12;
    expect_no_start(ENOMEM);
    assert_int_equal(events_made, 4);
    refused_events = 0;
}

/* ---- what it says when it starts, in a child of its own ---- */

/* Opens the device there with these settings. Returns what was printed. */
static const char *printed(const char *settings, const char *trace, const char *folder, pid_t *pid)
{
    static char text[1024];
    int ends[2], status;
    size_t length = 0;
    ssize_t n;
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        setenv("IWARP_VERBS", settings, 1);
        if (trace != NULL)
            setenv("IWARP_RUN_TRACE", trace, 1);
        if (folder != NULL)
            setenv("IWARP_RUN_FOLDER", folder, 1);
        _exit(open_it() != NULL ? 0 : 1);
    }
    close(ends[1]);
    while ((n = read(ends[0], text + length, sizeof(text) - 1 - length)) > 0)
        length += (size_t)n;
    text[length] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    *pid = child;
    return text;
}

static void files_that_cannot_be_written(void **state)
{
    static const char nowhere[] = "/proc/self/no-such-folder";
    char expected[256];
    pid_t child;
    (void)state;
    assert_string_equal(printed("", NULL, NULL, &child), "");
    assert_string_equal(printed("", "/proc/self/no-such-folder/trace", NULL, &child),
                        "iwarp-run: no trace: cannot write /proc/self/no-such-folder/trace: "
                        "No such file or directory\n");
    assert_string_equal(printed("judge=off", NULL, nowhere, &child), "");
    assert_string_equal(printed("judge=on", NULL, NULL, &child), "");
    const char *text = printed("judge=on", NULL, nowhere, &child);
    snprintf(expected, sizeof(expected),
             "iwarp-run: process %ld is not judged: cannot write to %s: "
             "No such file or directory\n",
             (long)child, nowhere);
    assert_string_equal(text, expected);
}

/* ---- when it has started ---- */

static struct ibv_context *context;
static struct ibv_cq *cq;

static int start(void **state)
{
    (void)state;
    policy = SCHED_OTHER;
    thread_result = -1;
    context = open_it();
    cq = context != NULL ? ibv_create_cq(context, 4, NULL, NULL, 0) : NULL;
    return cq != NULL ? 0 : -1;
}

static int stop(void **state)
{
    (void)state;
    policy = SCHED_OTHER;
    return ibv_destroy_cq(cq) == 0 && ibv_close_device(context) == 0 ? 0 : -1;
}

/* The ways to find nothing. */
enum way { POLL_CQ, START_POLL, CQ_EVENT, DEVICE_EVENT, POLL, WAYS };

static struct ibv_cq_ex *cq_ex;
static struct ibv_comp_channel *channel;
static int device;

static bool finds_nothing(enum way way)
{
    struct ibv_poll_cq_attr attr = {.comp_mask = 0};
    struct rdma_ucm_event_resp event;
    const struct {
        struct rdma_ucm_cmd_hdr header;
        struct rdma_ucm_get_event body;
    } get = {{RDMA_USER_CM_CMD_GET_EVENT, sizeof(get.body), sizeof(event)}, {(uintptr_t)&event}};
    struct pollfd fd = {.fd = device, .events = POLLIN};
    struct ibv_cq *from;
    struct ibv_wc wc;
    void *its;
    switch (way) {
    case POLL_CQ:
        return ibv_poll_cq(cq, 1, &wc) == 0;
    case START_POLL:
        return ibv_start_poll(cq_ex, &attr) == ENOENT;
    case CQ_EVENT:
        return ibv_get_cq_event(channel, &from, &its) == -1 && errno == EAGAIN;
    case DEVICE_EVENT:
        return write(device, &get, sizeof(get)) == -1 && errno == EAGAIN;
    default:
        return poll(&fd, 1, 0) == 0;
    }
}

struct looker {
    enum way way;
    unsigned times;
};

static void *look(void *looker)
{
    const struct looker *l = looker;
    for (unsigned i = 0; i < l->times; i++)
        if (!finds_nothing(l->way))
            return cq;
    return NULL;
}

/* Looks for what is not there, in a thread of its own. Returns how often that has given the
 * processor away. */
static unsigned yields_of(enum way way, unsigned times)
{
    struct looker l = {way, times};
    pthread_t thread;
    void *result = cq;
    atomic_store(&yields, 0);
    assert_int_equal(pthread_create(&thread, NULL, look, &l), 0);
    pthread_join(thread, &result);
    assert_null(result);
    return atomic_load(&yields);
}

static void who_looks_in_vain_lets_others_run(void **state)
{
    struct ibv_cq_init_attr_ex attr = {.cqe = 4};
    (void)state;
    cq_ex = ibv_create_cq_ex(context, &attr);
    channel = ibv_create_comp_channel(context);
    device = open("/dev/infiniband/rdma_cm", O_RDWR | O_NONBLOCK);
    assert_true(cq_ex != NULL && channel != NULL && device >= 0);
    assert_int_equal(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
    for (enum way way = POLL_CQ; way < WAYS; way++) {
        policy = SCHED_OTHER;
        assert_int_equal(yields_of(way, 640), 0);
        policy = SCHED_FIFO;
        assert_int_equal(yields_of(way, 63), 0);
        assert_int_equal(yields_of(way, 64), 1);
        assert_int_equal(yields_of(way, 127), 1);
        assert_int_equal(yields_of(way, 640), 10);
        policy = SCHED_RR;
        assert_int_equal(yields_of(way, 128), 2);
        policy = SCHED_OTHER;
    }
    assert_int_equal(close(device), 0);
    assert_int_equal(ibv_destroy_comp_channel(channel), 0);
    assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq_ex)), 0);
}

/* Who finds something has no reason to. */
static void who_finds_something_goes_on(void **state)
{
    struct ibv_pd *pd = ibv_alloc_pd(context);
    struct ibv_qp_init_attr init = {
        .send_cq = cq, .recv_cq = cq, .cap = {.max_recv_wr = 1}, .qp_type = IBV_QPT_RC};
    struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
    struct ibv_qp *qp = ibv_create_qp(pd, &init);
    (void)state;
    assert_int_equal(ibv_modify_qp(qp, &error, IBV_QP_STATE), 0);
    policy = SCHED_FIFO;
    atomic_store(&yields, 0);
    for (unsigned i = 0; i < 200; i++) {
        struct ibv_recv_wr wr = {.wr_id = i}, *bad;
        struct ibv_wc wc;
        assert_int_equal(ibv_post_recv(qp, &wr, &bad), 0);
        assert_int_equal(ibv_poll_cq(cq, 1, &wc), 1);
        assert_int_equal(wc.wr_id, i);
    }
    assert_int_equal(atomic_load(&yields), 0);
    policy = SCHED_OTHER;
    assert_int_equal(ibv_destroy_qp(qp), 0);
    assert_int_equal(ibv_dealloc_pd(pd), 0);
}

/* A thread can be cancelled after a call as before it. */
static void whether_a_thread_can_be_cancelled(void **state)
{
    struct ibv_wc wc;
    int before;
    (void)state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    assert_int_equal(ibv_poll_cq(cq, 1, &wc), 0);
    assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
    assert_int_equal(before, PTHREAD_CANCEL_DISABLE);
    assert_int_equal(ibv_poll_cq(cq, 1, &wc), 0);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
    assert_int_equal(before, PTHREAD_CANCEL_ENABLE);
}

/* The library has one thread, its file descriptors end with exec, and a second context shares it.
 */
static void one_engine_for_all(void **state)
{
    (void)state;
    const unsigned before = count_descriptors();
    memset(&made, 0, sizeof(made));
    thread_result = EAGAIN; /* were it to make another one */
    struct ibv_context *second = open_it();
    thread_result = -1;
    assert_non_null(second);
    assert_int_equal(made.calls, 0);
    assert_int_equal(count_descriptors(), before + 2);
    assert_int_equal(second->num_comp_vectors, 1);
    assert_int_equal(fcntl(second->async_fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(fcntl(second->cmd_fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(fcntl(second->async_fd, F_GETFL) & O_NONBLOCK, 0);
    assert_int_equal(ibv_close_device(second), 0);
    assert_int_equal(count_descriptors(), before);
    for (int fd = 3; fd < 64; fd++) {
        char path[64], name[64];
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        const ssize_t n = readlink(path, name, sizeof(name) - 1);
        name[n > 0 ? n : 0] = '\0';
        if (strstr(name, "eventfd") != NULL || strstr(name, "eventpoll") != NULL)
            assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_that_cannot_be_written), /* settings are read once */
        cmocka_unit_test(the_threads_priority),
        cmocka_unit_test(a_thread_like_any_other),
        cmocka_unit_test(the_thread_takes_no_signal),
        cmocka_unit_test(what_it_needs_of_the_system),
        cmocka_unit_test_setup_teardown(who_looks_in_vain_lets_others_run, start, stop),
        cmocka_unit_test_setup_teardown(who_finds_something_goes_on, start, stop),
        cmocka_unit_test_setup_teardown(whether_a_thread_can_be_cancelled, start, stop),
        cmocka_unit_test_setup_teardown(one_engine_for_all, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
