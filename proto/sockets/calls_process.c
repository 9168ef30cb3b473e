/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of the process: the system would send what TCP sockets still have; here nobody else does.
 */
#include "descriptors.h"
#include "fork_claim.h"
#include "libc_next.h"
#include "switched.h"

#include <stdlib.h>
#include <unistd.h>

static pid_t process; /* a child of vfork has its parent's memory, but is another process */
static atomic_bool ended;

static void end(struct iw_socket *s)
{
    iw_claim_before_close(s);
    if (atomic_load(&s->hold) == IW_HOLD_OURS && s->ops->end != NULL)
        s->ops->end(s);
}

static void end_all(void)
{
    if (getpid() != process || atomic_exchange(&ended, true))
        return;
    iw_sockets_each(end);
    iw_switched_end_all();
}

static void note_process(void)
{
    process = getpid();
    atomic_store(&ended, false);
}

__attribute__((constructor)) static void begin(void)
{
    note_process();
    (void)pthread_atfork(NULL, NULL, note_process);
}

__attribute__((destructor)) static void end_by_exit(void)
{
    end_all();
}

IW_INTERPOSED void _exit(int status)
{
    end_all();
    iw_libc()->_exit(status);
    abort(); /* not reached, which the compiler cannot know */
}

IW_INTERPOSED void _Exit(int status)
{
    _exit(status);
}
