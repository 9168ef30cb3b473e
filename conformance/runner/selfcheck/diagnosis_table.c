/* SPDX-License-Identifier: BSD-3-Clause */
/* What was recorded of each switch: one line `switch,first,findings,rules,innocent,seconds`. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diagnosis.h"
#include "host/complain.h"
#include "host/files.h"
#include "host/text.h"

#define HEAD "switch,first,findings,rules,innocent,seconds\n"

/* A recorded time stays unless the new one differs by more than this factor: what a busy machine
 * makes of it is no difference. */
#define ABOUT 2.0

int iw_diagnosis_read(struct iw_diagnosis_table *t, const char *path)
{
    char error[512];
    if (!iw_proof_read_table(&t->lines, path, error, sizeof(error)))
        return 0;
    iw_complain("%s", error);
    return -1;
}

void iw_diagnosis_table_free(struct iw_diagnosis_table *t)
{
    iw_proof_free_table(&t->lines);
}

/* Returns the innocent rules of a line, "first,findings,rules,innocent,seconds", a blank around
 * each: a new string. */
static char *innocent_of(const char *line)
{
    for (int i = 0; i < 3; i++) {
        line += strcspn(line, ",");
        line += *line == ',';
    }
    return iw_text_format(" %.*s ", (int)strcspn(line, ","), line);
}

/* Returns whether a rule is accused innocently that was not when the line was recorded. */
static bool accuses_another(const char *line, const struct iw_bent *b)
{
    char *before = innocent_of(line);
    bool found = false;
    for (size_t i = 0; i < b->n_findings && !found; i++) {
        char *rule = iw_text_format(" %s ", b->list[i].rule->id);
        found = !b->list[i].belongs && strstr(before, rule) == NULL;
        free(rule);
    }
    free(before);
    return found;
}

bool iw_diagnosis_worse(const struct iw_diagnosis_table *t, const struct iw_bent *b)
{
    static const char right[] = "right,";
    const char *line = iw_proof_find(&t->lines, b->name);
    bool was_right = line != NULL && strncmp(line, right, strlen(right)) == 0;
    return line != NULL &&
           ((was_right && iw_bent_outcome(b) != IW_OUTCOME_RIGHT) || accuses_another(line, b));
}

/* The recorded seconds if they are about those of now. */
static double seconds_of(const char *line, double now)
{
    const char *last = line != NULL ? strrchr(line, ',') : NULL;
    double before = last != NULL ? strtod(last + 1, NULL) : 0;
    return before > now / ABOUT && before < now * ABOUT ? before : now;
}

void iw_diagnosis_update(struct iw_diagnosis_table *t, const struct iw_bent *b)
{
    size_t n;
    char *rules = iw_bent_rules(b, false, &n), *innocent = iw_bent_rules(b, true, &n);
    double seconds = seconds_of(iw_proof_find(&t->lines, b->name), b->seconds);
    char *line = iw_text_format("%s,%zu,%s,%s,%.0f", iw_outcome_name(iw_bent_outcome(b)),
                                b->n_findings, rules, innocent, ceil(seconds));
    iw_proof_set(&t->lines, b->name, line);
    free(line);
    free(innocent);
    free(rules);
}

int iw_diagnosis_write(struct iw_diagnosis_table *t, const char *path)
{
    size_t n;
    struct iw_probe *all = iw_probes_make(true, NULL, &n);
    FILE *f = iw_open_output(path);
    if (f != NULL)
        fputs(HEAD, f);
    for (size_t i = 0; f != NULL && i < n; i++) {
        const char *line = iw_proof_find(&t->lines, all[i].option + 2);
        if (line != NULL)
            fprintf(f, "%s,%s\n", all[i].option + 2, line);
    }
    for (size_t i = 0; f != NULL && i < t->lines.count; i++) /* several at once */
        if (strchr(t->lines.lines[i].id, '+') != NULL)
            fprintf(f, "%s,%s\n", t->lines.lines[i].id, t->lines.lines[i].text);
    free(all);
    return f != NULL && iw_close_output(f, path) ? 0 : -1;
}
