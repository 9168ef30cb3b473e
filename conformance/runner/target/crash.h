/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_RUNNER_CRASH_H
#define IW_RUNNER_CRASH_H

/*
 * What a program's last words say of a fault in it: reports of AddressSanitizer, LeakSanitizer,
 * MemorySanitizer, ThreadSanitizer, UndefinedBehaviorSanitizer, valgrind and KASAN, a failed
 * assertion, the C library's own checks.
 */

#include <stdbool.h>
#include <stddef.h>

enum { IW_CRASH_TEXT = 384 /* room for iw_crash_text() */, IW_CRASH_CALLERS = 3 };

struct iw_crash {
    char by[32];       /* "AddressSanitizer" */
    char kind[96];     /* "heap-buffer-overflow" */
    char function[80]; /* the first of the program's own; "": the report names none */
    char place[120];   /* "file.c:12", without folders; "": none */
    char callers[240]; /* those that have called it, "inner, outer, ...", IW_CRASH_CALLERS at most;
                          "": none is named */
};

/* Reads a log line by line. Initialise with zeros but for `report`, or by iw_crash_begin(). */
struct iw_crash_reader {
    struct iw_crash report; /* the one under way */
    bool begun, framed;     /* there is one; its own frame was found */
    bool left;              /* the stack of that frame has ended */
    unsigned callers;       /* so many of that stack were found */
};

/* Returns whether the line begins a report. */
bool iw_crash_begins(const char *line);
/* Takes the next line. Returns whether it begins another report than the one under way: then *done
 * is that one. */
bool iw_crash_line(struct iw_crash_reader *r, const char *line, struct iw_crash *done);
/* Ends the log. Returns whether a report was under way, *done. */
bool iw_crash_end(struct iw_crash_reader *r, struct iw_crash *done);

/* Finds the first report in a text. Returns whether there is one. */
bool iw_crash_find(const char *text, struct iw_crash *found);
/* Writes "AddressSanitizer: heap-buffer-overflow in parse (file.c:12)". */
void iw_crash_text(const struct iw_crash *c, char text[IW_CRASH_TEXT]);
/* Copies what distinguishes causes in a line of iw_crash_text(): the kind and the function; the
 * place, too, where no function is named. */
void iw_crash_cause(const char *text, char cause[IW_CRASH_TEXT]);

#endif
