/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies the capture, with findings as comments on the packets. */
#include "lint.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "host/complain.h"
#include "host/text.h"

enum { COMMENTS = 64 /* of one frame */ };

void iw_lint_note(struct iw_lint *lint, uint64_t frame, const char *format, ...)
{
    struct iw_lint_note note = {.frame = frame, .number = lint->n_notes};
    if (lint->notes == NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    if (lint->n_notes < IW_LINT_NOTES && vasprintf(&note.text, format, arguments) >= 0)
        lint->notes[lint->n_notes++] = note;
    else
        lint->more_notes++;
    va_end(arguments);
}

void iw_lint_free_notes(struct iw_lint *lint)
{
    for (size_t i = 0; i < lint->n_notes; i++)
        free(lint->notes[i].text);
    free(lint->notes);
}

static int by_frame(const void *a, const void *b)
{
    const struct iw_lint_note *x = a, *y = b;

    if (x->frame != y->frame)
        return x->frame < y->frame ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Gathers the notes of this frame, which begin at *next. */
static size_t gather(const struct iw_lint *lint, uint64_t frame, size_t *next,
                     const char *comments[COMMENTS])
{
    size_t count = 0;

    for (; *next < lint->n_notes && lint->notes[*next].frame == frame; (*next)++)
        if (count < COMMENTS)
            comments[count++] = lint->notes[*next].text;
    if (count == COMMENTS)
        comments[COMMENTS - 1] = "... and more findings at this frame";
    return count;
}

static void summarise(const struct iw_lint *lint, char *text, size_t room)
{
    char more[64] = "";

    if (lint->more_notes)
        snprintf(more, sizeof(more), "; %" PRIu64 " of them are not in this file",
                 lint->more_notes);
    snprintf(text, room, "iwarp-lint: %" PRIu64 " finding%s%s", lint->findings,
             iw_text_plural(lint->findings), more);
}

bool iw_lint_annotate(struct iw_lint *lint)
{
    const struct iw_lint_options *o = lint->options;
    char error[IW_CAPTURE_ERROR], text[128];
    struct iw_capture *from = iw_capture_open(o->path, error);
    struct iw_pcapng *to = NULL;
    int more = -1;
    qsort(lint->notes, lint->n_notes, sizeof(*lint->notes), by_frame);
    summarise(lint, text, sizeof(text));
    struct iw_frame frame;
    /* An error about a capture that is cut short was printed before: copy the rest. */
    if (from != NULL && (o->filter == NULL || iw_capture_filter(from, o->filter, error))) {
        more = iw_capture_next(from, &frame, error);
        to = iw_pcapng_create(o->annotate, more > 0 ? IW_LINK_OTHER : IW_LINK_ETHERNET,
                              "iwarp-lint " IW_VERSION, text, error);
    }
    bool good = to != NULL;
    size_t next = 0;
    for (; good && more > 0; more = iw_capture_next(from, &frame, error)) {
        if (iw_lint_stopped() && frame.number > lint->read)
            break; /* what comes then was not judged */
        const char *comments[COMMENTS];
        size_t count = more == 1 ? gather(lint, frame.number, &next, comments) : 0;
        good = more != 1 || iw_pcapng_copy(to, &frame, comments, count);
    }
    if (to != NULL)
        good = iw_pcapng_close(to, error);
    if (from != NULL)
        iw_capture_close(from);
    if (!good)
        iw_complain("%s", error);
    return good;
}
