/* SPDX-License-Identifier: BSD-3-Clause */
/* What a kernel said when it ended: the one line of its console that shows which of two ends it
 * was. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/text.h"
#include "target.h"

/* The telling ones first; of equal ones the first that was printed, as others follow from it. */
static const char *const signs[] = {"KASAN: ", "UBSAN: ", "BUG: ", "Oops", "Kernel panic"};

enum { SIGNS = sizeof(signs) / sizeof(*signs), LINE = 256, SECONDS = 10 /* to print it all */ };

/* Without the time in front. */
static char *plain(char *line)
{
    char *time = *line == '[' ? strstr(line, "] ") : NULL;
    for (size_t n = strlen(line); n && isspace((unsigned char)line[n - 1]);)
        line[--n] = 0;
    return iw_text_clean(time ? time + 2 : line);
}

/* The console, to be read. It must not keep us: who runs it may not even hear signals. */
static FILE *console(const char *command)
{
    char *quoted = iw_text_shell(command);
    char *text = iw_text_format("exec timeout -k 1 %d sh -c %s </dev/null", SECONDS, quoted);
    FILE *f = popen(text, "re");
    free(quoted);
    free(text);
    return f;
}

static char *last_words(const struct iw_target_spec *spec)
{
    FILE *f = spec->console ? console(spec->console) : NULL;
    char line[LINE], *found = NULL;
    size_t best = SIGNS;

    while (f && fgets(line, sizeof(line), f))
        for (size_t i = 0; i < best; i++)
            if (strstr(line, signs[i])) {
                free(found);
                found = plain(line);
                best = i;
            }
    if (f)
        pclose(f);
    return found;
}

char *iw_target_kernel_ended(const struct iw_target_spec *spec)
{
    char *words = last_words(spec);
    char *text =
        iw_text_format(IW_TARGET_KERNEL_ENDED "%s%s", words ? ": " : "", words ? words : "");
    free(words);
    return text;
}
