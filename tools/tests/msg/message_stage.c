/* SPDX-License-Identifier: BSD-3-Clause */
#include "message_stage.h"

#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct stage stage;

static struct iw_messages *const the_end = (struct iw_messages *)&stage.opened;
static struct iw_service *const the_service = (struct iw_service *)&stage.service;
static struct iw_resolver *const the_resolver = (struct iw_resolver *)&stage.asked;

int stage_begin(void **state)
{
    (void)state;
    stage =
        (struct stage){.gets_left = STAGE_FOREVER, .sends_left = STAGE_FOREVER, .signal = SIGTERM};
    return 0;
}

int stage_end(void **state)
{
    (void)state;
    for (unsigned i = 0; i < stage.sent_count; i++)
        free(stage.sent[i].octets);
    while (stage.come < stage.to_come_count)
        free(stage.to_come[stage.come++].data);
    assert_int_equal(stage.buffers, 0);
    assert_int_equal(stage.opened, stage.closed);
    assert_int_equal(stage.resolver_opened, stage.resolver_closed);
    return 0;
}

void stage_message(uint32_t number, const void *octets, size_t length)
{
    assert_true(stage.to_come_count < STAGE_MOST);
    struct iw_message *m = &stage.to_come[stage.to_come_count++];
    *m = (struct iw_message){.kind = IW_MESSAGES_MESSAGE,
                             .number = number,
                             .data = malloc(length + 1),
                             .length = length};
    assert_non_null(m->data);
    memcpy(m->data, octets, length);
}

void stage_report(enum iw_messages_kind kind, uint32_t number, uint64_t tag, int error)
{
    assert_true(stage.to_come_count < STAGE_MOST);
    stage.to_come[stage.to_come_count++] =
        (struct iw_message){.kind = kind, .number = number, .tag = tag, .error = error};
}

void stage_check_sent(unsigned i, uint32_t to, unsigned flags, uint64_t tag, const void *octets,
                      size_t length)
{
    assert_true(i < stage.sent_count);
    assert_int_equal(stage.sent[i].to, to);
    assert_int_equal(stage.sent[i].flags, flags);
    assert_int_equal(stage.sent[i].tag, tag);
    assert_int_equal(stage.sent[i].length, length);
    assert_memory_equal(stage.sent[i].octets, octets, length);
}

/* ---- libiwarp-messages ---- */

int iw_messages_open(const struct iw_messages_config *config, struct iw_messages **out, char *error,
                     size_t room)
{
    stage.config = *config;
    assert_true(config->place_count <= sizeof(stage.places) / sizeof(stage.places[0]));
    for (size_t i = 0; i < config->place_count; i++)
        stage.places[i] = config->places[i];
    stage.has_resolver = config->resolver != NULL;
    if (stage.has_resolver)
        stage.resolver = *config->resolver;
    if (stage.has_resolver && stage.resolver.key != NULL)
        memcpy(stage.key, stage.resolver.key, stage.resolver.key_length);
    if (config->listen != NULL)
        memcpy(&stage.listen, config->listen, sizeof(struct sockaddr_in));
    if (stage.open_errno != 0) {
        snprintf(error, room, "it does not open");
        errno = stage.open_errno;
        return -1;
    }
    stage.opened++;
    *out = the_end;
    return 0;
}

void iw_messages_close(struct iw_messages *m)
{
    assert_ptr_equal(m, the_end);
    stage.closed++;
    stage.left += stage.buffers;
    while (stage.buffers > 0)
        free(stage.list[--stage.buffers]);
}

socklen_t iw_messages_address(struct iw_messages *m, struct sockaddr_storage *out)
{
    assert_ptr_equal(m, the_end);
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_port = htons(4711),
                                   .sin_addr.s_addr = htonl(0xc0000207) /* 192.0.2.7 */};
    memcpy(out, &at, sizeof(at));
    return sizeof(at);
}

int iw_messages_service(struct iw_messages *m, uint32_t number, struct iw_service **out)
{
    assert_ptr_equal(m, the_end);
    stage.service = number;
    if (stage.service_errno != 0) {
        errno = stage.service_errno;
        return -1;
    }
    *out = the_service;
    return 0;
}

static void keep(void *buffer)
{
    assert_true(stage.buffers < STAGE_BUFFERS);
    stage.list[stage.buffers++] = buffer;
}

void *iw_messages_get(struct iw_messages *m, size_t length)
{
    assert_ptr_equal(m, the_end);
    stage.got_length = length;
    if (stage.gets_left == 0) {
        errno = ENOMEM;
        return NULL;
    }
    stage.gets_left--;
    stage.gets++;
    void *buffer = malloc(length);
    assert_non_null(buffer);
    memset(buffer, 0xa5, length);
    keep(buffer);
    return buffer;
}

static void give_back(void *buffer)
{
    if (buffer == NULL)
        return;
    unsigned i = 0;
    while (i < stage.buffers && stage.list[i] != buffer)
        i++;
    assert_true(i < stage.buffers); /* it is one, and nobody has given it back before */
    stage.list[i] = stage.list[--stage.buffers];
    free(buffer);
}

void iw_messages_free(struct iw_messages *m, void *buffer)
{
    assert_ptr_equal(m, the_end);
    stage.freed += buffer != NULL;
    give_back(buffer);
}

void iw_messages_return(struct iw_messages *m, void *buffer)
{
    assert_ptr_equal(m, the_end);
    stage.returned += buffer != NULL;
    give_back(buffer);
}

