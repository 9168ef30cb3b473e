/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of the process: the system would send what TCP sockets still have; here nobody else does.
 */
#include "descriptors.h"
#include "fork_claim.h"
#include "fork_relay.h"
#include "libc_next.h"
#include "switched.h"

#include <stdarg.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { FEW = 16 }; /* descriptors that a sandbox leaves */

static pid_t process; /* a child of vfork has its parent's memory, but is another process */
static atomic_bool ended;

/* Other threads go on using sockets, and closing them. */
static void end(struct iw_socket *s)
{
    if (!iw_socket_hold(s))
        return;
    iw_claim_before_close(s);
    if (atomic_load(&s->hold) == IW_HOLD_OURS && s->ops->end != NULL)
        s->ops->end(s);
    iw_socket_put(s);
}

static void end_all(void)
{
    if (getpid() != process || atomic_exchange(&ended, true))
        return;
    iw_relay_finish();
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

/* Without descriptors there will be no relay, either. */
#define DEFINE_SETRLIMIT(name, type)                                                               \
    IW_INTERPOSED IW_EARLY int name(__rlimit_resource_t resource, const struct type *limit)        \
    {                                                                                              \
        if (resource == RLIMIT_NOFILE && limit->rlim_cur < FEW)                                    \
            iw_claim_in_sandbox();                                                                 \
        return iw_libc()->name(resource, limit);                                                   \
    }

DEFINE_SETRLIMIT(setrlimit, rlimit)
DEFINE_SETRLIMIT(setrlimit64, rlimit64)

IW_INTERPOSED int prctl(int option, ...)
{
    unsigned long argument[4];
    va_list arguments;
    va_start(arguments, option);
    for (unsigned i = 0; i < sizeof(argument) / sizeof(argument[0]); i++)
        argument[i] = va_arg(arguments, unsigned long);
    va_end(arguments);
    if (option == PR_SET_SECCOMP)
        iw_claim_in_sandbox();
    return iw_libc()->prctl(option, argument[0], argument[1], argument[2], argument[3]);
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
