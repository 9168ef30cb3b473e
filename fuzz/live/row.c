/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes what was sent before something that could not be shown again: all of it, with its timing.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "host/complain.h"
#include "host/files.h"
#include "host/text.h"
#include "host/text_tools.h"
#include "hunt.h"

static void put_step(FILE *f, const struct iw_hunt_step *s)
{
    if (s->kind == IW_FUZZ_TIME) {
        fprintf(f, " time:%u", s->octets[0] | (unsigned)s->octets[1] << 8);
    } else if (s->kind == IW_FUZZ_FIN || s->kind == IW_FUZZ_RST) {
        fputs(s->kind == IW_FUZZ_FIN ? " fin" : " rst", f);
    } else {
        fputs(s->kind == IW_FUZZ_B ? " single:" : " octets:", f);
        iw_text_put_hex(f, s->octets, s->length);
    }
}

static double ms_since(uint64_t from, uint64_t ns)
{
    return ns > from ? (double)(ns - from) / 1e6 : 0;
}

void iw_hunt_write_row(struct iw_hunt *h, struct iw_hunt_finding *f,
                       struct iw_hunt_input *const *suspects, size_t n, unsigned number)
{
    char *path = iw_text_format("%s/findings/fuzz-%u-%s.row", h->dir, number,
                                iw_hunt_kind_name(f->event.kind));
    FILE *out = iw_open_output(path);
    uint64_t first = UINT64_MAX;

    for (size_t i = 0; i < n; i++)
        first = suspects[i]->began < first ? suspects[i]->began : first;
    if (out != NULL) {
        fprintf(out,
                "# %s\n# What was sent before, one connection a line, in the order in which they "
                "ended: begin and end in ms, steps.\n",
                f->event.text);
        for (size_t i = 0; i < n; i++) {
            fprintf(out, "%.3f %.3f", ms_since(first, suspects[i]->began),
                    ms_since(first, suspects[i]->ended));
            for (size_t k = 0; k < suspects[i]->n; k++)
                put_step(out, &suspects[i]->steps[k]);
            fputc('\n', out);
        }
    }
    if (out != NULL && iw_close_output(out, path))
        f->row = path;
    else
        free(path);
}
