/* SPDX-License-Identifier: BSD-3-Clause */
#include "record_rig.h"

#include <string.h>

struct iw_entry entries[RECORD_ENTRIES];
struct iw_record record;

int record_begin(void **state)
{
    (void)state;
    memset(entries, 0, sizeof(entries));
    record = (struct iw_record){.entries = entries};
    return 0;
}

int record_end(void **state)
{
    (void)state;
    iw_findings_free(&record.findings);
    return 0;
}
