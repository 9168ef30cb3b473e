/* SPDX-License-Identifier: BSD-3-Clause */
#include "judge/judge_internal.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- observers ---- */

static void *lend(void *context, size_t size)
{
    (void)context;
    return malloc(size);
}

static void give_back(void *context, void *block, size_t size)
{
    (void)context;
    (void)size;
    free(block);
}

static void take_startup(struct iw_judged *c, const struct iw_observation *o)
{
    struct iw_judged_side *s = &c->side[o->side];
    s->startup = o->startup;
    s->enhanced = o->enhanced;
    s->started = true;
    if (c->side[iw_observed_other(o->side)].started)
        iw_judge_line_agreed(c);
}

static void seen(void *context, const struct iw_observation *o)
{
    struct iw_judged *c = context;
    switch (o->kind) {
    case IW_OBSERVED_STARTUP:
        take_startup(c, o);
        break;
    case IW_OBSERVED_MESSAGE:
        c->side[o->side].messages++;
        break;
    case IW_OBSERVED_FINDING:
        if (o->cause == IW_CHECK_NONE)
            iw_judge_line_finding(c, o);
        break;
    case IW_OBSERVED_LOST:
        iw_judge_line_unknown(c, o);
        break;
    default:
        break;
    }
}

static struct iw_observer *observer(struct iw_judged *c, void *memory)
{
    const struct iw_observer_config config = {.crc32c = iw_crc32c_best(),
                                              .context = c,
                                              .seen = seen,
                                              .lend = lend,
                                              .give_back = give_back,
                                              .scratch = c->judge->scratch,
                                              .extensions = true};
    return iw_observer_init(memory, iw_observer_size(), &config);
}

/* ---- connections ---- */

static void take_address(const struct sockaddr_storage *from, struct iw_address *to, uint16_t *port)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;
    *to = (struct iw_address){.family = 4};
    *port = 0;
    if (from->ss_family == AF_INET) {
        memcpy(to->octets, &v4->sin_addr, 4);
        *port = ntohs(v4->sin_port);
    } else if (from->ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
        memcpy(to->octets, v6->sin6_addr.s6_addr + 12, 4);
        *port = ntohs(v6->sin6_port);
    } else if (from->ss_family == AF_INET6) {
        to->family = 6;
        memcpy(to->octets, &v6->sin6_addr, 16);
        *port = ntohs(v6->sin6_port);
    }
}

static void *opened(void *context, const struct sockaddr_storage *local,
                    const struct sockaddr_storage *remote, bool active)
{
    struct iw_judge *j = context;
    struct iw_synth_tcp tcp = {.isn = {1000, 2000}};
    /* The observer's memory follows, aligned for any type. */
    const size_t unit = _Alignof(max_align_t);
    const size_t own = (sizeof(struct iw_judged) + unit - 1) / unit * unit;
    struct iw_judged *c = j->over ? NULL : calloc(1, own + iw_observer_size());
    if (c == NULL)
        return NULL;
    c->judge = j;
    c->number = j->connections++;
    c->ours = active ? IW_SIDE_INITIATOR : IW_SIDE_RESPONDER;
    take_address(local, &tcp.address[c->ours], &tcp.port[c->ours]);
    take_address(remote, &tcp.address[!c->ours], &tcp.port[!c->ours]);
    for (unsigned side = 0; side < 2; side++)
        iw_address_print(c->side[side].address, &tcp.address[side], tcp.port[side]);
    c->observer = observer(c, (char *)c + own);
    LIST_INSERT_HEAD(&j->open, c, entry);
    iw_judge_record_opened(c, &tcp);
    iw_judge_line_connection(c);
    return c;
}

static enum iw_side sender(const struct iw_judged *c, bool sent)
{
    return sent ? c->ours : iw_observed_other(c->ours);
}

