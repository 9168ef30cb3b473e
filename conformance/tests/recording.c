/* SPDX-License-Identifier: BSD-3-Clause */
#include "recording.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "host/complain.h"

/* As iwarp-conform's command line does. */
__attribute__((constructor)) static void name(void)
{
    iw_complain_as("iwarp-conform");
}

enum { FILE_HEADER = 24, RECORD = 16, CAPTURED = 8 };

void recording_read(struct recording *r, const char *name)
{
    char path[512];
    FILE *f;

    assert_true((size_t)snprintf(path, sizeof(path), PCAPS "/%s", name) < sizeof(path));
    f = fopen(path, "rb");
    assert_non_null(f);
    r->length = fread(r->octets, 1, sizeof(r->octets), f);
    assert_true(r->length > FILE_HEADER && r->length < sizeof(r->octets));
    fclose(f);
}

size_t recording_frame(const struct recording *r, unsigned number, size_t *length)
{
    size_t at = FILE_HEADER;

    for (unsigned i = 1;; i++) {
        assert_true(at + RECORD < r->length);
        *length = r->octets[at + CAPTURED] | (size_t)r->octets[at + CAPTURED + 1] << 8;
        at += RECORD;
        assert_true(*length <= r->length - at);
        if (i == number)
            return at;
        at += *length;
    }
}

void recording_shorten(struct recording *r, unsigned number, size_t count)
{
    size_t length;
    size_t at = recording_frame(r, number, &length);
    uint8_t *captured = r->octets + at - RECORD + CAPTURED;

    captured[0] = (uint8_t)(length - count);
    captured[1] = (uint8_t)((length - count) >> 8);
    memmove(r->octets + at + length - count, r->octets + at + length, r->length - at - length);
    r->length -= count;
}

void recording_write(const struct recording *r, const struct folder *s, const char *name)
{
    char *path = folder_file(s, name, "");
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(r->octets, 1, r->length, f), r->length);
    assert_int_equal(fclose(f), 0);
    free(path);
}

int recording_setup(void **state)
{
    *state = calloc(1, sizeof(struct folder));
    return *state != NULL ? folder_make(*state) : -1;
}

int recording_teardown(void **state)
{
    folder_remove(*state);
    free(*state);
    return 0;
}
