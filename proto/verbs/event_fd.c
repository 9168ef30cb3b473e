/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs/event_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { FDS = 65536, NOT_OURS = 0, OURS, DRIVEN };
static _Atomic uint8_t descriptors[FDS];
/* What the eventfds have been given: at a fork they are the parent's as well, which may be faster.
 */
static uint32_t counts[FDS];
static bool keep_counts;
static bool parted; /* descriptors of events may have lost their counts */

/* poll is ucma/'s, ppoll is not. */
int iw_verbs_real_poll(struct pollfd *list, nfds_t count, int ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    return ppoll(list, count, ms < 0 ? NULL : &t, NULL);
}

/* Not by write, which is ucma/'s. */
void iw_verbs_event_write(int fd)
{
    while (eventfd_write(fd, 1) < 0 && errno == EINTR)
        ;
}

void iw_verbs_event_read(int fd)
{
    eventfd_t value;
    while (eventfd_read(fd, &value) < 0 && errno == EINTR)
        ;
}

void iw_verbs_own(int fd, bool ours)
{
    if (fd < 0 || fd >= FDS)
        return;
    counts[fd] = 0;
    atomic_store(&descriptors[fd], ours ? OURS : NOT_OURS);
}

bool iw_verbs_driven(int fd)
{
    return fd >= 0 && fd < FDS && atomic_load(&descriptors[fd]) == DRIVEN;
}

bool iw_verbs_event_drive(const struct pollfd *list, nfds_t count)
{
    bool found = false;
    for (nfds_t i = 0; i < count; i++) {
        uint8_t was = OURS;
        const int fd = list[i].fd;
        if (fd >= 0 && fd < FDS &&
            (atomic_compare_exchange_strong(&descriptors[fd], &was, DRIVEN) || was == DRIVEN))
            found = true;
    }
    return found;
}

void iw_verbs_event_add(int fd)
{
    if (fd >= 0 && fd < FDS)
        counts[fd]++;
    iw_verbs_event_write(fd);
}

void iw_verbs_unsignal(int fd)
{
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    if (!parted || iw_verbs_real_poll(&readable, 1, 0) == 1)
        iw_verbs_event_read(fd);
    if (fd >= 0 && fd < FDS && counts[fd] > 0)
        counts[fd]--;
}

void iw_verbs_keep_counts(bool keep)
{
    keep_counts = keep;
}

/* Gives a descriptor a count of its own, which is no longer the parent's. */
static void part_event(int fd)
{
    const int status = fcntl(fd, F_GETFL), flags = fcntl(fd, F_GETFD);
    counts[fd] = keep_counts ? counts[fd] : 0;
    int made = eventfd(counts[fd], EFD_SEMAPHORE | (status & O_NONBLOCK));
    if (made < 0 || flags < 0)
        return;
    (void)dup3(made, fd, (flags & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0);
    close(made);
}

void iw_verbs_event_part(void)
{
    for (int fd = 0; fd < FDS; fd++)
        if (atomic_load(&descriptors[fd]) != NOT_OURS)
            part_event(fd);
    parted = true;
}
