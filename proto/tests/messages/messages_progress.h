/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_MESSAGES_PROGRESS_H
#define IW_TESTS_MESSAGES_PROGRESS_H

/* message_progress.c without a device, a clock or a second thread: what it drives, poll() and the
 * conditions of pthread stand in this header. Include from one program. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "messages/message_internal.h"

enum { MS = 1000000, COMPLETIONS = 11, CHANNEL = 12, STATUS = 13 };

static struct iw_messages m;
static struct ibv_context verbs;
static struct ibv_cq cq;
static struct ibv_comp_channel completions;
static struct rdma_event_channel channel;
static bool locked;

/* ---- what stands in ---- */

static uint64_t clock_ns, clock_step; /* each look at the clock takes that long */

int clock_gettime(clockid_t clock, struct timespec *t)
{
    (void)clock;
    *t = (struct timespec){(time_t)(clock_ns / 1000000000u), (long)(clock_ns % 1000000000u)};
    clock_ns += clock_step;
    return 0;
}

static unsigned unlocks;

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (mutex == &m.mutex) {
        assert_false(locked);
        locked = true;
    }
    return 0;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    if (mutex == &m.mutex) {
        assert_true(locked);
        locked = false;
        unlocks++;
    }
    return 0;
}

static struct {
    const pthread_cond_t *on;
    struct timespec until;
    bool for_ever, deep;
    unsigned waiting, count, broadcasts, signals;
} slept;
static void (*while_asleep)(void);

static void note_sleep(const pthread_cond_t *on, bool for_ever)
{
    assert_true(locked);
    slept.on = on;
    slept.for_ever = for_ever;
    slept.deep = m.deep;
    slept.waiting = m.waiting;
    slept.count++;
    if (while_asleep != NULL)
        while_asleep();
}

int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    assert_ptr_equal(mutex, &m.mutex);
    note_sleep(condition, true);
    return 0;
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                           const struct timespec *until)
{
    assert_ptr_equal(mutex, &m.mutex);
    slept.until = *until;
    note_sleep(condition, false);
    return ETIMEDOUT;
}

int pthread_cond_broadcast(pthread_cond_t *condition)
{
    assert_ptr_equal(condition, &m.changed);
    slept.broadcasts++;
    return 0;
}

int pthread_cond_signal(pthread_cond_t *condition)
{
    assert_ptr_equal(condition, &m.background);
    slept.signals++;
    return 0;
}

static struct {
    unsigned count;
    int timeout, fds[4], result;
    short revents[4];
    bool locked, driving, by_thread;
    uint64_t sleeps;
} polled;
static void (*while_polling)(void);

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
    assert_int_equal(count, 4);
    polled.count++;
    polled.timeout = timeout;
    polled.locked = locked;
    polled.driving = m.driving;
    polled.by_thread = m.thread_drives;
    polled.sleeps = m.sleeps;
    for (nfds_t i = 0; i < count; i++) {
        assert_int_equal(fds[i].events, POLLIN);
        polled.fds[i] = fds[i].fd;
        fds[i].revents = polled.revents[i];
    }
    if (while_polling != NULL)
        while_polling();
    return polled.result;
}

static int batches[8]; /* what the queue gives, then nothing */
static unsigned batch, polls, arms, completed;
static uint64_t first_done, last_done;

static int poll_queue(struct ibv_cq *of, int most, struct ibv_wc *wc)
{
    assert_ptr_equal(of, &cq);
    assert_int_equal(most, 32);
    assert_true(locked);
    polls++;
    const int count = batch < 8 ? batches[batch++] : 0;
    for (int i = 0; i < count; i++)
        wc[i] = (struct ibv_wc){.wr_id = 100 * (uint64_t)batch + (uint64_t)i};
    return count;
}

static int arm_queue(struct ibv_cq *of, int solicited)
{
    assert_ptr_equal(of, &cq);
    assert_int_equal(solicited, 0);
    arms++;
    return 0;
}

void iw_link_complete(struct iw_messages *of, const struct ibv_wc *wc)
{
    assert_ptr_equal(of, &m);
    if (completed++ == 0)
        first_done = wc->wr_id;
    last_done = wc->wr_id;
}

static unsigned queue_events, queue_acks, link_events, answers;
static int queue_event_result;
static unsigned events_left;

int ibv_get_cq_event(struct ibv_comp_channel *of, struct ibv_cq **out, void **context)
{
    assert_ptr_equal(of, &completions);
    queue_events++;
    *out = &cq;
    *context = NULL;
    return queue_event_result;
}

void ibv_ack_cq_events(struct ibv_cq *of, unsigned count)
{
    assert_ptr_equal(of, &cq);
    queue_acks += count;
}

bool iw_link_event(struct iw_messages *of)
{
    assert_ptr_equal(of, &m);
    link_events++;
    return events_left > 0 && events_left-- > 0;
}

void iw_status_answer(struct iw_messages *of)
{
    assert_ptr_equal(of, &m);
    answers++;
}

static char ticked[16]; /* r, p, l: route, peer, link; e: reaped */
static uint64_t ticked_at;

static void note_tick(char what)
{
    assert_true(locked && strlen(ticked) < sizeof(ticked) - 1);
    ticked[strlen(ticked)] = what;
}

void iw_route_tick(struct iw_messages *of, uint64_t now)
{
    assert_ptr_equal(of, &m);
    note_tick('r');
    ticked_at = now;
}

void iw_peer_tick(struct iw_messages *of, uint64_t now)
{
    assert_ptr_equal(of, &m);
    assert_int_equal(now, ticked_at);
    note_tick('p');
}

void iw_link_tick(struct iw_messages *of, uint64_t now)
{
    assert_ptr_equal(of, &m);
    assert_int_equal(now, ticked_at);
    note_tick('l');
}

bool iw_link_reap(struct iw_messages *of, bool all)
{
    assert_ptr_equal(of, &m);
    assert_false(all);
    note_tick('e');
    return false;
}

static int begin(void **unused)
{
    (void)unused;
    memset(&m, 0, sizeof(m));
    memset(&slept, 0, sizeof(slept));
    memset(&polled, 0, sizeof(polled));
    memset(batches, 0, sizeof(batches));
    memset(ticked, 0, sizeof(ticked));
    while_asleep = while_polling = NULL;
    unlocks = batch = polls = arms = completed = 0;
    queue_events = queue_acks = link_events = answers = events_left = 0;
    queue_event_result = 0;
    clock_ns = UINT64_C(5000) * MS;
    clock_step = 0;
    verbs.ops.poll_cq = poll_queue;
    verbs.ops.req_notify_cq = arm_queue;
    cq.context = &verbs;
    completions.fd = COMPLETIONS;
    channel.fd = CHANNEL;
    m.cq = &cq;
    m.completions = &completions;
    m.channel = &channel;
    m.status = STATUS;
    m.kick = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    assert_true(m.kick >= 0);
    m.timeout = 1600 * UINT64_C(1000000);
    m.ticked = clock_ns;
    TAILQ_INIT(&m.links);
    TAILQ_INIT(&m.unrouted);
    locked = true;
    return 0;
}

static int end(void **unused)
{
    (void)unused;
    close(m.kick);
    return 0;
}

static uint64_t kicks(void)
{
    uint64_t count = 0;
    return read(m.kick, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

#define PROGRESS_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

#endif
