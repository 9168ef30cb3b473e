/* SPDX-License-Identifier: BSD-3-Clause */
#include "live_support.h"

#include <ftw.h>
#include <stdio.h>
#include <unistd.h>

#include "host/complain.h"
#include "host/text.h"

/* As iwarp-fuzz's command line does. */
__attribute__((constructor)) static void name(void)
{
    iw_complain_as("iwarp-fuzz");
}

enum { FOLDERS = 32 }; /* of one test */

static const char letters[] = "ab_t@fr";

static size_t octets_of(const char *hex, size_t digits, uint8_t *out)
{
    for (size_t i = 0; i + 1 < digits; i += 2) {
        const char pair[] = {hex[i], hex[i + 1], 0};

        out[i / 2] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return digits / 2;
}

struct iw_hunt_input *support_input(const char *text)
{
    struct iw_hunt_input *in = iw_hunt_input_new();

    while (*text) {
        size_t length = strcspn(text, " ");
        uint8_t kind = (uint8_t)(strchr(letters, *text) - letters);
        uint8_t *octets = iw_got(malloc(length));

        if (kind == IW_FUZZ_TIME)
            iw_hunt_add_time(in, (unsigned)strtoul(text + 1, NULL, 10));
        else
            iw_hunt_add(in, kind, octets, octets_of(text + 1, length - 1, octets));
        free(octets);
        text += length + (text[length] == ' ');
    }
    return in;
}

char *support_text(const struct iw_hunt_input *in)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = iw_got(open_memstream(&text, &size));

    for (size_t i = 0; i < in->n; i++) {
        const struct iw_hunt_step *s = &in->steps[i];

        fprintf(f, "%s%c", i ? " " : "", letters[s->kind]);
        if (s->kind == IW_FUZZ_TIME)
            fprintf(f, "%d", s->octets[0] | s->octets[1] << 8);
        for (size_t k = 0; s->kind != IW_FUZZ_TIME && k < s->length; k++)
            fprintf(f, "%02x", s->octets[k]);
    }
    fclose(f);
    return text;
}

void support_is(const struct iw_hunt_input *in, const char *text)
{
    char *own = support_text(in);

    assert_string_equal(own, text);
    free(own);
}

static char *whole(FILE *f)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = iw_got(open_memstream(&text, &size));
    int c;

    rewind(f);
    while ((c = getc(f)) != EOF)
        putc(c, out);
    fclose(out);
    fclose(f);
    return text;
}

/* What support_printed redirects; `file` is NULL while it does not. */
static struct {
    FILE *file;
    int fd, before;
} printed;

static bool give_back(void)
{
    bool good;

    fflush(NULL);
    good = dup2(printed.before, printed.fd) == printed.fd;
    close(printed.before);
    return good;
}

char *support_printed(int fd, void (*run)(void *context), void *context)
{
    FILE *f;

    printed.file = iw_got(tmpfile());
    fflush(NULL);
    printed.fd = fd;
    printed.before = dup(fd);
    assert_true(printed.before >= 0 && dup2(fileno(printed.file), fd) == fd);
    run(context);
    assert_true(give_back());
    f = printed.file;
    printed.file = NULL;
    return whole(f);
}

static char folders[FOLDERS][sizeof("live-XXXXXX")];
static size_t n_folders;

const char *support_folder(void)
{
    char *path = folders[n_folders];

    assert_true(n_folders < FOLDERS);
    snprintf(path, sizeof(folders[0]), "live-XXXXXX");
    assert_non_null(mkdtemp(path));
    n_folders++;
    return path;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at)
{
    (void)status;
    (void)kind;
    (void)at;
    return remove(path);
}

int support_clean(void **state)
{
    bool good = true;

    (void)state;
    if (printed.file != NULL) { /* the test failed in what it ran */
        good = give_back();
        fclose(printed.file);
        printed.file = NULL;
    }
    while (n_folders > 0)
        good = !nftw(folders[--n_folders], remove_one, 8, FTW_DEPTH | FTW_PHYS) && good;
    return good ? 0 : -1;
}

char *support_file(const char *folder, const char *name, const char *text)
{
    char *path = iw_text_format("%s/%s", folder, name);
    FILE *f = iw_got(fopen(path, "w"));

    fputs(text, f);
    assert_int_equal(fclose(f), 0);
    return path;
}

char *support_read(const char *path)
{
    return whole(iw_got(fopen(path, "r")));
}

void support_expects(const char *text, const char *name)
{
    char *path = iw_text_format("%s/expected/%s", SUPPORT_SOURCE, name);
    bool writes = getenv("IW_WRITE_EXPECTED") != NULL;
    char *expected = writes && access(path, F_OK) ? iw_text_copy("") : support_read(path);

    if (writes && strcmp(text, expected) != 0) {
        FILE *f = iw_got(fopen(path, "w"));

        fputs(text, f);
        assert_int_equal(fclose(f), 0);
        fail_msg("%s is written: look at it", path);
    }
    assert_string_equal(text, expected);
    free(expected);
    free(path);
}
