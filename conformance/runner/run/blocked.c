/* SPDX-License-Identifier: BSD-3-Clause */
#include "blocked.h"

#include <stdlib.h>
#include <string.h>

#include "base/instrument.h"
#include "host/text.h"

static bool is_about(const struct iw_finding *f, const struct iw_record *record,
                     enum iw_instrument instrument)
{
    return f->rule != NULL &&
           (iw_instrument_serves(instrument, f->rule) ||
            iw_instrument_serves(instrument, iw_finding_deviation(f, record)->rule));
}

/* The gravest finding about an instrument, 0: there is none. */
static unsigned finding_of(const struct iw_record *record, enum iw_instrument instrument)
{
    for (size_t i = 0; i < record->findings.count; i++)
        if (is_about(&record->findings.list[i], record, instrument))
            return (unsigned)i + 1;
    /* Who answers no Read answers no empty one; who answers no empty one cannot be asked more. */
    if (instrument == IW_INSTRUMENT_EMPTY_READ)
        return finding_of(record, IW_INSTRUMENT_EMPTY_READ_OF_BUFFER);
    return instrument == IW_INSTRUMENT_EMPTY_READ_OF_BUFFER ? finding_of(record, IW_INSTRUMENT_READ)
                                                            : 0;
}

/* "blocked: why" becomes "blocked by finding 2: why". */
static void explain(struct iw_result *r)
{
    const char *why = r->reason != NULL ? strstr(r->reason, ": ") : NULL;
    char *reason = iw_text_format("blocked by finding %u%s", r->blocked_by, why != NULL ? why : "");
    free(r->reason);
    r->reason = reason;
}

void iw_blocked_resolve(struct iw_record *record)
{
    for (size_t i = 0; i < record->count; i++) {
        struct iw_result *r = &record->entries[i].result;
        enum iw_instrument instrument;
        if (r->blocked == NULL || !iw_instrument_find(r->blocked, &instrument))
            continue;
        r->blocked_by = finding_of(record, instrument);
        if (r->blocked_by > 0)
            explain(r);
    }
}

size_t iw_blocked_count(const struct iw_record *record, unsigned number)
{
    size_t count = 0;
    for (size_t i = 0; i < record->count; i++) {
        const struct iw_result *r = &record->entries[i].result;
        count += record->entries[i].done && r->blocked != NULL && r->blocked_by == number;
    }
    return count;
}

bool iw_blocked_repeats(const struct iw_record *record, const struct iw_entry *entry)
{
    const char *instrument = entry->result.blocked;
    for (const struct iw_entry *e = record->entries; instrument != NULL && e < entry; e++)
        if (e->done && e->result.blocked != NULL && strcmp(e->result.blocked, instrument) == 0)
            return true;
    return false;
}
