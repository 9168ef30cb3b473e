/* SPDX-License-Identifier: BSD-3-Clause */
/* Several targets: a process for each, which hunts as one alone does, with random choices of its
 * own. They share what they keep and what they find (board.h). */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/complain.h"
#include "host/text.h"
#include "hunt.h"

enum {
    SHARE_NS = 100000000, /* between two looks at what the others have */
    STEP_MS = 20,
    END_SECONDS = 120 /* for the ends of the others, which look into the last events */
};

uint64_t iw_hunt_total(const struct iw_hunt *h)
{
    if (h->board == NULL)
        return h->over;
    return iw_hunt_board_sum(h->board).over - iw_hunt_board_share(h->board, h->member)->over +
           h->over;
}

static void take_kept(struct iw_hunt *h)
{
    struct iw_hunt_row row;
    struct iw_hunt_input *input;

    while ((input = iw_hunt_board_take(h->board, h->member, &h->taken, &row)) != NULL) {
        if (iw_hunt_graph_add(h->graph, &row) && h->n_corpus < IW_HUNT_CORPUS)
            h->corpus[h->n_corpus++] = (struct iw_hunt_kept){.input = input, .row = row};
        else
            iw_hunt_input_free(input);
    }
}

void iw_hunt_share(struct iw_hunt *h)
{
    if (h->board == NULL)
        return;
    struct iw_hunt_share *own = iw_hunt_board_share(h->board, h->member);
    own->over = h->over;
    own->started = h->started - h->refused;
    own->starts = h->world.starts;
    if (iw_transport_now() < h->next_share)
        return;
    h->next_share = iw_transport_now() + SHARE_NS;
    take_kept(h);
    if (iw_hunt_board_lines(h->board) > h->lines)
        iw_hunt_load_findings(h);
    iw_hunt_look_beside(h);
}

/* One more hunter. */
static _Noreturn void hunt(struct iw_hunt *h, unsigned member, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(IW_EXIT_TESTER);
    h->member = member;
    h->world.log = iw_text_format("%s/target-%u.log", h->dir, member + 1);
    _exit(iw_hunt_go(h));
}

static void signal_all(const pid_t *pids, int number)
{
    for (unsigned i = 0; i < IW_HUNT_TARGETS; i++)
        if (pids[i] > 0)
            kill(pids[i], number);
}

/* Returns whether a hunter is left. *gravest becomes the status of one that could not hunt. */
static bool any_left(pid_t *pids, int *gravest)
{
    bool any = false;

    for (unsigned i = 0; i < IW_HUNT_TARGETS; i++) {
        int ended;
        if (pids[i] > 0 && waitpid(pids[i], &ended, WNOHANG) == pids[i]) {
            int status = WIFEXITED(ended) ? WEXITSTATUS(ended) : IW_EXIT_TESTER;
            if (!WIFEXITED(ended))
                iw_complain("hunter %u was killed by signal %d", i + 1, WTERMSIG(ended));
            if (status > IW_EXIT_FAILURE && status > *gravest)
                *gravest = status;
            pids[i] = 0;
        }
        any = any || pids[i] > 0;
    }
    return any;
}

int iw_hunt_crew(struct iw_hunt *h)
{
    pid_t pids[IW_HUNT_TARGETS] = {0}, parent = getpid();
    int gravest = 0;

    fflush(NULL); /* what is in buffers is to be written once */

    for (unsigned i = 1; i < h->o->targets; i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            hunt(h, i, parent);
        if (pids[i] < 0) {
            iw_complain("cannot start hunter %u: %s", i + 1, strerror(errno));
            gravest = IW_EXIT_TESTER;
        }
    }
    int status = iw_hunt_go(h);
    iw_hunt_board_end(h->board);
    uint64_t until = iw_transport_now() + (uint64_t)(END_SECONDS * h->world.scale * 1e9);
    bool passed_on = false;
    while (any_left(pids, &gravest)) {
        if (*h->stop && !passed_on)
            signal_all(pids, SIGTERM);
        passed_on = passed_on || *h->stop;
        if (iw_transport_now() >= until)
            signal_all(pids, SIGKILL);
        iw_hunt_progress(h, false);
        poll(NULL, 0, STEP_MS);
    }
    take_kept(h);
    iw_hunt_load_findings(h);
    struct iw_hunt_share sum = iw_hunt_board_sum(h->board);
    h->over = sum.over;
    h->world.starts = sum.starts;
    *iw_hunt_board_share(h->board, 0) = (struct iw_hunt_share){.over = sum.over};
    for (unsigned i = 1; i < IW_HUNT_TARGETS; i++)
        *iw_hunt_board_share(h->board, i) = (struct iw_hunt_share){.over = 0};
    return gravest > status ? gravest : status;
}
