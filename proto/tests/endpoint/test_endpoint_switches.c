/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

/* Every switch does something: in one of a few conversations, octets or completions differ from
 * those of the same conversation without it. */

enum { CONVERSATIONS = 5 };

struct record {
    uint64_t octets; /* hash of what was sent, and by whom */
    uint64_t memory[2];
    uint64_t digest[2]; /* of completions and events */
};

static uint64_t mix(uint64_t hash, const void *data, size_t length)
{
    const uint8_t *p = data;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ p[i]) * 0x100000001b3u;
    return hash;
}

static void listen_in(struct pair *p, int from, uint8_t *octets, size_t length)
{
    struct record *r = p->tap_context;
    r->octets = mix(mix(r->octets, &from, sizeof(from)), octets, length);
}

static void post(struct pair *p, int side, struct iw_work work, size_t offset, size_t length)
{
    struct iw_iov sge = {p->side[side].memory + offset, length};
    work.sge = &sge;
    work.sge_count = 1;
    (void)iw_endpoint_post(p->side[side].ep, &work, p->now);
}

static void talk(struct pair *p)
{
    for (int i = 0; i < 2; i++) {
        struct pair_side *s = &p->side[i];
        for (size_t k = 0; k < 4096; k++)
            s->memory[k] = (uint8_t)(k * 3 + 1);
        for (unsigned k = 0; k < 6; k++) {
            struct iw_iov sge = {s->memory + 16384 + 4096 * k, 4096};
            (void)iw_endpoint_post_recv(s->ep, 100 + k, &sge, 1);
        }
    }
    for (int i = 0; i < 2; i++) {
        const struct iw_region *r = &p->side[1 - i].region, *own = &p->side[i].region;
        post(p, i,
             (struct iw_work){
                 .opcode = IW_WORK_WRITE, .remote_stag = r->stag, .remote_to = r->to + 65536},
             0, 3001);
        for (unsigned k = 0; k < 2; k++)
            post(p, i,
                 (struct iw_work){.opcode = IW_WORK_READ,
                                  .remote_stag = r->stag,
                                  .remote_to = r->to + 100 * k,
                                  .sink_stag = own->stag,
                                  .sink_to = own->to + 131072 + 8192 * k,
                                  .length = 3000},
                 0, 0);
        post(p, i, (struct iw_work){.opcode = IW_WORK_SEND}, 0, 3001);
        post(p, i, (struct iw_work){.opcode = IW_WORK_SEND_SE}, 0, 1);
        struct iw_work atomic = {.opcode = IW_WORK_FETCH_ADD,
                                 .remote_stag = r->stag,
                                 .remote_to = r->to + 3328, /* not where Sends lie */
                                 .add_swap = 0xffffffffffffffff,
                                 .add_swap_mask = 0x8080808080808080,
                                 .compare_mask = 0xff};
        post(p, i, atomic, 0, 0);
        atomic.opcode = IW_WORK_CMP_SWAP; /* of what is not there */
        atomic.remote_to += 8;
        post(p, i, atomic, 0, 0);
        post(p, i, (struct iw_work){.opcode = IW_WORK_IMMEDIATE}, 0, 0);
    }
}

/* One conversation; `switches` are those of the two sides. True if it ended well. */
static bool converse(unsigned number, const struct iw_switches switches[2], struct record *r)
{
    struct iw_endpoint_config config[2];
    struct pair p;
    pair_defaults(config);
    memset(r, 0, sizeof(*r));
    config[0].mpa.markers = number == 1;
    config[1].mpa.markers = number == 1;
    config[0].mpa.peer_to_peer = number == 1 || number == 2;
    if (number == 2)
        config[0].mpa.ird = config[0].mpa.ord = 0x3fff;
    if (number == 3)
        config[1].mpa.ird = 1;
    pair_open_bent(&p, config, switches);
    p.tap = listen_in;
    p.tap_context = r;
    (void)pair_carry(&p, 1); /* a responder that cannot wait */
    if (number == 4) {
        p.side[1].auto_accept = false;
        pair_run(&p);
        (void)iw_endpoint_reject(p.side[1].ep, "no", 2, p.now);
    } else {
        talk(&p);
    }
    pair_run(&p);
    for (int i = 0; i < 2; i++)
        post(&p, i,
             (struct iw_work){.opcode = IW_WORK_SEND_INVALIDATE,
                              .invalidate_stag = p.side[1 - i].region.stag},
             0, 7);
    pair_run(&p);
    if (number == 3) /* one that nobody has a buffer for: a Terminate */
        for (unsigned k = 0; k < 8; k++)
            post(&p, (int)(k % 2), (struct iw_work){.opcode = IW_WORK_SEND}, 0, 1);
    else
        iw_endpoint_shutdown(p.side[0].ep, p.now);
    pair_run(&p);
    for (int i = 0; i < 2; i++) {
        struct pair_side *s = &p.side[i];
        struct iw_region region;
        r->memory[i] = mix(0, s->arena, PAIR_MEMORY + 2 * PAIR_GUARD);
        for (size_t k = 0; k < s->completion_count; k++) {
            const struct iw_completion *c = &s->completions[k];
            uint64_t values[] = {c->id,     c->opcode,          c->status,
                                 c->length, c->invalidate_stag, c->original};
            r->digest[i] = mix(r->digest[i], values, sizeof(values));
        }
        for (size_t k = 0; k < s->event_count; k++)
            r->digest[i] = mix(r->digest[i], &s->events[k].kind, sizeof(s->events[k].kind));
        assert_true(iw_domain_lookup(s->domain, s->region.stag, &region));
        r->digest[i] = mix(r->digest[i], &region.valid, sizeof(region.valid));
    }
    bool graceful = true;
    for (int i = 0; i < 2; i++) {
        const struct iw_event *closed = pair_event(&p, i, IW_EVENT_CLOSED);
        graceful = graceful && closed != NULL && closed->graceful;
    }
    pair_close(&p);
    return graceful;
}

static void test_every_violation_shows(void **state)
{
    (void)state;
    static struct record clean[CONVERSATIONS];
    const struct iw_switches none[2] = {{0}};
    for (unsigned n = 0; n < CONVERSATIONS; n++)
        assert_int_equal(converse(n, none, &clean[n]), n != 3);
    for (int k = 1; k < IW_CHECK_COUNT; k++) {
        enum iw_check check = (enum iw_check)k;
        bool shows = false;
        if (!iw_switch_applies(IW_SWITCH_VIOLATE, check, IW_BOTCH_NONE))
            continue;
        for (unsigned n = 0; n < 2 * CONVERSATIONS && !shows; n++) {
            struct iw_switches switches[2] = {{0}};
            struct record r;
            switches[n % 2].any = true;
            switches[n % 2].set[check] = 1u << IW_SWITCH_VIOLATE;
            (void)converse(n / 2, switches, &r);
            shows = memcmp(&r, &clean[n / 2], sizeof(r)) != 0;
        }
        if (!shows)
            fail_msg("violating %s changes nothing", iw_check_info(check)->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_violation_shows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
