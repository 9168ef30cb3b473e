/* SPDX-License-Identifier: BSD-3-Clause */
#include "support.h"

#include <ftw.h>
#include <stdio.h>
#include <unistd.h>

#include "text.h"

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

char *support_printed(int fd, void (*run)(void *context), void *context)
{
    FILE *f = iw_got(tmpfile());
    int before;

    fflush(NULL);
    before = dup(fd);
    assert_true(before >= 0 && dup2(fileno(f), fd) == fd);
    run(context);
    fflush(NULL);
    assert_int_equal(dup2(before, fd), fd);
    close(before);
    return whole(f);
}

char *support_folder(void)
{
    char *path = iw_text_copy("live-XXXXXX");

    assert_non_null(mkdtemp(path));
    return path;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at)
{
    (void)status;
    (void)kind;
    (void)at;
    return remove(path);
}

void support_remove(char *folder)
{
    assert_int_equal(nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    free(folder);
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
    char *path = iw_text_format("%s/expected/%s", SUPPORT_SOURCE, name), *expected;

    if (getenv("IW_WRITE_EXPECTED")) {
        FILE *f = iw_got(fopen(path, "w"));

        fputs(text, f);
        assert_int_equal(fclose(f), 0);
    }
    expected = support_read(path);
    assert_string_equal(text, expected);
    free(expected);
    free(path);
}
