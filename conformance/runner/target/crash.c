/* SPDX-License-Identifier: BSD-3-Clause */
#include "crash.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { LINE = 1024 };

static void copy(char *to, size_t room, const char *from, size_t length)
{
    snprintf(to, room, "%.*s", (int)(length < LINE ? length : LINE), from);
}

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* The name of a file without its folders. */
static const char *base_name(const char *path, size_t length)
{
    const char *name = path;
    for (size_t i = 0; i < length; i++)
        if (path[i] == '/')
            name = path + i + 1;
    return name;
}

/* ---- what begins a report ---- */

/* What is said of a fault, up to the first of the `ends`; a leading "attempting " goes. */
static void set_kind(struct iw_crash *c, const char *text, const char *const *ends)
{
    size_t length = strcspn(text, "\n");
    for (; *ends != NULL; ends++) {
        const char *end = strstr(text, *ends);
        if (end != NULL && (size_t)(end - text) < length)
            length = (size_t)(end - text);
    }
    if (begins_with(text, "attempting ")) {
        text += strlen("attempting ");
        length -= strlen("attempting ");
    }
    copy(c->kind, sizeof(c->kind), text, length);
}

static bool sanitizer(const char *line, struct iw_crash *c)
{
    static const char *const names[] = {"AddressSanitizer", "LeakSanitizer", "MemorySanitizer",
                                        "ThreadSanitizer"};
    static const char *const ends[] = {" on ", ":", " (", NULL};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const char *at = strstr(line, names[i]);
        /* "==1==ERROR: AddressSanitizer: ..."; the SUMMARY at the end says it again. */
        if (at == NULL || !(strstr(line, "ERROR: ") != NULL || strstr(line, "WARNING: ") != NULL) ||
            !begins_with(at + strlen(names[i]), ": "))
            continue;
        snprintf(c->by, sizeof(c->by), "%s", names[i]);
        set_kind(c, at + strlen(names[i]) + 2, ends);
        if (strcmp(c->kind, "detected memory leaks") == 0)
            snprintf(c->kind, sizeof(c->kind), "leak");
        return true;
    }
    return false;
}

/* Numbers differ from one report of the same fault to the other. */
static void without_numbers(char *text)
{
    char *to = text;
    for (char *word = text; *word != '\0';) {
        size_t length = strcspn(word, " ");
        bool number = strcspn(word, "0123456789") < length;
        if (!number) {
            if (to != text)
                *to++ = ' ';
            memmove(to, word, length);
            to += length;
        }
        word += length;
        word += strspn(word, " ");
    }
    *to = '\0';
}

/* "file.c:12:34: runtime error: ..." */
static bool undefined_behaviour(const char *line, struct iw_crash *c)
{
    static const char *const ends[] = {":", ",", " for type", NULL};
    const char *at = strstr(line, ": runtime error: ");
    if (at == NULL)
        return false;
    size_t length = (size_t)(at - line);
    const char *name = base_name(line, length);
    length -= (size_t)(name - line);
    const char *column = memrchr(name, ':', length);
    if (column != NULL && memchr(name, ':', (size_t)(column - name)) != NULL)
        length = (size_t)(column - name);
    snprintf(c->by, sizeof(c->by), "UndefinedBehaviorSanitizer");
    set_kind(c, at + strlen(": runtime error: "), ends);
    without_numbers(c->kind);
    copy(c->place, sizeof(c->place), name, length);
    return true;
}

/* "BUG: KASAN: slab-out-of-bounds in function+0x1a/0x20" */
static bool kernel(const char *line, struct iw_crash *c)
{
    static const char *const ends[] = {" in ", NULL};
    const char *at = strstr(line, "BUG: KASAN: ");
    if (at == NULL)
        return false;
    snprintf(c->by, sizeof(c->by), "KASAN");
    set_kind(c, at + strlen("BUG: KASAN: "), ends);
    const char *in = strstr(at, " in ");
    if (in != NULL)
        copy(c->function, sizeof(c->function), in + 4, strcspn(in + 4, "+ \n"));
    return true;
}

/* "==1== Invalid write of size 4" */
static bool valgrind(const char *line, struct iw_crash *c)
{
    static const char *const kinds[] = {"Invalid read",
                                        "Invalid write",
                                        "Invalid free()",
                                        "Mismatched free()",
                                        "Conditional jump or move depends on uninitialised value",
                                        "Use of uninitialised value",
                                        "Source and destination overlap",
                                        "Jump to the invalid address",
                                        "Process terminating with default action of signal"};
    if (!begins_with(line, "=="))
        return false;
    const char *text = strstr(line + 2, "== ");
    if (text == NULL || strspn(line + 2, "0123456789") != (size_t)(text - line - 2))
        return false;
    text += strlen("== ");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (!begins_with(text, kinds[i]))
            continue;
        snprintf(c->by, sizeof(c->by), "valgrind");
        snprintf(c->kind, sizeof(c->kind), "%s", kinds[i]);
        return true;
    }
    return false;
}

