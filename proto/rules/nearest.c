/* SPDX-License-Identifier: BSD-3-Clause */
#include "iwarp/nearest.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "iwarp/rules.h"

static char small(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static unsigned least_of(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Returns the number of letters to insert, delete, change or swap with their neighbour. */
static unsigned changes(const char *a, const char *b)
{
    uint8_t rows[3][IW_NEAREST_WORD]; /* for i - 2, i - 1 and i letters of `a` */
    uint8_t *before = rows[0], *last = rows[1], *now = rows[2];
    size_t n = strlen(a), m = strlen(b);
    for (size_t j = 0; j <= m; j++)
        last[j] = (uint8_t)j;
    for (size_t i = 1; i <= n; i++) {
        uint8_t *free_row = before;
        now[0] = (uint8_t)i;
        for (size_t j = 1; j <= m; j++) {
            bool same = small(a[i - 1]) == small(b[j - 1]);
            unsigned best = least_of(last[j - 1] + !same, least_of(last[j], now[j - 1]) + 1u);
            if (i > 1 && j > 1 && small(a[i - 1]) == small(b[j - 2]) &&
                small(a[i - 2]) == small(b[j - 1]))
                best = least_of(best, before[j - 2] + 1u);
            now[j] = (uint8_t)best;
        }
        before = last;
        last = now;
        now = free_row;
    }
    return last[m];
}

void iw_nearest_begin(struct iw_nearest *n, const char *word)
{
    size_t length = strlen(word);

    *n = (struct iw_nearest){.word = word, .least = length < 3 ? 2 : length < 12 ? 3 : 4};
    if (length >= IW_NEAREST_WORD)
        n->least = 0;
}

void iw_nearest_offer(struct iw_nearest *n, const char *name)
{
    if (n->least == 0 || strlen(name) >= IW_NEAREST_WORD)
        return;
    unsigned distance = changes(n->word, name);
    if (distance < n->least) {
        n->least = distance;
        n->best = name;
    }
}

const char *iw_nearest_check(const char *word)
{
    struct iw_nearest n;
    iw_nearest_begin(&n, word);
    for (size_t i = IW_CHECK_NONE + 1; i < IW_CHECK_COUNT; i++)
        iw_nearest_offer(&n, iw_check_info((enum iw_check)i)->name);
    return n.best;
}

const char *iw_nearest_rule(const char *word)
{
    struct iw_nearest n;
    iw_nearest_begin(&n, word);
    for (size_t i = 0; i < IW_RULE_COUNT; i++)
        iw_nearest_offer(&n, iw_rule_at(i)->id);
    return n.best;
}
