/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-msg top: which processes of this host have services, and what they do. */
#include "msg_command.h"
#include "msg_ends.h"

#include "host/complain.h"
#include "host/json_values.h"
#include "host/number.h"
#include "host/text.h"
#include "iwarp/transport.h"
#include "standard.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const struct iw_option msg_top_options[MSG_TOP_OPTIONS] = {
    {"interval", 0, "S", "between two tables (2)", MSG_TOPS,
     IW_OPTION_MEASURES(struct msg_top, interval, 0.1, 3600)},
    {"count", 'n', "N",
     "print so many tables (until interrupted; one if the output is no\n"
     "terminal)",
     MSG_TOPS, IW_OPTION_COUNTS(struct msg_top, count, 1, 10000000)},
    {"json", 0, NULL, "one JSON object per line", MSG_TOPS, IW_OPTION_SETS(struct msg_top, json)},
};

struct top {
    const struct msg_top *o;
    pid_t *only; /* processes; none: all */
    size_t only_count;
    struct msg_ends now, before;
    double elapsed; /* s, between them; 0: there is no table before this one */
};

static double number(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static const char *text(const json_t *object, const char *name)
{
    const char *found = json_string_value(json_object_get(object, name));
    return found != NULL ? found : "-";
}

static bool is_wanted(const struct top *t, const struct msg_end *e)
{
    for (size_t i = 0; i < t->only_count; i++)
        if (t->only[i] == e->process)
            return e->state != NULL;
    return t->only_count == 0 && e->state != NULL;
}

/* Returns what this end said the last time, or NULL. */
static const json_t *state_before(const struct top *t, const struct msg_end *e)
{
    for (size_t i = 0; i < t->before.count; i++) {
        const json_t *state = t->before.list[i].state;
        if (state != NULL && strcmp(text(state, "instance"), text(e->state, "instance")) == 0)
            return state;
    }
    return NULL;
}

/* A count in at most `room` - 1 characters: 12345, 123.4k, 12.3M. */
static const char *shorten(double value, char *out, size_t room)
{
    static const char units[] = " kMGTPE";
    unsigned unit = 0;
    for (; value >= 100000 && unit + 2 < sizeof(units); unit++)
        value /= 1000;
    snprintf(out, room, unit == 0 ? "%.0f" : "%.1f%c", value, units[unit]);
    return out;
}

/* The growth of a count per second. */
static const char *rate(const struct top *t, const json_t *now, const json_t *before,
                        const char *name, double unit, char *out, size_t room)
{
    if (before == NULL || t->elapsed <= 0) {
        snprintf(out, room, "-");
        return out;
    }
    const double value = (number(now, name) - number(before, name)) / t->elapsed / unit;
    if (unit > 1)
        snprintf(out, room, "%.1f", value);
    else
        shorten(value, out, room);
    return out;
}

static void print_end(const struct top *t, const struct msg_end *e)
{
    char a[9][24];
    const json_t *s = e->state, *before = state_before(t, e);
    printf("%7ld %-15.15s %-21s %8s %5.0f %5.0f %7s %7s %8s %8s %8s %8s %8s %8s\n",
           (long)e->process, e->program, text(s, "at"),
           shorten(number(s, "services"), a[0], sizeof(a[0])), number(s, "connections"),
           number(s, "peers"), shorten(number(s, "open"), a[1], sizeof(a[1])),
           shorten(number(s, "queued"), a[2], sizeof(a[2])),
           shorten(number(s, "sent"), a[3], sizeof(a[3])),
           rate(t, s, before, "sent", 1, a[4], sizeof(a[4])),
           rate(t, s, before, "sent_octets", 1e6, a[5], sizeof(a[5])),
           shorten(number(s, "received"), a[6], sizeof(a[6])),
           rate(t, s, before, "received", 1, a[7], sizeof(a[7])),
           rate(t, s, before, "received_octets", 1e6, a[8], sizeof(a[8])));
}

static void print_more(double all, const char *what, const json_t *list)
{
    if (all > (double)json_array_size(list))
        printf("        ... and %.0f %s more\n", all - (double)json_array_size(list), what);
}

static void print_lists(const struct msg_end *e)
{
    size_t i;
    char a[4][24];
    const json_t *one, *s = e->state, *list = json_object_get(s, "service_list");
    printf("        buffers %.1f of %.1f MiB; %.0f delivered, %.0f not; long: %.0f written, %.0f "
           "fetched; connections made %.0f, dropped %.0f\n",
           number(s, "pool_octets") / 1048576, number(s, "pool_most") / 1048576,
           number(s, "delivered"), number(s, "undelivered"), number(s, "written"),
           number(s, "fetched"), number(s, "connected"), number(s, "dropped"));
    if (json_array_size(list) > 0)
        printf("        %-16s %8s %8s %8s %8s %8s\n", "SERVICE", "WAITING", "QUEUED", "REPORTS",
               "SENT", "RECEIVED");
    json_array_foreach(list, i, one)
        printf("        %-16.0f %8.0f %8.0f %8.0f %8s %8s\n", number(one, "number"),
               number(one, "open"), number(one, "queued"), number(one, "reports"),
               shorten(number(one, "sent"), a[0], sizeof(a[0])),
               shorten(number(one, "received"), a[1], sizeof(a[1])));
    print_more(number(s, "services"), "services", list);
    list = json_object_get(s, "peer_list");
    if (json_array_size(list) > 0)
        printf("        %-16s %-21s %-10s %6s %7s %8s %8s %8s %8s\n", "PEER", "AT", "STATE",
               "WINDOW", "ARRIVED", "SENT", "MB", "RECEIVED", "MB");
    json_array_foreach(list, i, one) printf(
        "        %-16s %-21s %-10s %6.0f %7.0f %8s %8.1f %8s %8.1f\n", text(one, "instance"),
        text(one, "at"), text(one, "state"), number(one, "window"), number(one, "arrived"),
        shorten(number(one, "sent"), a[0], sizeof(a[0])), number(one, "sent_octets") / 1e6,
        shorten(number(one, "received"), a[1], sizeof(a[1])), number(one, "received_octets") / 1e6);
    print_more(number(s, "peers"), "peers", list);
}

static void print_table(const struct top *t)
{
    size_t shown = 0;
    for (size_t i = 0; i < t->now.count; i++)
        shown += is_wanted(t, &t->now.list[i]);
    printf("%zu end%s of libiwarp-messages", shown, iw_text_plural(shown));
    if (t->only_count == 0 && t->now.silent > 0)
        printf("; %zu of other users, or without an answer", t->now.silent);
    printf("\n%7s %-15s %-21s %8s %5s %5s %7s %7s %8s %8s %8s %8s %8s %8s\n", "PID", "PROGRAM",
           "AT", "SERVICES", "CONNS", "PEERS", "WAITING", "QUEUED", "SENT", "SENT/S", "MB/S",
           "RECEIVED", "RECV/S", "MB/S");
    for (size_t i = 0; i < t->now.count; i++)
        if (is_wanted(t, &t->now.list[i])) {
            print_end(t, &t->now.list[i]);
            if (t->only_count > 0)
                print_lists(&t->now.list[i]);
        }
}

static void print_json(const struct top *t)
{
    for (size_t i = 0; i < t->now.count; i++) {
        const struct msg_end *e = &t->now.list[i];
        if (!is_wanted(t, e))
            continue;
        json_object_set_new(e->state, "type", json_string("end"));
        json_object_set_new(e->state, "process", json_integer(e->process));
        json_object_set_new(e->state, "program", json_string(e->program));
        (void)iw_json_line(json_incref(e->state), stdout);
    }
}

/* Complains about processes that were named and say nothing. Returns IW_EXIT_GOOD or the status. */
static int find_all(const struct top *t)
{
    int status = IW_EXIT_GOOD;
    for (size_t i = 0; i < t->only_count; i++) {
        bool found = false;
        for (size_t j = 0; j < t->now.count; j++)
            found |= t->now.list[j].state != NULL && t->now.list[j].process == t->only[i];
        if (!found)
            status = iw_complain_exit(IW_EXIT_UNREACHED,
                                      "%ld: no end of libiwarp-messages that this user may see",
                                      (long)t->only[i]);
    }
    return status;
}

static int show(struct top *t)
{
    const bool terminal = isatty(STDOUT_FILENO) && !t->o->json;
    const unsigned count = t->o->count > 0 ? t->o->count : isatty(STDOUT_FILENO) ? UINT_MAX : 1;
    const double interval = t->o->interval > 0 ? t->o->interval : 2;
    const struct timespec pause = {(time_t)interval,
                                   (long)((interval - (double)(time_t)interval) * 1e9)};
    uint64_t asked = 0;
    for (unsigned i = 0; i < count; i++) {
        if (i > 0)
            nanosleep(&pause, NULL);
        if (iw_standard_interrupted())
            return IW_EXIT_INTERRUPTED;
        const uint64_t now = iw_transport_now();
        if (!msg_ends_ask(&t->now))
            return iw_complain_exit(IW_EXIT_TESTER, "/proc/net/unix: %s", strerror(errno));
        t->elapsed = i > 0 ? (double)(now - asked) / 1e9 : 0;
        asked = now;
        const int status = find_all(t);
        if (terminal && count > 1)
            printf("\033[H\033[2J");
        else if (i > 0 && !t->o->json)
            printf("\n");
        t->o->json ? print_json(t) : print_table(t);
        fflush(stdout);
        msg_ends_free(&t->before);
        t->before = t->now;
        t->now = (struct msg_ends){0};
        if (status != IW_EXIT_GOOD)
            return status;
    }
    return IW_EXIT_GOOD;
}

int msg_top_run(struct msg_settings *settings, char *const *operands, size_t operand_count)
{
    struct top t = {.o = &settings->top, .only_count = operand_count};
    int status = -1;
    t.only = iw_got(calloc(operand_count + 1, sizeof(*t.only)));
    for (size_t i = 0; i < operand_count && status < 0; i++) {
        uint64_t process = 0;
        if (!iw_number(operands[i], 1, INT_MAX, &process))
            status =
                iw_complain_exit(IW_EXIT_USAGE, "%s: expected the id of a process", operands[i]);
        t.only[i] = (pid_t)process;
    }
    if (status < 0) {
        iw_standard_catch_interrupt();
        status = show(&t);
    }
    msg_ends_free(&t.now);
    msg_ends_free(&t.before);
    free(t.only);
    return status;
}
