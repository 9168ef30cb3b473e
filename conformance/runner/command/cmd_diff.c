/* SPDX-License-Identifier: BSD-3-Clause */
/* `iwarp-conform diff`: two runs, of two peers or of two versions of one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"
#include "host/complain.h"
#include "host/text.h"

enum { ROW = 16 };

/* Members of a case that say what the peer did; when and where it was played do not. */
static const char *const compared[] = {"verdict",  "rule",   "reason",
                                       "expected", "actual", "observed"};

struct side {
    const char *name; /* "A" */
    const char *path;
    json_t *run;
    const json_t *cases;
};

/* A report, or the folder of results that it lies in. */
static bool read_run(struct side *s)
{
    struct stat at;
    bool folder = stat(s->path, &at) == 0 && S_ISDIR(at.st_mode);
    char *path = iw_text_format("%s%s", s->path, folder ? "/run.json" : "");
    json_error_t error;
    s->run = json_load_file(path, 0, &error);
    s->cases = json_object_get(s->run, "cases");
    bool good = json_is_array(s->cases) &&
                json_integer_value(json_object_get(s->run, "schema")) == IW_REPORT_SCHEMA;
    if (s->run == NULL && access(path, R_OK))
        iw_complain("cannot read %s: %s", path, strerror(errno));
    else if (s->run == NULL)
        iw_complain("%s:%d: %s", path, error.line > 0 ? error.line : 0, error.text);
    else if (!good)
        iw_complain("%s: expected the JSON report of a run", path);
    free(path);
    return good;
}

static const char *member(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "";
}

static const json_t *find(const json_t *cases, const char *id)
{
    const json_t *one;
    size_t i;
    json_array_foreach(cases, i, one)
    {
        if (strcmp(member(one, "id"), id) == 0)
            return one;
    }
    return NULL;
}

static bool differ(const json_t *a, const json_t *b)
{
    for (size_t i = 0; i < sizeof(compared) / sizeof(*compared); i++)
        if (strcmp(member(a, compared[i]), member(b, compared[i])) != 0)
            return true;
    return false;
}

/* The octets of the message that decided; "" if there is none. */
static const char *deciding(const json_t *one)
{
    const json_t *line, *remark;
    size_t i, k;
    json_array_foreach(json_object_get(one, "exchange"), i, line)
    {
        json_array_foreach(json_object_get(line, "remarks"), k, remark)
        {
            const char *text = json_string_value(json_array_get(remark, 1));
            if (text != NULL && strncmp(text, "deciding", 8) == 0)
                return member(line, "octets");
        }
    }
    return "";
}

/* The octet at `at` in hexadecimal digits; "  " if there is none. */
static const char *octet(const char *octets, size_t at)
{
    return 2 * at + 2 <= strlen(octets) ? octets + 2 * at : "  ";
}

static void print_row(const char *octets, size_t at)
{
    for (size_t i = at; i < at + ROW; i++)
        printf("%s%.2s", i == at ? "" : " ", octet(octets, i));
}

/* Row by row: those of A, those of B, and which of them differ. */
static void print_octets(const char *a, const char *b)
{
    size_t length = strlen(a) > strlen(b) ? strlen(a) : strlen(b);
    if (strcmp(a, b) == 0)
        return;
    for (size_t at = 0; at * 2 < length; at += ROW) {
        printf("    %04zx  ", at);
        print_row(a, at);
        printf("  |  ");
        print_row(b, at);
        printf("\n          ");
        for (size_t i = at; i < at + ROW; i++)
            printf("%s", strncmp(octet(a, i), octet(b, i), 2) == 0 ? "   " : "^^ ");
        putchar('\n');
    }
}

static void print_member(const json_t *one, const char *name)
{
    if (*member(one, name))
        printf("     %-8s %s\n", name, member(one, name));
}

static void print_side(const struct side *s, const json_t *one)
{
    if (one == NULL) {
        printf("  %s  (not played)\n", s->name);
        return;
    }
    printf("  %s  %s%s%s%s%s\n", s->name, member(one, "verdict"), *member(one, "rule") ? " " : "",
           member(one, "rule"), *member(one, "reason") ? ": " : "", member(one, "reason"));
    print_member(one, "expected");
    print_member(one, "actual");
    print_member(one, "observed");
}

static void print_difference(const struct side sides[2], const char *id, const json_t *a,
                             const json_t *b)
{
    printf("%s\n", id);
    print_side(&sides[0], a);
    print_side(&sides[1], b);
    if (a != NULL && b != NULL)
        print_octets(deciding(a), deciding(b));
}

static size_t compare(const struct side sides[2])
{
    const json_t *one;
    size_t i, n = 0;
    json_array_foreach(sides[0].cases, i, one)
    {
        const json_t *other = find(sides[1].cases, member(one, "id"));
        if (other != NULL && !differ(one, other))
            continue;
        print_difference(sides, member(one, "id"), one, other);
        n++;
    }
    json_array_foreach(sides[1].cases, i, one)
    {
        if (find(sides[0].cases, member(one, "id")) != NULL)
            continue;
        print_difference(sides, member(one, "id"), NULL, one);
        n++;
    }
    return n;
}

int iw_command_diff(const struct iw_command *c)
{
    struct side sides[2] = {{.name = "A", .path = c->operands[0]},
                            {.name = "B", .path = c->operands[1]}};
    int status = IW_EXIT_USAGE;
    if (read_run(&sides[0]) && read_run(&sides[1])) {
        size_t n = compare(sides);
        for (size_t i = 0; i < 2; i++) {
            const json_t *target = json_object_get(sides[i].run, "target");

            printf("%s  %s: %s %s\n", sides[i].name, sides[i].path, member(target, "name"),
                   member(target, "version"));
        }
        printf("%zu cases differ\n", n);
        status = n ? IW_EXIT_FAILURE : IW_EXIT_GOOD;
    }
    json_decref(sides[0].run);
    json_decref(sides[1].run);
    return status;
}