/* "program: file.c:12: function: Assertion `...' failed." */
static bool assertion(const char *line, struct iw_crash *c)
{
    const char *at = strstr(line, ": Assertion `");
    if (at == NULL)
        return false;
    const char *function = at;
    while (function > line && function[-1] != ' ')
        function--;
    const char *place_end = function > line + 1 ? function - 2 : line;
    const char *place = place_end;
    while (place > line && place[-1] != ' ')
        place--;
    const char *name = base_name(place, (size_t)(place_end - place));
    snprintf(c->by, sizeof(c->by), "assertion");
    copy(c->kind, sizeof(c->kind), at + strlen(": Assertion `"),
         strcspn(at + strlen(": Assertion `"), "'\n"));
    copy(c->function, sizeof(c->function), function, (size_t)(at - function));
    copy(c->place, sizeof(c->place), name, (size_t)(place_end - name));
    return true;
}

/* What the C library says before it aborts. */
static bool library(const char *line, struct iw_crash *c)
{
    static const char *const messages[] = {
        "stack smashing detected",   "buffer overflow detected",
        "double free or corruption", "double free detected",
        "free(): invalid",           "malloc(): ",
        "realloc(): invalid",        "corrupted size vs. prev_size",
        "munmap_chunk(): "};
    for (size_t i = 0; i < sizeof(messages) / sizeof(*messages); i++) {
        const char *at = strstr(line, messages[i]);
        if (at == NULL)
            continue;
        snprintf(c->by, sizeof(c->by), "C library");
        size_t length = strcspn(at, "*\n");
        while (length > 0 && at[length - 1] == ' ')
            length--;
        copy(c->kind, sizeof(c->kind), at, length);
        return true;
    }
    return false;
}

static bool report_of(const char *line, struct iw_crash *c)
{
    *c = (struct iw_crash){.by = ""};
    return sanitizer(line, c) || undefined_behaviour(line, c) || kernel(line, c) ||
           valgrind(line, c) || assertion(line, c) || library(line, c);
}

bool iw_crash_begins(const char *line)
{
    struct iw_crash c;
    return report_of(line, &c);
}

/* ---- its stack ---- */

struct frame {
    const char *name, *place;
    size_t name_length, place_length;
};

/* "    #1 0x55d in name /folder/file.c:12:3", "    #1 name file.c:12 (program+0x1)", and valgrind's
 * "==1==    at 0x4: name (file.c:12)". */
static bool read_frame(const char *line, struct frame *f)
{
    const char *p = line + strspn(line, " \t");
    bool grind = begins_with(p, "==");
    if (grind) {
        const char *at = strstr(p, "== ");
        at = at == NULL ? NULL : at + 3 + strspn(at + 3, " ");
        if (at == NULL || !(begins_with(at, "at 0x") || begins_with(at, "by 0x")))
            return false;
        p = strstr(at, ": ");
        if (p == NULL)
            return false;
        p += 2;
    } else {
        if (*p != '#' || !isdigit((unsigned char)p[1]))
            return false;
        p += 1 + strspn(p + 1, "0123456789");
        p += strspn(p, " ");
        const char *in = strstr(p, " in ");
        if (begins_with(p, "0x") && in == NULL)
            return false;
        if (begins_with(p, "0x"))
            p = in + strlen(" in ");
    }
    f->name = p;
    f->name_length = strcspn(p, " (\n");
    p += f->name_length;
    p += strspn(p, grind ? " (" : " ");
    f->place = p;
    f->place_length = strcspn(p, grind ? ")\n" : " \n");
    return true;
}

/* A part of the place's text. */
static bool in_place(const struct frame *f, const char *part)
{
    size_t length = strlen(part);
    for (size_t i = 0; i + length <= f->place_length; i++)
        if (strncmp(f->place + i, part, length) == 0)
            return true;
    return false;
}

static bool is_named(const struct frame *f, const char *name)
{
    return strlen(name) == f->name_length && strncmp(f->name, name, f->name_length) == 0;
}

