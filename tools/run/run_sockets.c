/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_sockets.h"

#include "host/complain.h"
#include "host/files.h"
#include "host/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MOST = 1 << 16 };

static int add(struct run_sockets *s, const char *name, const char *text, char *error, size_t room)
{
    if (iw_socket_rules_add(&s->rules, name, text, error, room) != 0)
        return IW_OPTION_WRONG;
    char *both = iw_text_format("%s%s\n", s->text != NULL ? s->text : "", text);
    free(s->text);
    s->text = both;
    return IW_OPTION_TAKEN;
}

/* "80,mixed" of the command line is the rule "listen 80 mixed". */
static int add_port_rule(struct run_sockets *s, const char *kind, const char *value, char *error,
                         size_t room)
{
    char *rule = iw_text_format("%s %s", kind, value);
    for (char *c = rule; *c != '\0'; c++)
        if (*c == ',' || *c == '\n' || *c == ';' || *c == '#')
            *c = *c == ',' ? ' ' : '?'; /* one rule, and no comment */
    const int result = add(s, "rule", rule, error, room);
    const char *expected = result == IW_OPTION_WRONG ? strstr(error, "expected") : NULL;
    if (expected != NULL)
        memmove(error, expected, strlen(expected) + 1);
    free(rule);
    return result;
}

static int set_port(void *context, const char *value, char *error, size_t room)
{
    return add_port_rule(context, "port", value, error, room);
}

static int set_listen_port(void *context, const char *value, char *error, size_t room)
{
    return add_port_rule(context, "listen", value, error, room);
}

static int set_rules(void *context, const char *value, char *error, size_t room)
{
    static char text[FILE_MOST];
    const ssize_t length = iw_file_read_at_most(value, text, sizeof(text));
    if (length < 0)
        return iw_option_wrong(error, room, "cannot read it: %s", strerror(errno));
    if (length == sizeof(text) || memchr(text, '\0', (size_t)length) != NULL)
        return iw_option_wrong(error, room, "expected a text of less than 64 KiB");
    text[length] = '\0';
    return add(context, value, text, error, room);
}

const struct iw_option run_socket_options[RUN_SOCKET_OPTIONS] = {
    {"sockets", 0, NULL, "make stream sockets iWARP, those that a rule names", 0,
     IW_OPTION_SETS(struct run_sockets, wanted)},
    {"port", 0, "PORT[-PORT][,WORD]",
     "sockets that connect to this port or listen on it; WORD:\n"
     "fallback=tcp, mixed, wait=MS",
     0, IW_OPTION_CALLS(set_port)},
    {"listen-port", 0, "PORT[-PORT][,WORD]", "only those that listen on it; WORD: mixed, wait=MS",
     0, IW_OPTION_CALLS(set_listen_port)},
    {"rules", 0, "FILE", "rules, one per line: see iwarp-run(1)", 0, IW_OPTION_CALLS(set_rules)},
};

int run_pass_sockets(const struct run_sockets *sockets, char *error, size_t room)
{
    if (!sockets->wanted && sockets->text != NULL) {
        snprintf(error, room, "--port, --listen-port and --rules: expected --sockets as well");
        return -1;
    }
    if (sockets->text != NULL && setenv("IWARP_SOCKETS", sockets->text, 1) != 0)
        iw_complain_memory();
    return 0;
}
