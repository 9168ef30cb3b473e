/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "host/complain.h"
#include "host/files.h"
#include "host/text.h"
#include "selfcheck.h"
#include "suite/proof.h"

/* A growing list of words. */
struct words {
    char *text;
    size_t length;
};

static void add_word(struct words *w, char letter, const char *option)
{
    size_t more = strlen(option) + 3; /* blank, letter, colon */
    w->text = iw_got(realloc(w->text, w->length + more + 1));
    w->length += (size_t)snprintf(w->text + w->length, more + 1, "%s%c:%s", w->length ? " " : "",
                                  letter, option);
}

static const struct iw_notice *notice_of(const struct iw_probe *p, const struct iw_case *c)
{
    for (size_t i = 0; i < p->n_notices; i++)
        if (p->notices[i].c == c)
            return &p->notices[i];
    return NULL;
}

static void add_notices(struct words *w, const struct iw_self_check *s, const struct iw_case *c,
                        bool near, size_t most)
{
    for (size_t i = 0, count = 0; i < s->n_probes && count < most; i++) {
        const struct iw_probe *p = &s->probes[i];
        const struct iw_notice *n = notice_of(p, c);

        if (!n || iw_case_near_check(c, p->check) != near)
            continue;
        add_word(w, n->before == n->after ? 'O' : *iw_verdict_name(n->after), p->option + 2);
        count++;
    }
}

/* The switches of the case's own rules that it noticed; if there are none, one of the others. */
static char *line_of(const struct iw_self_check *s, const struct iw_case *c)
{
    struct words w = {iw_text_copy(""), 0};
    add_notices(&w, s, c, true, s->n_probes);
    if (!w.length)
        add_notices(&w, s, c, false, 1);
    return w.text;
}

static int by_id(const void *a, const void *b)
{
    return strcmp(((const struct iw_proof_line *)a)->id, ((const struct iw_proof_line *)b)->id);
}

/* A case that this machine skips keeps what another one has recorded. */
static void record(struct iw_proof_table *t, const struct iw_self_check *s,
                   const struct iw_suspect *one)
{
    bool skipped = one->verdict == IW_VERDICT_SKIP;
    char *line = one->usable ? line_of(s, one->c) : iw_text_copy("");
    if (!skipped || !iw_proof_find(t, one->c->id))
        iw_proof_set(t, one->c->id, line);
    free(line);
}

int iw_self_check_record(const struct iw_self_check *s, const struct iw_suite *suite,
                         const char *path)
{
    struct iw_proof_table t;
    char error[512];
    FILE *f;
    int status = iw_proof_read_table(&t, path, error, sizeof(error));
    if (status)
        iw_complain("%s", error);
    for (size_t i = 0; !status && i < s->n_suspects; i++)
        record(&t, s, &s->suspects[i]);
    f = status ? NULL : iw_open_output(path);
    if (f) {
        qsort(t.lines, t.count, sizeof(*t.lines), by_id);
        fputs("case,noticed\n", f);
        for (size_t i = 0; i < t.count; i++)
            if (iw_suite_find(suite, t.lines[i].id))
                fprintf(f, "%s,%s\n", t.lines[i].id, t.lines[i].text);
    }
    status = f && iw_close_output(f, path) ? 0 : -1;
    iw_proof_free_table(&t);
    return status;
}
