/* SPDX-License-Identifier: BSD-3-Clause */
/* Who drives, and for how long it sleeps. */
#include "messages_progress.h"

static void time_and_kicks(void **unused)
{
    (void)unused;
    clock_ns = UINT64_C(3000000005);
    assert_int_equal(iw_progress_now(), 3000000005);
    assert_int_equal(iw_progress_since(7, 5), 2);
    assert_int_equal(iw_progress_since(5, 7), 0);
    iw_progress_kick(&m);
    assert_int_equal(kicks(), 1);
    const uint64_t full = UINT64_MAX - 1;
    assert_int_equal(write(m.kick, &full, sizeof(full)), sizeof(full));
    iw_progress_kick(&m); /* and does not hang */
    assert_int_equal(kicks(), full);
}

/* Only who sleeps past the next two ticks is woken, and once. */
static void who_is_due(void **unused)
{
    (void)unused;
    const uint64_t near = clock_ns + 10 * MS;
    m.driving = true;
    m.sleeps = near;
    iw_progress_due(&m);
    assert_int_equal(kicks(), 0);
    assert_int_equal(m.sleeps, near);
    m.sleeps = near + 1;
    m.driving = false;
    iw_progress_due(&m);
    assert_int_equal(kicks(), 0);
    m.driving = true;
    iw_progress_due(&m);
    iw_progress_due(&m);
    assert_int_equal(kicks(), 1);
    assert_int_equal(m.sleeps, 0);
}

static void completions_are_taken(void **unused)
{
    (void)unused;
    assert_false(iw_progress_poll(&m));
    assert_int_equal(completed, 0);
    batch = 0;
    batches[0] = -1;
    assert_false(iw_progress_poll(&m));
    batch = 0;
    batches[0] = 32;
    batches[1] = 1;
    assert_true(iw_progress_poll(&m));
    assert_int_equal(completed, 33);
    assert_int_equal(first_done, 100);
    assert_int_equal(last_done, 200);
    assert_int_equal(polls, 1 + 1 + 3);
}

static void a_step(void **unused)
{
    (void)unused;
    struct iw_route first = {.retry = 7}, second = {.retry = 9};
    TAILQ_INSERT_TAIL(&m.unrouted, &first, entry);
    TAILQ_INSERT_TAIL(&m.unrouted, &second, entry);
    assert_false(iw_progress_step(&m));
    assert_int_equal(first.retry, 7);
    assert_string_equal(ticked, "");
    atomic_store(&m.resolved, true);
    assert_true(iw_progress_step(&m));
    assert_int_equal(first.retry, 0);
    assert_int_equal(second.retry, 0);
    assert_string_equal(ticked, "r");
    assert_int_equal(ticked_at, clock_ns);
    assert_false(iw_progress_step(&m)); /* the news are known */
    assert_string_equal(ticked, "r");
    m.ending = true;
    assert_true(iw_progress_step(&m));
    assert_string_equal(ticked, "re");
    m.ending = false;
    batches[batch] = 1;
    assert_true(iw_progress_step(&m));
    assert_int_equal(completed, 1);
}

/* Drives once, as a thread of the program that does not poll first; returns poll's time-out. */
static int sleeps_for(uint64_t deadline)
{
    polled.count = 0;
    iw_progress_wait(&m, deadline);
    assert_int_equal(polled.count, 1);
    assert_false(polled.locked);
    assert_true(locked);
    return polled.timeout;
}

static void how_long_it_sleeps(void **unused)
{
    (void)unused;
    const uint64_t now = clock_ns;
    static const struct {
        uint64_t ns;
        int ms;
    } rows[] = {{1, 1},
                {MS, 1},
                {MS + 1, 2},
                {1000 * MS, 1000},
                {UINT64_C(1000000) * MS, 1000000},
                {UINT64_C(1000000) * MS + 1, 1000000}};
    assert_int_equal(sleeps_for(UINT64_MAX), -1);
    assert_int_equal(polled.sleeps, UINT64_MAX);
    assert_int_equal(m.sleeps, 0);
    assert_int_equal(arms, 1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(sleeps_for(now + rows[i].ns), rows[i].ms);
        assert_int_equal(polled.sleeps, now + rows[i].ns);
    }
    polled.count = arms = 0;
    iw_progress_wait(&m, now); /* that is over */
    assert_int_equal(polled.count, 0);
    assert_int_equal(arms, 0);
    assert_int_equal(m.waits, 8);
    assert_int_equal(m.waiting, 0);
    assert_true(polled.driving);
    assert_false(m.driving || polled.by_thread);
}

/* What is owed or tried again is looked after in a tick, what has to answer in a sixteenth of the
 * time-out. */