static void octets(void *tapped, bool sent, const struct iw_iov *pieces, size_t count,
                   size_t length)
{
    struct iw_judged *c = tapped;
    const enum iw_side side = sender(c, sent);
    if (c->judge->over)
        return;
    for (size_t i = 0; i < count && length > 0; i++) {
        size_t n = pieces[i].length < length ? pieces[i].length : length;
        uint64_t *pos = &c->side[side].octets;
        iw_judge_record_octets(c, side, *pos, pieces[i].base, n);
        *pos += n; /* before what is found in them: a FIN's place is after them */
        (void)iw_observer_input(c->observer, side, *pos - n, pieces[i].base, n);
        length -= n;
    }
}

static void ended(void *tapped, bool sent, bool reset)
{
    struct iw_judged *c = tapped;
    const enum iw_side side = sender(c, sent);
    if (c->judge->over || c->side[side].ended)
        return;
    c->side[side].ended = true;
    iw_judge_record_ended(c, side, reset);
    iw_observer_end(c->observer, side, c->side[side].octets, reset);
}

static void end_connection(struct iw_judged *c)
{
    iw_observer_flush(c->observer);
    iw_judge_line_closed(c);
    LIST_REMOVE(c, entry);
    iw_observer_drop(c->observer);
}

static void closed(void *tapped)
{
    struct iw_judged *c = tapped;
    if (!c->judge->over)
        end_connection(c);
    free(c);
}

/* ---- the process ---- */

/* A process that executes another program, which is judged too, has several files. */
enum { FILES = 1000 };

static bool open_files(struct iw_judge *j, const char *folder, uint64_t capture)
{
    char lines[PATH_MAX], frames[PATH_MAX], error[IW_CAPTURE_ERROR];
    for (unsigned i = 0; i < FILES && j->lines == NULL; i++) {
        snprintf(lines, sizeof(lines), "%s/%ld-%u.jsonl", folder, (long)getpid(), i);
        snprintf(frames, sizeof(frames), "%s/%ld-%u.pcapng", folder, (long)getpid(), i);
        j->lines = fopen(lines, "wxe");
        if (j->lines == NULL && errno != EEXIST)
            return false;
    }
    if (j->lines == NULL)
        return false;
    if (capture > 0 && (j->capture = iw_synth_stream(frames, "iwarp-run", NULL, error)) == NULL)
        return false;
    j->left = capture;
    iw_judge_line_process(j, capture > 0 ? frames : NULL);
    return true;
}

struct iw_judge *iw_judge_create(const char *folder, uint64_t capture)
{
    struct iw_judge *j = calloc(1, sizeof(*j));
    if (j == NULL)
        return NULL;
    j->tap = (struct iw_tap){
        .context = j, .opened = opened, .octets = octets, .ended = ended, .closed = closed};
    LIST_INIT(&j->open);
    j->scratch = malloc(iw_observer_scratch_size());
    if (j->scratch != NULL && open_files(j, folder, capture))
        return j;
    int saved = errno;
    if (j->lines != NULL)
        fclose(j->lines);
    free(j->scratch);
    free(j);
    errno = saved;
    return NULL;
}

const struct iw_tap *iw_judge_tap(struct iw_judge *j)
{
    return &j->tap;
}

void iw_judge_settle(struct iw_judge *j)
{
    if (!j->over && j->capture != NULL)
        iw_synth_flush(j->capture);
}

void iw_judge_leave(struct iw_judge *j)
{
    j->over = true;
}

void iw_judge_finish(struct iw_judge *j)
{
    char error[IW_CAPTURE_ERROR];
    struct iw_judged *c;
    if (j->over)
        return;
    while ((c = LIST_FIRST(&j->open)) != NULL)
        end_connection(c);
    j->over = true;
    if (j->capture != NULL && !iw_synth_finish(j->capture, error))
        j->cut = true;
    iw_synth_free(j->capture);
    j->capture = NULL;
    iw_judge_line_end(j);
    fclose(j->lines);
    free(j->scratch);
    j->lines = NULL;
    j->scratch = NULL;
}
