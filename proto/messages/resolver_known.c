/* SPDX-License-Identifier: BSD-3-Clause */
#include "messages/resolver_known.h"

#include <stdlib.h>

int iw_resolver_known_open(struct iw_resolver_knowledge *k, size_t sets)
{
    *k = (struct iw_resolver_knowledge){.sets = calloc(sets, sizeof(*k->sets)), .set_count = sets};
    return k->sets != NULL ? 0 : -1;
}

void iw_resolver_known_close(struct iw_resolver_knowledge *k)
{
    free(k->sets);
    *k = (struct iw_resolver_knowledge){0};
}

static struct iw_resolver_known *set_of(struct iw_resolver_knowledge *k, uint32_t number)
{
    /* Fibonacci hashing: numbers in a row fall into different sets. */
    return k->sets[(number * 2654435769U >> 16) % k->set_count];
}

struct iw_resolver_known *iw_resolver_known_find(struct iw_resolver_knowledge *k, uint32_t number)
{
    struct iw_resolver_known *set = set_of(k, number);
    for (size_t i = 0; i < IW_RESOLVER_WAYS; i++)
        if (set[i].used && set[i].number == number)
            return &set[i];
    return NULL;
}

struct iw_resolver_known *iw_resolver_known_take(struct iw_resolver_knowledge *k, uint32_t number)
{
    struct iw_resolver_known *set = set_of(k, number);
    struct iw_resolver_known *e = iw_resolver_known_find(k, number);
    for (size_t i = 0; e == NULL && i < IW_RESOLVER_WAYS; i++)
        if (!set[i].used)
            e = &set[i];
    if (e == NULL) {
        for (size_t i = 0; i < IW_RESOLVER_WAYS; i++)
            if (!set[i].asking && (e == NULL || set[i].asked < e->asked))
                e = &set[i];
        if (e != NULL)
            *e = (struct iw_resolver_known){0};
    }
    if (e != NULL) {
        e->used = true;
        e->number = number;
    }
    return e;
}

void iw_resolver_known_ask(struct iw_resolver_knowledge *k, struct iw_resolver_known *e)
{
    if (e->asking)
        return;
    e->asking = true;
    e->link = &k->asking;
    e->next = k->asking;
    if (e->next != NULL)
        e->next->link = &e->next;
    k->asking = e;
    k->asking_count++;
}

void iw_resolver_known_rest(struct iw_resolver_knowledge *k, struct iw_resolver_known *e)
{
    if (!e->asking)
        return;
    e->asking = false;
    k->asking_count--;
    *e->link = e->next;
    if (e->next != NULL)
        e->next->link = e->link;
    e->next = NULL;
}

bool iw_resolver_known_shuns(const struct iw_resolver_known *e, uint64_t instance, uint64_t now)
{
    return e->shunned == instance && now < e->shunned_until;
}

const struct iw_resolver_answerer *iw_resolver_known_best(const struct iw_resolver_known *e,
                                                          uint64_t now)
{
    for (size_t i = 0; i < e->count; i++)
        if (!iw_resolver_known_shuns(e, e->answerers[i].instance, now))
            return &e->answerers[i];
    return &e->answerers[0];
}