/* The sanitizer's and the C library's own frames say nothing of the program. */
static bool is_own(const struct frame *f)
{
    static const char *const starts[] = {"__interceptor_", "__asan",  "__sanitizer", "__ubsan_",
                                         "__lsan_",        "__msan_", "__tsan_",     "__GI_",
                                         "__assert",       "operator"};
    static const char *const names[] = {
        "memcpy",  "memmove", "memset", "memcmp", "strlen",  "strcpy", "strcat", "malloc", "calloc",
        "realloc", "free",    "raise",  "abort",  "gsignal", "??",     "bool",   "void"};
    static const char *const places[] = {
        "libsanitizer", "sanitizer_common", "compiler-rt", "/sysdeps/", "/libc.so",
        "/libc-",       "vg_replace",       "/csu/",       "libasan",   "libubsan"};
    for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
        if (strncmp(f->name, starts[i], strlen(starts[i])) == 0)
            return false;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (is_named(f, names[i]))
            return false;
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
        if (in_place(f, places[i]))
            return false;
    return true;
}

/* "folder/file.c:12:3" as "file.c:12". */
static void set_place(struct iw_crash *c, const struct frame *f)
{
    const char *name = base_name(f->place, f->place_length);
    size_t length = f->place_length - (size_t)(name - f->place);
    size_t file = 0;
    while (file < length && name[file] != ':')
        file++;
    size_t end = file < length ? file + 1 : file;
    while (end < length && isdigit((unsigned char)name[end]))
        end++;
    if (file < length && end > file + 1)
        copy(c->place, sizeof(c->place), name, end);
}

static void add_caller(struct iw_crash_reader *r, const struct frame *f)
{
    char *callers = r->report.callers;
    size_t length = strlen(callers), room = sizeof(r->report.callers) - length;
    if (r->callers == IW_CRASH_CALLERS || f->name_length + sizeof(", ") > room)
        return;
    snprintf(callers + length, room, "%s%.*s", length > 0 ? ", " : "", (int)f->name_length,
             f->name);
    r->callers++;
}

static void take_frame(struct iw_crash_reader *r, const char *line)
{
    struct frame f;
    bool frame = read_frame(line, &f);
    if (!frame)
        r->left = r->left || r->framed;
    if (!frame || r->left || !is_own(&f))
        return;
    if (r->framed) {
        add_caller(r, &f);
        return;
    }
    r->framed = true;
    copy(r->report.function, sizeof(r->report.function), f.name, f.name_length);
    set_place(&r->report, &f);
}

/* ---- a log ---- */

bool iw_crash_line(struct iw_crash_reader *r, const char *line, struct iw_crash *done)
{
    struct iw_crash next;
    if (!report_of(line, &next)) {
        if (r->begun)
            take_frame(r, line);
        return false;
    }
    bool ended = iw_crash_end(r, done);
    bool named = next.function[0] != '\0';
    *r = (struct iw_crash_reader){.report = next, .begun = true, .framed = named, .left = named};
    return ended;
}

bool iw_crash_end(struct iw_crash_reader *r, struct iw_crash *done)
{
    bool begun = r->begun;
    if (begun)
        *done = r->report;
    r->begun = false;
    return begun;
}

bool iw_crash_find(const char *text, struct iw_crash *found)
{
    struct iw_crash_reader r = {.begun = false};
    while (*text != '\0') {
        char line[LINE];
        size_t length = strcspn(text, "\n");
        copy(line, sizeof(line), text, length);
        if (iw_crash_line(&r, line, found))
            return true;
        text += length + (text[length] == '\n');
    }
    return iw_crash_end(&r, found);
}

void iw_crash_text(const struct iw_crash *c, char text[IW_CRASH_TEXT])
{
    snprintf(text, IW_CRASH_TEXT, "%s: %s%s%s%s%s%s", c->by, c->kind,
             c->function[0] != '\0' ? " in " : "", c->function, c->place[0] != '\0' ? " (" : "",
             c->place, c->place[0] != '\0' ? ")" : "");
}

/* Whether the text up to `end` closes with " in NAME". */
static bool names_function(const char *text, const char *end)
{
    static const char in[] = " in";
    const char *name = end;
    while (name > text && name[-1] != ' ')
        name--;
    return name < end && name - text > (ptrdiff_t)strlen(in) &&
           strncmp(name - 1 - strlen(in), in, strlen(in)) == 0;
}

void iw_crash_cause(const char *text, char cause[IW_CRASH_TEXT])
{
    size_t length = strlen(text);
    const char *place = NULL;
    for (const char *p = strstr(text, " ("); p != NULL; p = strstr(p + 1, " ("))
        place = p;
    if (place != NULL && text[length - 1] == ')' && names_function(text, place))
        length = (size_t)(place - text);
    copy(cause, IW_CRASH_TEXT, text, length);
}
