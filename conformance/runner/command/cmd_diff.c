/* SPDX-License-Identifier: BSD-3-Clause */
/* `iwarp-conform diff`: two runs, of two peers or of two versions of one. */
#include <string.h>

#include "cmd_diff.h"
#include "compare/diff_messages.h"
#include "compare/run_file.h"
#include "host/complain.h"
#include "host/json_values.h"
#include "host/text.h"

/* Members of a case that say what the peer did; when and where it was played do not. */
static const char *const compared[] = {"verdict",  "rule",   "reason",
                                       "expected", "actual", "observed"};

struct side {
    const char *name; /* "A" */
    struct iw_run_file file;
};

static bool differ(const json_t *a, const json_t *b)
{
    for (size_t i = 0; i < sizeof(compared) / sizeof(*compared); i++)
        if (strcmp(iw_json_get_text(a, compared[i]), iw_json_get_text(b, compared[i])) != 0)
            return true;
    return false;
}

static void print_member(const json_t *one, const char *name)
{
    if (*iw_json_get_text(one, name))
        printf("     %-8s %s\n", name, iw_json_get_text(one, name));
}

static void print_side(const struct side *s, const json_t *one)
{
    if (one == NULL) {
        printf("  %s  (not played)\n", s->name);
        return;
    }
    printf("  %s  %s%s%s%s%s\n", s->name, iw_json_get_text(one, "verdict"),
           *iw_json_get_text(one, "rule") ? " " : "", iw_json_get_text(one, "rule"),
           *iw_json_get_text(one, "reason") ? ": " : "", iw_json_get_text(one, "reason"));
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
        iw_diff_messages(stdout, a, b);
}

static size_t compare(const struct side sides[2])
{
    const json_t *one;
    size_t i, n = 0;
    json_array_foreach(sides[0].file.cases, i, one)
    {
        const json_t *other = iw_run_file_case(&sides[1].file, iw_json_get_text(one, "id"));
        if (other != NULL && !differ(one, other))
            continue;
        print_difference(sides, iw_json_get_text(one, "id"), one, other);
        n++;
    }
    json_array_foreach(sides[1].file.cases, i, one)
    {
        if (iw_run_file_case(&sides[0].file, iw_json_get_text(one, "id")) != NULL)
            continue;
        print_difference(sides, iw_json_get_text(one, "id"), NULL, one);
        n++;
    }
    return n;
}

int iw_command_diff(const struct iw_command *c)
{
    struct side sides[2] = {{.name = "A"}, {.name = "B"}};
    int status = IW_EXIT_USAGE;
    if (iw_run_file_read(&sides[0].file, c->operands[0]) &&
        iw_run_file_read(&sides[1].file, c->operands[1])) {
        size_t n = compare(sides);
        for (size_t i = 0; i < 2; i++) {
            const json_t *target = json_object_get(sides[i].file.run, "target");

            printf("%s  %s: %s %s\n", sides[i].name, sides[i].file.path,
                   iw_json_get_text(target, "name"), iw_json_get_text(target, "version"));
        }
        printf("%zu case%s %s\n", n, iw_text_plural(n), n == 1 ? "differs" : "differ");
        status = n ? IW_EXIT_FAILURE : IW_EXIT_GOOD;
    }
    iw_run_file_free(&sides[0].file);
    iw_run_file_free(&sides[1].file);
    return status;
}