static void why_it_wakes(void **unused)
{
    (void)unused;
    struct iw_peer peer = {.next = 1}, other = {.next = 1};
    struct iw_link link = {.state = IW_LINK_UP, .peer = &peer, .receives = IW_LINK_RECEIVES},
                   last = {.state = IW_LINK_UP, .peer = &other, .receives = IW_LINK_RECEIVES};
    struct iw_outgoing out;
    struct iw_incoming in;
    struct iw_route route;
    struct iw_peer *peers[] = {&peer, &other};
    for (int i = 0; i < 2; i++) {
        TAILQ_INIT(&peers[i]->window);
        TAILQ_INIT(&peers[i]->waiting);
        TAILQ_INIT(&peers[i]->arrivals);
    }
    TAILQ_INSERT_TAIL(&m.links, &link, entry);
    TAILQ_INSERT_TAIL(&m.links, &last, entry);
    assert_int_equal(sleeps_for(UINT64_MAX), -1);
    for (enum iw_link_state state = IW_LINK_BEGUN; state <= IW_LINK_ENDED; state++) {
        link.state = state;
        assert_int_equal(sleeps_for(UINT64_MAX), state == IW_LINK_UP ? -1 : 5);
    }
    link.state = IW_LINK_UP;
    link.peer = NULL;
    assert_int_equal(sleeps_for(UINT64_MAX), 5);
    link.peer = &peer;
    peer.owed = 1;
    assert_int_equal(sleeps_for(UINT64_MAX), 5);
    peer.owed = 0;
    link.fetches = 1;
    assert_int_equal(sleeps_for(UINT64_MAX), 100);
    assert_int_equal(sleeps_for(clock_ns + 99 * MS), 99);
    other.owed = 1; /* of the next one, what is sooner counts */
    assert_int_equal(sleeps_for(UINT64_MAX), 5);
    other.owed = 0;
    link.fetches = 0;
    link.receives--;
    assert_int_equal(sleeps_for(UINT64_MAX), 100);
    link.receives++;
    TAILQ_INSERT_TAIL(&peer.window, &out, entry);
    assert_int_equal(sleeps_for(UINT64_MAX), 100);
    TAILQ_REMOVE(&peer.window, &out, entry);
    TAILQ_INSERT_TAIL(&peer.arrivals, &in, entry);
    assert_int_equal(sleeps_for(UINT64_MAX), 100);
    TAILQ_REMOVE(&peer.arrivals, &in, entry);
    TAILQ_INSERT_TAIL(&m.unrouted, &route, entry);
    assert_int_equal(sleeps_for(UINT64_MAX), 5);
    TAILQ_REMOVE(&m.unrouted, &route, entry);
    assert_int_equal(sleeps_for(UINT64_MAX), -1);
}

/* Messages of a peer without a connection, in the first or the last list of the table. */
static void peers_without_a_link(void **unused)
{
    (void)unused;
    struct iw_link up;
    struct iw_outgoing out;
    struct iw_peer first = {.next = 1}, peer = {.next = 1};
    TAILQ_INIT(&first.window);
    TAILQ_INIT(&first.waiting);
    TAILQ_INIT(&peer.window);
    TAILQ_INIT(&peer.waiting);
    first.chain = &peer;
    for (unsigned at = 0; at < IW_TABLE; at += IW_TABLE - 1) {
        m.peers[at] = &first;
        m.peers_known = 2;
        assert_int_equal(sleeps_for(UINT64_MAX), -1);
        TAILQ_INSERT_TAIL(&peer.window, &out, entry);
        assert_int_equal(sleeps_for(UINT64_MAX), 5);
        peer.link = &up;
        assert_int_equal(sleeps_for(UINT64_MAX), -1);
        peer.link = NULL;
        TAILQ_REMOVE(&peer.window, &out, entry);
        TAILQ_INSERT_TAIL(&peer.waiting, &out, entry);
        assert_int_equal(sleeps_for(UINT64_MAX), 5);
        m.links_up = 2; /* then all have one */
        assert_int_equal(sleeps_for(UINT64_MAX), -1);
        m.links_up = 1;
        assert_int_equal(sleeps_for(UINT64_MAX), 5);
        TAILQ_REMOVE(&peer.waiting, &out, entry);
        m.links_up = 0;
        m.peers[at] = NULL;
    }
}

