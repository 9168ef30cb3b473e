/* SPDX-License-Identifier: BSD-3-Clause */
#include "mishap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crash.h"
#include "host/text.h"
#include "host/text_tools.h"

void iw_mishap_free(struct iw_mishap *m)
{
    free(m->key);
    free(m->text);
    *m = (struct iw_mishap){.kind = IW_MISHAP_NONE};
}

/* ---- making one ---- */

void iw_mishap_report(struct iw_mishap *m, const char *report, const char *how)
{
    char cause[IW_CRASH_TEXT];
    iw_crash_cause(report, cause);
    m->kind = IW_MISHAP_REPORT;
    m->key = iw_text_copy(cause);
    m->text = iw_text_format("the target broke: %s%s%s", report, how != NULL ? "; " : "",
                             how != NULL ? how : "");
}

void iw_mishap_end(struct iw_mishap *m, const char *how)
{
    m->kind = IW_MISHAP_END;
    m->key = iw_text_copy(how);
    m->text = iw_text_format("the target ended: %s", how);
}

static void add_name(struct iw_mishap *m, const char *name, size_t length)
{
    if (m->n_names < IW_MISHAP_NAMES)
        snprintf(m->names[m->n_names++], sizeof(m->names[0]), "%.*s", (int)length, name);
}

/* A hang's; the others have theirs. */
static void set_key(struct iw_mishap *m)
{
    if (m->kind != IW_MISHAP_HANG)
        return;
    free(m->key);
    m->key = iw_text_format(IW_HANG "%s%s", m->n_names > 0 ? " in " : "",
                            m->n_names > 0 ? m->names[0] : "");
}

void iw_mishap_hang(struct iw_mishap *m, const struct iw_crash *crash, const char *text)
{
    m->kind = IW_MISHAP_HANG;
    m->text = iw_text_copy(text);
    if (crash != NULL && crash->function[0] != '\0') {
        add_name(m, crash->function, strlen(crash->function));
        snprintf(m->place, sizeof(m->place), "%s", crash->place);
        for (const char *name = crash->callers; *name != '\0';) {
            size_t length = strcspn(name, ",");
            add_name(m, name, length);
            name += length;
            name += strspn(name, ", ");
        }
    }
    set_key(m);
}

char *iw_mishap_text(const struct iw_mishap *m)
{
    char *callers = NULL;
    if (m->kind != IW_MISHAP_HANG)
        return iw_text_copy(m->text);
    if (m->n_names == 0)
        return iw_text_format("the target hangs: %s", m->text);
    for (size_t i = 1; i < m->n_names; i++)
        iw_text_join(&callers, ", ", m->names[i]);
    char *text = iw_text_format(
        "the target hangs in %s%s%s%s%s%s: %s", m->names[0], m->place[0] != '\0' ? " (" : "",
        m->place, m->place[0] != '\0' ? ")" : "", callers != NULL ? ", called by " : "",
        callers != NULL ? callers : "", m->text);
    free(callers);
    return text;
}

/* ---- comparing ---- */

static bool finds(const struct iw_mishap *m, const char *name, size_t up_to)
{
    for (size_t i = 0; i < m->n_names && i <= up_to; i++)
        if (strcmp(m->names[i], name) == 0)
            return true;
    return false;
}

static void drop_first(struct iw_mishap *m)
{
    memmove(m->names[0], m->names[1], (m->n_names - 1) * sizeof(m->names[0]));
    m->n_names--;
    m->place[0] = '\0';
}

bool iw_mishap_same(struct iw_mishap *a, const struct iw_mishap *b)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind != IW_MISHAP_HANG)
        return a->key != NULL && b->key != NULL && strcmp(a->key, b->key) == 0;
    if (a->n_names == 0 || b->n_names == 0)
        return a->n_names == b->n_names;
    if (finds(b, a->names[0], 1))
        return true;
    if (a->n_names < 2 || !finds(b, a->names[1], 1))
        return false;
    drop_first(a);
    return true;
}

static void copy_names(struct iw_mishap *to, const struct iw_mishap *from)
{
    memcpy(to->names, from->names, sizeof(to->names));
    to->n_names = from->n_names;
    memcpy(to->place, from->place, sizeof(to->place));
}

bool iw_mishap_again(struct iw_mishap *a, const struct iw_mishap *b)
{
    if (a->kind != IW_MISHAP_HANG || b->kind != IW_MISHAP_HANG ||
        (a->n_names > 0 && b->n_names > 0))
        return iw_mishap_same(a, b);
    if (b->n_names > 0)
        copy_names(a, b);
    set_key(a);
    return true;
}

/* ---- known ones ---- */

/* What several looks at one hang have in common says more than the last one. */
static void take_names(struct iw_mishap *m, const struct iw_mishap *known)
{
    if (m->n_names == 0 || strcmp(m->names[0], known->names[0]) == 0)
        return;
    copy_names(m, known);
    m->place[0] = '\0';
}

bool iw_mishaps_know(struct iw_mishaps *all, struct iw_mishap *m)
{
    for (size_t i = 0; i < all->count; i++) {
        if (!iw_mishap_same(&all->list[i], m))
            continue;
        free(m->key);
        m->key = iw_text_copy(all->list[i].key);
        take_names(m, &all->list[i]);
        return true;
    }
    return false;
}

void iw_mishaps_learn(struct iw_mishaps *all, struct iw_mishap *m)
{
    if (iw_mishaps_know(all, m))
        return;
    set_key(m);
    all->list = iw_got(realloc(all->list, (all->count + 1) * sizeof(*all->list)));
    struct iw_mishap *new = &all->list[all->count++];
    *new = *m;
    new->key = iw_text_copy(m->key);
    new->text = iw_text_copy(m->text);
}

void iw_mishaps_free(struct iw_mishaps *all)
{
    for (size_t i = 0; i < all->count; i++)
        iw_mishap_free(&all->list[i]);
    free(all->list);
    *all = (struct iw_mishaps){.count = 0};
}
