/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a harness once for each file named, and for each file in the folders named. */
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t inputs;
static bool verbose;

static _Noreturn void die(const char *path)
{
    fprintf(stderr, "fuzz-%s: %s: %s\n", iw_fuzz_harness.name, path, strerror(errno));
    exit(2);
}

static void run_file(int fd, const char *path, off_t size)
{
    size_t length = (size_t)size < iw_fuzz_harness.most ? (size_t)size : iw_fuzz_harness.most;
    uint8_t *octets = malloc(length + (length == 0));
    size_t got = 0;
    ssize_t n = 1;

    while (octets != NULL && got < length && (n = read(fd, octets + got, length - got)) > 0)
        got += (size_t)n;
    if (octets == NULL || n < 0)
        die(path);
    if (verbose)
        fprintf(stderr, "%s\n", path);
    iw_fuzz_harness.run(octets, got);
    free(octets);
    inputs++;
}

static void run_path(const char *path);

static void run_folder(const char *path)
{
    struct dirent **names;
    int count = scandir(path, &names, NULL, alphasort);
    if (count < 0)
        die(path);
    for (int i = 0; i < count; i++) {
        char *inner = NULL;
        if (names[i]->d_name[0] != '.') {
            if (asprintf(&inner, "%s/%s", path, names[i]->d_name) < 0)
                exit(2);
            run_path(inner);
            free(inner);
        }
        free(names[i]);
    }
    free(names);
}

static void run_path(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0)
        die(path);
    if (S_ISDIR(status.st_mode))
        run_folder(path);
    else
        run_file(fd, path, status.st_size);
    close(fd);
}

static _Noreturn void usage(void)
{
    fprintf(stderr,
            "usage: fuzz-%s [-v] FILE|FOLDER...\n"
            "Runs the harness once for each file. -v names each file first; -i says what the\n"
            "inputs are and does nothing.\n",
            iw_fuzz_harness.name);
    exit(64);
}

int main(int argc, char **argv)
{
    int first = 1;

    if (argc == 2 && strcmp(argv[1], "-i") == 0) {
        printf("%s%s%s%s\n", iw_fuzz_harness.name, iw_fuzz_harness.steps ? " steps" : "",
               iw_fuzz_harness.single ? " single" : "",
               iw_fuzz_harness.commands ? " commands" : "");
        return 0;
    }
    verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
    first += verbose;
    if (first >= argc || argv[first][0] == '-')
        usage();
    if (iw_fuzz_harness.start != NULL)
        iw_fuzz_harness.start();
    for (int i = first; i < argc; i++)
        run_path(argv[i]);
    printf("fuzz-%s: %zu inputs\n", iw_fuzz_harness.name, inputs);
    return 0;
}
