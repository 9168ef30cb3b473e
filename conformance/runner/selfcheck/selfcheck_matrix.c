/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "host/complain.h"
#include "host/files.h"
#include "host/text.h"
#include "selfcheck.h"

static const struct iw_notice *notice_of(const struct iw_probe *p, const struct iw_case *c)
{
    for (size_t i = 0; i < p->n_notices; i++)
        if (p->notices[i].c == c)
            return &p->notices[i];
    return NULL;
}

/* Adds to *line, one word each, the switches that this case noticed. */
static void add_notices(char **line, const struct iw_self_check *s, const struct iw_case *c,
                        bool near, size_t most)
{
    for (size_t i = 0, count = 0; i < s->n_probes && count < most; i++) {
        const struct iw_probe *p = &s->probes[i];
        const struct iw_notice *n = notice_of(p, c);
        if (n == NULL || iw_case_near_check(c, p->check) != near)
            continue;
        char letter = n->before == n->after ? 'O' : *iw_verdict_name(n->after);
        char *longer = iw_text_format("%s%s%c:%s", *line != NULL ? *line : "",
                                      *line != NULL ? " " : "", letter, p->option + 2);
        free(*line);
        *line = longer;
        count++;
    }
}

/* The switches of the case's own rules that it noticed; if there are none, one of the others. NULL
 * if it noticed nothing. */
static char *line_of(const struct iw_self_check *s, const struct iw_case *c)
{
    char *line = NULL;
    add_notices(&line, s, c, true, s->n_probes);
    if (line == NULL)
        add_notices(&line, s, c, false, 1);
    return line;
}

/* A case that this machine skips keeps what another one has recorded. */
static void record(struct iw_proof_table *t, const struct iw_self_check *s,
                   const struct iw_suspect *one)
{
    char *line = one->usable ? line_of(s, one->c) : NULL;
    if (one->verdict != IW_VERDICT_SKIP || iw_proof_find(t, one->c->id) == NULL)
        iw_proof_set(t, one->c->id, line != NULL ? line : "");
    free(line);
}

int iw_self_check_record(const struct iw_self_check *s, const struct iw_suite *suite,
                         const char *path)
{
    struct iw_proof_table t;
    char error[512];
    if (iw_proof_read_table(&t, path, error, sizeof(error))) {
        iw_complain("%s", error);
        iw_proof_free_table(&t);
        return -1;
    }
    for (size_t i = 0; i < s->n_suspects; i++)
        record(&t, s, &s->suspects[i]);
    FILE *f = iw_open_output(path);
    if (f != NULL) {
        fputs("case,noticed\n", f);
        for (size_t i = 0; i < t.count; i++)
            if (iw_suite_find(suite, t.lines[i].id) != NULL)
                fprintf(f, "%s,%s\n", t.lines[i].id, t.lines[i].text);
    }
    iw_proof_free_table(&t);
    return f != NULL && iw_close_output(f, path) ? 0 : -1;
}
