/* SPDX-License-Identifier: BSD-3-Clause */
/* The secret that an agent and its clients share. */
#include "iwarp/control.h"

#include "host/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool printable(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return false;
    return true;
}

int iw_control_token_set(struct iw_control_token *t, const char *text, size_t length, char *error,
                         size_t room)
{
    *t = (struct iw_control_token){0};
    if (length < IW_CONTROL_TOKEN_MIN || length > IW_CONTROL_TOKEN_MAX ||
        !printable(text, length)) {
        snprintf(error, room, "expected a token of %d to %d printable ASCII octets without spaces",
                 IW_CONTROL_TOKEN_MIN, IW_CONTROL_TOKEN_MAX);
        return -1;
    }
    memcpy(t->text, text, length);
    t->length = length;
    return 0;
}

int iw_control_token_read(struct iw_control_token *t, const char *path, char *error, size_t room)
{
    char text[IW_CONTROL_TOKEN_MAX + 3], why[120];
    const ssize_t got = iw_file_read_at_most(path, text, sizeof(text));
    if (got == IW_FILE_UNOPENED) {
        snprintf(error, room, "token file %s: %s", path, strerror(errno));
        return -1;
    }
    const bool failed = got < 0;
    size_t length = failed ? 0 : (size_t)got;
    if (length > 0 && text[length - 1] == '\n')
        length--;
    if (length > 0 && text[length - 1] == '\r')
        length--;
    if (failed || iw_control_token_set(t, text, length, why, sizeof(why))) {
        snprintf(error, room, "token file %s: %s", path, failed ? "cannot be read" : why);
        return -1;
    }
    return 0;
}

int iw_control_token_find(struct iw_control_token *t, const char *path, char *error, size_t room)
{
    char why[120];
    const char *text = getenv(IW_CONTROL_TOKEN_ENV);
    *t = (struct iw_control_token){0};
    if (path != NULL)
        return iw_control_token_read(t, path, error, room);
    if (text == NULL || iw_control_token_set(t, text, strlen(text), why, sizeof(why)) == 0)
        return 0;
    snprintf(error, room, "environment variable %s: %s", IW_CONTROL_TOKEN_ENV, why);
    return -1;
}

/* The time that it takes shows neither where they differ nor by how much in length. */
bool iw_control_token_same(const struct iw_control_token *t, const char *text, size_t length)
{
    char padded[IW_CONTROL_TOKEN_MAX] = "";
    volatile unsigned char difference = t->length != length || length == 0;
    memcpy(padded, text, length < sizeof(padded) ? length : sizeof(padded));
    for (size_t i = 0; i < sizeof(padded); i++)
        difference = (unsigned char)(difference | (padded[i] ^ t->text[i]));
    return difference == 0;
}
