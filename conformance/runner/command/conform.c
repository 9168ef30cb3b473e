/* SPDX-License-Identifier: BSD-3-Clause */
#include "conform.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd_probe.h"
#include "command_setup.h"
#include "host/complain.h"
#include "interrupt.h"
#include "reexec.h"

/* A run continues as it was begun: what its words say again (inside a target's kernel) does not
 * count, for the journal knows its cases. */
static int resume(struct iw_command *c)
{
    int status;
    c->journal = iw_journal_resume(c->resume, &c->head, &status);
    if (c->journal == NULL)
        return status;
    iw_command_select_none(c);
    for (size_t i = 0; i < c->head.n_select; i++)
        iw_command_select(c, c->head.select[i]);
    c->results = c->resume;
    return -1;
}

/* Returns -1 if the command is to be carried out here, else the exit status. A target that cannot
 * be read is the command's to complain about. */
static int elsewhere(const struct iw_command *c)
{
    const char *text = c->carry_out == iw_command_probe ? c->operands[0] : c->head.target;
    char error[1024];
    int status = -1;
    if (text == NULL || c->list)
        return -1;
    struct iw_target_spec *spec = iw_setup_target(c, text, error, sizeof(error));
    if (spec != NULL)
        status = iw_reexec(c, spec);
    iw_target_free(spec);
    return status;
}

int iw_conform(int argc, char **argv)
{
    struct iw_command c;
    iw_interrupt_catch();
    int status = iw_command_parse(&c, argc, argv);
    if (status < 0 && c.resume != NULL)
        status = resume(&c);
    if (status < 0)
        status = elsewhere(&c);
    if (status < 0)
        status = c.carry_out(&c);
    iw_journal_close(c.journal);
    iw_command_free(&c);
    if (fflush(stdout) || ferror(stdout)) {
        iw_complain("cannot write to standard output: %s", strerror(errno));
        return IW_EXIT_OUTPUT;
    }
    return status;
}
