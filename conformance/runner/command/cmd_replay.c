/* SPDX-License-Identifier: BSD-3-Clause */
/* `iwarp-conform replay`: a run of one case, which a conversation of a capture makes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/places.h"
#include "cmd_replay.h"
#include "cmd_run.h"
#include "host/complain.h"
#include "host/number.h"
#include "host/text.h"

static bool one_of(const char *word, const char *a, const char *b)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

static bool is_numbers(const char *text)
{
    size_t n = strlen(text);
    return n && n < 64 && strspn(text, "0123456789,") == n && text[0] != ',' &&
           text[n - 1] != ',' && strstr(text, ",,") == NULL;
}

static bool is_time(const char *text)
{
    if (one_of(text, "keep", "drop"))
        return true;
    if (strncmp(text, "scale=", 6) != 0)
        return false;
    double scale;
    return strcmp(text + 6, "0") == 0 || iw_number_real(text + 6, 0, 1000, &scale);
}

static bool is_octets(const char *text)
{
    size_t n = strlen(text);
    return n % 2 == 0 && n <= 1024 && strspn(text, "0123456789abcdefABCDEF") == n;
}

/* What is wrong with the options; NULL if nothing is. */
static char *wrong(const struct iw_command *c)
{
    const struct iw_replay *r = &c->replay;
    if (!c->list && r->as == NULL)
        return iw_text_copy("--as: expected the side to play, initiator or responder");
    if (r->as != NULL && !one_of(r->as, "initiator", "responder"))
        return iw_text_format("--as %s: expected initiator or responder", r->as);
    if (r->stream != NULL && !is_numbers(r->stream))
        return iw_text_format("--stream %s: expected the number of a connection, from 0, or "
                              "several, separated by commas",
                              r->stream);
    if (r->time != NULL && !is_time(r->time))
        return iw_text_format("--time %s: expected drop, keep or scale=X with X from 0 to 1000",
                              r->time);
    if (r->private != NULL && !is_octets(r->private))
        return iw_text_format("--private %s: expected hexadecimal digits, two for each of at most "
                              "512 octets",
                              r->private);
    if (r->map != NULL && strpbrk(r->map, "./") != NULL && access(r->map, R_OK))
        return iw_text_format("--map %s: %s", r->map, strerror(errno));
    return NULL;
}

/* Asks about the capture and prints the answer. */
static int describe(const struct iw_command *c, const char *what)
{
    char *own = NULL, *text = NULL;
    struct iw_run_options options = {.pcaps = c->replay_folder, .replay = &c->replay};
    char error[1024];
    int status = IW_EXIT_GOOD;
    options.library = own = iw_library();
    if (iw_script_ask_replay(&options, what, &text, error, sizeof(error))) {
        iw_complain("%s", error);
        status = IW_EXIT_USAGE;
    } else {
        printf("%s\n", text);
    }
    free(own);
    free(text);
    return status;
}

int iw_command_replay(const struct iw_command *c)
{
    struct iw_command with = *c;
    struct stat at;
    char *problem = wrong(c);
    char *path = problem != NULL ? NULL : realpath(c->operands[0], NULL);
    char *slash = path != NULL ? strrchr(path, '/') : NULL;
    int status = IW_EXIT_USAGE;
    if (problem != NULL) {
        iw_complain("%s", problem);
    } else if (slash == NULL) {
        iw_complain("%s: %s", c->operands[0], strerror(errno));
    } else if (stat(path, &at) == 0 && !S_ISREG(at.st_mode)) {
        iw_complain("%s: expected a capture, pcap or pcapng", c->operands[0]);
    } else {
        *slash = 0;
        with.replay_folder = slash == path ? "/" : path;
        with.replay.capture = slash + 1;
        with.trace = c->trace || c->verbose;
        status = describe(&with, c->list ? "list" : "describe");
        if (!status && !c->list) {
            fflush(stdout);
            status = iw_command_run(&with);
        }
    }
    free(problem);
    free(path);
    return status;
}
