/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * iwarp-lint's main() as often as a test asks for it, in one process: a sanitizer's start alone
 * takes longer than most of what is read here. A request on the standard input is a length (4
 * octets, in the order of the machine) and as many octets: words, each with a zero at its end. An
 * answer on the standard output is the exit status and two lengths, then the octets that were
 * printed to the standard output and to the standard error.
 */
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WORDS = 64, LENGTH = 65536 };

int iw_lint_main(int argc, char **argv);

static void stop(const char *what)
{
    perror(what);
    exit(70);
}

/* Empties what `fd` was redirected to. */
static void empty(int file, int fd)
{
    if (ftruncate(file, 0) || lseek(file, 0, SEEK_SET) || dup2(file, fd) < 0)
        stop("redirect");
}

static void copy(int file, FILE *to)
{
    char octets[4096];
    ssize_t got;

    if (lseek(file, 0, SEEK_SET))
        stop("rewind");
    while ((got = read(file, octets, sizeof(octets))) > 0)
        fwrite(octets, 1, (size_t)got, to);
}

static uint32_t length(int file)
{
    return (uint32_t)lseek(file, 0, SEEK_END);
}

int main(void)
{
    static char text[LENGTH + 1];
    FILE *answers = fdopen(dup(1), "w");
    int out = memfd_create("out", MFD_CLOEXEC), err = memfd_create("err", MFD_CLOEXEC);
    int our_err = dup(2);
    uint32_t size;

    if (answers == NULL || out < 0 || err < 0 || our_err < 0)
        stop("files");
    while (fread(&size, sizeof(size), 1, stdin) == 1) {
        char *words[WORDS + 2] = {(char[]){"iwarp-lint"}};
        uint32_t answer[3];
        int count = 1;

        if (size > LENGTH || fread(text, 1, size, stdin) != size)
            exit(70);
        for (char *at = text; at < text + size && count <= WORDS; at += strlen(at) + 1)
            words[count++] = at;
        empty(out, 1);
        empty(err, 2);
        optind = 0; /* glibc: from the beginning again */
        answer[0] = (uint32_t)iw_lint_main(count, words);
        fflush(stdout);
        fflush(stderr);
        answer[1] = length(out);
        answer[2] = length(err);
        /* What a sanitizer has to say later is for who started us. */
        if (dup2(our_err, 2) < 0)
            stop("redirect");
        fwrite(answer, sizeof(answer), 1, answers);
        copy(out, answers);
        copy(err, answers);
        if (fflush(answers))
            stop("answer");
    }
    return 0;
}