/* A tick is due after 5 ms; what the descriptors have comes first. */
static void a_tick(void **unused)
{
    (void)unused;
    m.ticked = clock_ns - 5 * MS + 1;
    assert_int_equal(sleeps_for(UINT64_MAX), -1);
    assert_string_equal(ticked, "");
    m.ticked--;
    iw_progress_wait(&m, UINT64_MAX);
    assert_string_equal(ticked, "rple");
    assert_int_equal(ticked_at, clock_ns);
    assert_int_equal(m.ticked, clock_ns);
    assert_int_equal(polled.count, 3); /* slept, and looked without */
    assert_int_equal(polled.timeout, 0);
    assert_true(polled.locked);
}

static void what_is_looked_at(void **unused)
{
    (void)unused;
    polled.result = 1;
    polled.revents[0] = POLLIN;
    assert_int_equal(sleeps_for(UINT64_MAX), -1);
    const int fds[] = {COMPLETIONS, CHANNEL, m.kick, STATUS};
    assert_memory_equal(polled.fds, fds, sizeof(fds));
    assert_int_equal(queue_events, 1);
    assert_int_equal(queue_acks, 1);
    queue_event_result = -1;
    sleeps_for(UINT64_MAX);
    assert_int_equal(queue_events, 2);
    assert_int_equal(queue_acks, 1);
    assert_int_equal(link_events + answers, 0);
    polled.revents[0] = 0;
    polled.revents[1] = POLLIN;
    events_left = 2;
    sleeps_for(UINT64_MAX);
    assert_int_equal(link_events, 3); /* until there is none */
    assert_int_equal(answers, 0);
    polled.revents[1] = 0;
    polled.revents[3] = POLLIN;
    sleeps_for(UINT64_MAX);
    assert_int_equal(answers, 1);
    iw_progress_kick(&m);
    sleeps_for(UINT64_MAX);
    assert_int_equal(kicks(), 1); /* it was not said to be readable */
    polled.revents[2] = POLLIN;
    iw_progress_kick(&m);
    sleeps_for(UINT64_MAX);
    assert_int_equal(kicks(), 0);
    assert_int_equal(answers, 3);
    /* What a poll leaves that failed, or found nothing, means nothing; nor does an error. */
    for (int result = -1; result <= 0; result++) {
        polled.result = result;
        for (int i = 0; i < 4; i++)
            polled.revents[i] = POLLIN;
        sleeps_for(UINT64_MAX);
    }
    polled.result = 1;
    for (int i = 0; i < 4; i++)
        polled.revents[i] = POLLERR;
    sleeps_for(UINT64_MAX);
    assert_int_equal(queue_events, 2);
    assert_int_equal(link_events, 3);
    assert_int_equal(answers, 3);
}

/* Those who ask for the state wait until it is due. */
static void the_state_is_asked_for(void **unused)
{
    (void)unused;
    m.status_due = clock_ns + 1;
    assert_int_equal(sleeps_for(UINT64_MAX), 5);
    assert_int_equal(polled.fds[3], -1);
    m.status_due = clock_ns;
    assert_int_equal(sleeps_for(UINT64_MAX), -1);
    assert_int_equal(polled.fds[3], STATUS);
}

/* ---- polling before it sleeps ---- */

static void it_polls_first(void **unused)
{
    (void)unused;
    m.spin = UINT64_MAX;
    batches[0] = 1;
    iw_progress_wait(&m, UINT64_MAX);
    assert_int_equal(completed, 1);
    assert_int_equal(arms + polled.count, 0);
    assert_int_equal(polls, 2);
    /* 256 times, then it looks and the caller sees. */
    polls = unlocks = 0;
    iw_progress_wait(&m, UINT64_MAX);
    assert_int_equal(polls, 256);
    assert_int_equal(unlocks, 255);
    assert_int_equal(arms, 0);
    assert_int_equal(polled.count, 1);
    assert_int_equal(polled.timeout, 0);
    assert_true(polled.locked);
    /* Either way a tick that is due comes. */
    m.ticked = 0;
    batch = 0;
    iw_progress_wait(&m, UINT64_MAX);
    assert_string_equal(ticked, "rple");
    m.ticked = 0;
    iw_progress_wait(&m, UINT64_MAX);
    assert_string_equal(ticked, "rplerple");
}

/* By the clock: for so long, at most until the deadline. */
static void it_polls_for_a_while(void **unused)
{
    (void)unused;
    clock_step = 100;
    m.spin = 1000;
    iw_progress_wait(&m, UINT64_MAX);
    assert_int_equal(polls, 10 + 2);
    assert_int_equal(arms, 1);
    assert_int_equal(polled.timeout, -1);
    polls = polled.count = 0;
    iw_progress_wait(&m, clock_ns + 500);
    assert_int_equal(polls, 5);
    assert_int_equal(polled.count, 0);
    assert_int_equal(arms, 1);
}

