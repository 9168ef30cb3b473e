/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz-minimise: makes an input smaller as long as a replay program fails on it in the same way:
 * the same exit status or signal, and, numbers aside, the same line of an oracle ("fuzz: ...") or a
 * sanitizer ("SUMMARY: ...").
 */
#include "host/files.h"
#include "host/spawn.h"
#include "mutate/trim.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 20 }; /* that a run may take */

struct failure {
    int status;
    char line[256];
};

static char scratch[] = "/tmp/fuzz-minimise-XXXXXX";
static uint8_t input[IW_MUTATE_INPUT_MAX], attempt[IW_MUTATE_INPUT_MAX];
static struct iw_mutate_trim trim;
static size_t runs;
static bool single, commands;

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "fuzz-minimise: %s: %s\n", what, strerror(errno));
    exit(2);
}

static void save(const char *path, const uint8_t *octets, size_t size)
{
    FILE *f = fopen(path, "wb");

    if (f == NULL || fwrite(octets, 1, size, f) != size || fclose(f) != 0)
        die(path);
}

/* Keeps the line that says what failed, without its numbers. */
static void keep_line(struct failure *f, const char *line)
{
    const char *from = strstr(line, "SUMMARY: ");
    size_t n = 0;

    if (from == NULL && strncmp(line, "fuzz: ", 6) == 0)
        from = line;
    if (from == NULL || f->line[0] != '\0')
        return;
    for (; *from != '\0' && *from != '\n' && n + 1 < sizeof(f->line); from++)
        if (!isdigit((unsigned char)*from))
            f->line[n++] = *from;
    f->line[n] = '\0';
}

static struct failure replay(const char *program, const uint8_t *octets, size_t size)
{
    save(scratch, octets, size);
    runs++;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        die("cannot make a pipe");
    char *const argv[] = {(char *)(uintptr_t)program, scratch, NULL};
    const struct iw_spawn how = {.output = IW_SPAWN_NOWHERE, .errors = ends[1], .seconds = SECONDS};
    pid_t pid = iw_spawn(program, argv, &how);
    if (pid < 0)
        die(program);
    close(ends[1]);
    FILE *in = fdopen(ends[0], "r");
    if (in == NULL)
        die("cannot read from a pipe");
    struct failure f = {0};
    char line[4096];
    while (fgets(line, sizeof(line), in) != NULL)
        keep_line(&f, line);
    fclose(in);
    if (waitpid(pid, &f.status, 0) != pid)
        die(program);
    return f;
}

static bool alike(const struct failure *a, const struct failure *b)
{
    return a->status == b->status && strcmp(a->line, b->line) == 0;
}

/* Minimises plain octets: leaves out rows of them, halves first. */
static size_t minimise_octets(const char *program, const struct failure *want, size_t size)
{
    for (size_t width = size / 2; width > 0; width /= 2)
        for (size_t at = 0; at + width <= size;) {
            memcpy(attempt, input, at);
            memcpy(attempt + at, input + at + width, size - at - width);
            struct failure got = replay(program, attempt, size - width);
            if (alike(&got, want)) {
                size -= width;
                memcpy(input, attempt, size);
            } else {
                at += width;
            }
        }
    return size;
}

static size_t minimise_steps(const char *program, const struct failure *want, size_t size)
{
    trim.best.single = single;
    trim.best.commands = commands;
    if (!iw_mutate_trim_begin(&trim, input, size))
        return size;
    size_t length;
    while (iw_mutate_trim_try(&trim, attempt, sizeof(attempt), &length)) {
        struct failure got = replay(program, attempt, length);
        bool good = alike(&got, want);
        if (good) {
            memcpy(input, attempt, length);
            size = length;
        }
        iw_mutate_trim_verdict(&trim, good);
    }
    return size;
}

int main(int argc, char **argv)
{
    const char *form = argc == 5 ? argv[1] : "";
    bool plain = strcmp(form, "--plain") == 0;

    single = strcmp(form, "--single") == 0;
    commands = strcmp(form, "--commands") == 0;
    if (argc != 4 + (plain || single || commands)) {
        fputs("usage: fuzz-minimise [--single|--commands|--plain] REPLAY-PROGRAM INPUT OUTPUT\n"
              "Writes the smallest input found that fails as INPUT does. What the harness takes,\n"
              "as REPLAY-PROGRAM -i says: steps of two streams, of one (--single), commands\n"
              "(--commands), or no steps at all (--plain).\n",
              stderr);
        return 64;
    }
    argv += argc - 4;
    const ssize_t got = iw_file_read_at_most(argv[2], input, sizeof(input));
    if (got == IW_FILE_UNOPENED)
        die(argv[2]);
    size_t size = got > 0 ? (size_t)got : 0;
    size_t before = size;
    int fd = mkstemp(scratch);
    if (fd < 0)
        die(scratch);
    close(fd);
    struct failure want = replay(argv[1], input, size);
    if (want.status == 0) {
        unlink(scratch);
        fprintf(stderr, "fuzz-minimise: %s does not fail on %s\n", argv[1], argv[2]);
        return 1;
    }
    size = plain ? minimise_octets(argv[1], &want, size) : minimise_steps(argv[1], &want, size);
    unlink(scratch);
    save(argv[3], input, size);
    printf("%zu -> %zu octets in %zu runs\n", before, size, runs);
    return 0;
}