int iw_messages_send(struct iw_service *from, uint32_t to, const struct iovec *pieces, size_t count,
                     unsigned flags, uint64_t tag)
{
    assert_ptr_equal(from, the_service);
    assert_int_equal(count, 1);
    if (stage.sends_left == 0) {
        errno = stage.send_errno;
        return -1;
    }
    stage.sends_left--;
    assert_true(stage.sent_count < STAGE_MOST);
    struct stage_sent *s = &stage.sent[stage.sent_count++];
    *s = (struct stage_sent){.to = to,
                             .flags = flags,
                             .tag = tag,
                             .octets = malloc(pieces->iov_len + 1),
                             .length = pieces->iov_len};
    assert_non_null(s->octets);
    memcpy(s->octets, pieces->iov_base, pieces->iov_len);
    if ((flags & IW_MESSAGES_GIVE) != 0)
        give_back(pieces->iov_base);
    if (stage.on_send != NULL)
        stage.on_send(s);
    return 0;
}

int iw_messages_receive(struct iw_service *s, struct iw_message *out, int timeout_ms)
{
    assert_ptr_equal(s, the_service);
    assert_true(stage.receives < STAGE_MOST);
    stage.timeouts[stage.receives++] = timeout_ms;
    if (stage.come < stage.to_come_count) {
        *out = stage.to_come[stage.come++];
        if (out->data != NULL)
            keep(out->data);
        return 0;
    }
    errno = stage.receive_errno != 0 ? stage.receive_errno : ETIMEDOUT;
    if (++stage.idle > stage.idle_most)
        stage.ended = stage.signal;
    return -1;
}

/* ---- the resolver ---- */

int iw_resolver_open(const struct iw_resolver_config *config, struct iw_resolver **resolver,
                     char *error, size_t room)
{
    stage.asked = *config;
    if (config->key != NULL)
        memcpy(stage.key, config->key, config->key_length);
    if (stage.resolver_errno != 0) {
        snprintf(error, room, "no resolver");
        errno = stage.resolver_errno;
        return -1;
    }
    stage.resolver_opened++;
    *resolver = the_resolver;
    return 0;
}

void iw_resolver_close(struct iw_resolver *r)
{
    assert_ptr_equal(r, the_resolver);
    stage.resolver_closed++;
}

static struct sockaddr_storage address_of(const struct stage_claimant *c)
{
    struct sockaddr_storage at = {0};
    const struct sockaddr_in in = {
        .sin_family = AF_INET, .sin_port = htons(c->port), .sin_addr.s_addr = htonl(0xc0000201)};
    memcpy(&at, &in, sizeof(in));
    return at;
}

int iw_resolver_find(struct iw_resolver *r, uint32_t number, int timeout_ms,
                     struct sockaddr_storage *at, uint64_t *instance)
{
    assert_ptr_equal(r, the_resolver);
    assert_true(stage.find_count < STAGE_FINDS);
    struct stage_question *q = &stage.finds[stage.find_count++];
    *q = (struct stage_question){number, timeout_ms};
    if (stage.on_find != NULL)
        stage.on_find(q);
    for (unsigned i = 0; i < stage.claimant_count; i++)
        if (stage.claimants[i].number == number) {
            if (at != NULL)
                *at = address_of(&stage.claimants[i]);
            if (instance != NULL)
                *instance = stage.claimants[i].instance;
            return 0;
        }
    errno = stage.find_errno != 0 ? stage.find_errno : ETIMEDOUT;
    return -1;
}

int iw_resolver_list(struct iw_resolver *r, uint32_t number, int wait_ms,
                     struct iw_resolver_claimant *list, size_t room)
{
    size_t count = 0;
    assert_ptr_equal(r, the_resolver);
    assert_true(stage.list_count < sizeof(stage.lists) / sizeof(stage.lists[0]));
    stage.lists[stage.list_count++] = (struct stage_question){number, wait_ms};
    if (stage.find_errno != 0) {
        errno = stage.find_errno;
        return -1;
    }
    for (unsigned i = 0; i < stage.claimant_count && count < room; i++)
        if (stage.claimants[i].number == number)
            list[count++] = (struct iw_resolver_claimant){.at = address_of(&stage.claimants[i]),
                                                          .instance = stage.claimants[i].instance};
    return (int)count;
}

int iw_resolver_claim_all(struct iw_resolver *r, const uint32_t *numbers, size_t count,
                          const struct sockaddr *at, uint64_t instance, uint32_t *refused)
{
    assert_ptr_equal(r, the_resolver);
    assert_true(count <= sizeof(stage.claimed) / sizeof(stage.claimed[0]));
    memcpy(stage.claimed, numbers, count * sizeof(*numbers));
    stage.claimed_count = count;
    memcpy(&stage.claimed_at, at, sizeof(stage.claimed_at));
    stage.claimed_by = instance;
    if (stage.claim_errno == 0)
        return 0;
    *refused = stage.claim_refused;
    errno = stage.claim_errno;
    return -1;
}

/* ---- signals ---- */

bool __wrap_iw_standard_interrupted(void);
int __wrap_iw_standard_ended(void);
void __wrap_iw_standard_catch_interrupt(void);
void __wrap_iw_standard_catch_end(void);

bool __wrap_iw_standard_interrupted(void)
{
    return stage.ended == SIGINT;
}

int __wrap_iw_standard_ended(void)
{
    return stage.ended;
}

void __wrap_iw_standard_catch_interrupt(void)
{
    stage.catches_interrupt++;
}

void __wrap_iw_standard_catch_end(void)
{
    stage.catches_end++;
}