/* What has come since the queue was asked for an event is not slept over. */
static void it_looks_once_more(void **unused)
{
    (void)unused;
    m.ticked = 0;
    batches[0] = 1;
    iw_progress_wait(&m, UINT64_MAX);
    assert_int_equal(arms, 1);
    assert_int_equal(polled.count, 1); /* the tick's */
    assert_int_equal(polled.timeout, 0);
    assert_string_equal(ticked, "rple");
    /* What came during the sleep is taken at once. */
    batch = 0;
    batches[0] = 0;
    batches[1] = 2;
    completed = 0;
    iw_progress_wait(&m, UINT64_MAX);
    assert_int_equal(completed, 2);
}

/* ---- who drives ---- */

static void another_drives(void **unused)
{
    (void)unused;
    m.driving = true;
    iw_progress_wait(&m, UINT64_C(7000000009));
    assert_ptr_equal(slept.on, &m.changed);
    assert_false(slept.for_ever);
    assert_int_equal(slept.until.tv_sec, 7);
    assert_int_equal(slept.until.tv_nsec, 9);
    assert_int_equal(slept.waiting, 1);
    assert_int_equal(kicks(), 0);
    assert_true(m.driving);
    assert_int_equal(slept.broadcasts + slept.signals, 0);
    /* The library's thread is asked to step back. */
    m.thread_drives = true;
    m.waiting = 1;
    m.deep = true;
    iw_progress_wait(&m, UINT64_MAX);
    assert_true(slept.for_ever);
    assert_int_equal(slept.waiting, 2);
    assert_int_equal(kicks(), 1);
    assert_int_equal(slept.broadcasts, 1);
    assert_int_equal(slept.signals, 1);
    assert_int_equal(m.waiting, 1);
    assert_int_equal(polled.count, 0);
    assert_int_equal(m.waits, 2);
}

static void close_it(void)
{
    m.closing = true;
}

static void one_waits(void)
{
    m.waiting = 1;
    m.waits++;
    m.closing = true;
}

/* The library's thread: it looks 2 ms after the last wait, and drives if there was none. */
static void the_thread_drives(void **unused)
{
    (void)unused;
    locked = false;
    m.waits = 40;
    m.spin = UINT64_MAX; /* which is for those who wait */
    while_polling = close_it;
    assert_null(iw_progress_thread(&m));
    assert_false(locked);
    assert_int_equal(slept.count, 1);
    assert_ptr_equal(slept.on, &m.background);
    assert_int_equal(slept.until.tv_sec, 5);
    assert_int_equal(slept.until.tv_nsec, 2 * MS);
    assert_false(slept.deep);
    assert_int_equal(polled.count, 1);
    assert_int_equal(polled.timeout, -1);
    assert_true(polled.driving && polled.by_thread);
    assert_false(m.driving || m.thread_drives);
    assert_int_equal(slept.broadcasts, 0);
    /* Who has come meanwhile drives now. */
    m.closing = false;
    while_polling = one_waits;
    iw_progress_thread(&m);
    assert_int_equal(slept.broadcasts, 1);
    m.closing = true;
    polled.count = slept.count = 0;
    iw_progress_thread(&m);
    assert_int_equal(polled.count + slept.count, 0);
}

static void sleep_twice(void)
{
    if (slept.count == 2)
        m.closing = true;
}

/* While one wait lasts it sleeps until it is called. */
static void the_thread_sleeps(void **unused)
{
    (void)unused;
    for (int driven = 0; driven < 2; driven++) {
        locked = m.closing = false;
        m.waiting = driven == 0;
        m.driving = driven == 1;
        memset(&slept, 0, sizeof(slept));
        while_asleep = sleep_twice;
        iw_progress_thread(&m);
        assert_int_equal(slept.count, 2);
        assert_true(slept.for_ever && slept.deep);
        assert_false(m.deep);
        assert_int_equal(polled.count, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROGRESS_TEST(time_and_kicks),        PROGRESS_TEST(who_is_due),
        PROGRESS_TEST(completions_are_taken), PROGRESS_TEST(a_step),
        PROGRESS_TEST(how_long_it_sleeps),    PROGRESS_TEST(why_it_wakes),
        PROGRESS_TEST(peers_without_a_link),  PROGRESS_TEST(a_tick),
        PROGRESS_TEST(what_is_looked_at),     PROGRESS_TEST(the_state_is_asked_for),
        PROGRESS_TEST(it_polls_first),        PROGRESS_TEST(it_polls_for_a_while),
        PROGRESS_TEST(it_looks_once_more),    PROGRESS_TEST(another_drives),
        PROGRESS_TEST(the_thread_drives),     PROGRESS_TEST(the_thread_sleeps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
