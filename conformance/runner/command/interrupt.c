/* SPDX-License-Identifier: BSD-3-Clause */
#include "interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "host/complain.h"

static const char *volatile doomed; /* file */

/* Calls nothing that a handler must not. */
static void end(int number)
{
    static const char line[] = "iwarp-conform: interrupted\n";
    const char *path = doomed;
    (void)number;
    if (path != NULL)
        unlink(path);
    (void)!write(STDERR_FILENO, line, sizeof(line) - 1);
    _exit(IW_EXIT_INTERRUPTED);
}

void iw_interrupt_catch(void)
{
    struct sigaction before, action = {.sa_handler = end};
    /* Who has it ignored, such as nohup, goes on doing so. */
    if (sigaction(SIGINT, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGINT, &action, NULL);
}

void iw_interrupt_remove(const char *path)
{
    doomed = path;
}
