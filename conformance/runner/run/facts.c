/* SPDX-License-Identifier: BSD-3-Clause */
#include "facts.h"

#include <stdlib.h>
#include <string.h>

#include "host/text.h"

void iw_facts_add(struct iw_facts *facts, const char *name, const char *text, const char *advice)
{
    facts->list = iw_got(realloc(facts->list, (facts->count + 1) * sizeof(*facts->list)));
    facts->list[facts->count++] = (struct iw_fact){
        .name = iw_text_copy(name),
        .text = iw_text_copy(text),
        .advice = advice != NULL && *advice != 0 ? iw_text_copy(advice) : NULL,
    };
}

bool iw_facts_has(const struct iw_facts *facts, const char *name)
{
    bool found = false;
    for (size_t i = 0; i < facts->count; i++)
        found = found || strcmp(facts->list[i].name, name) == 0;
    return found;
}

void iw_facts_free(struct iw_facts *facts)
{
    for (size_t i = 0; i < facts->count; i++) {
        free(facts->list[i].name);
        free(facts->list[i].text);
        free(facts->list[i].advice);
    }
    free(facts->list);
    *facts = (struct iw_facts){0};
}
