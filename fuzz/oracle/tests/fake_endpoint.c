/* SPDX-License-Identifier: BSD-3-Clause */
#include "fake_endpoint.h"

#include "spy.h"

struct fake_endpoint fake;

void fake_reset(void)
{
    memset(&fake, 0, sizeof(fake));
    fake.stream = 1;
    fake.deadline = UINT64_MAX;
    spy_forget();
}

static bool within(const void *at, const uint8_t *area)
{
    return area != NULL && (const uint8_t *)at >= area &&
           (const uint8_t *)at < area + fake.memory_size;
}

static void note_pieces(const struct iw_iov *pieces, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint8_t *at = pieces[i].base;
        if (within(at, fake.memory))
            spy_note(" m%td+%zu", at - fake.memory, pieces[i].length);
        else if (within(at, fake.fresh))
            spy_note(" f%td+%zu", at - fake.fresh, pieces[i].length);
        else {
            spy_note(" ");
            spy_note_octets(at, pieces[i].length);
        }
    }
}

static void note_now(uint64_t now)
{
    if (now != 1000000)
        spy_note(" at %llu", (unsigned long long)now);
    spy_note("\n");
}

int iw_endpoint_create(struct iw_domain *domain, const struct iw_endpoint_config *config,
                       uint64_t now, struct iw_endpoint **out)
{
    fake.domain = domain;
    fake.config = *config;
    spy_note("create");
    note_now(now);
    *out = &fake.ep;
    return fake.created;
}

void iw_endpoint_config_default(struct iw_endpoint_config *config)
{
    memset(config, 0, sizeof(*config));
    config->startup_timeout = 60;
    config->early_placement = true;
}

void iw_endpoint_destroy(struct iw_endpoint *ep)
{
    assert_ptr_equal(ep, &fake.ep);
    spy_note("destroy\n");
}

uint64_t iw_endpoint_stream(const struct iw_endpoint *ep)
{
    (void)ep;
    return fake.stream;
}

bool iw_endpoint_event(struct iw_endpoint *ep, struct iw_event *out)
{
    (void)ep;
    if (!fake.event_none && fake.events[fake.event].kind == IW_EVENT_NONE)
        return false;
    fake.event_none = false;
    *out = fake.events[fake.event++];
    return true;
}

static int answer(const char *how, const uint8_t *data, size_t length, uint64_t now)
{
    struct iw_iov piece = {(void *)(uintptr_t)data, length};

    spy_note("%s", how);
    if (data != NULL)
        note_pieces(&piece, 1);
    note_now(now);
    return IW_OK;
}

int iw_endpoint_accept(struct iw_endpoint *ep, const void *data, size_t length, uint64_t now)
{
    (void)ep;
    return answer("accept", data, length, now);
}

int iw_endpoint_reject(struct iw_endpoint *ep, const void *data, size_t length, uint64_t now)
{
    (void)ep;
    return answer("reject", data, length, now);
}

const struct iw_mpa_agreed *iw_endpoint_agreed(const struct iw_endpoint *ep)
{
    (void)ep;
    return fake.agreed;
}

static int posted(uint64_t id, enum iw_work_opcode opcode)
{
    if (fake.completes && fake.posted == IW_OK)
        fake.done[fake.done_count++] = (struct iw_completion){.id = id, .opcode = opcode};
    return fake.posted;
}

int iw_endpoint_post(struct iw_endpoint *ep, const struct iw_work *w, uint64_t now)
{
    (void)ep;
    spy_note("post %llu op %d flags %x to %08x+%llx", (unsigned long long)w->id, w->opcode,
             w->flags, w->remote_stag, (unsigned long long)w->remote_to);
    if (w->invalidate_stag != w->remote_stag)
        spy_note(" invalidate %08x", w->invalidate_stag);
    if (w->opcode == IW_WORK_READ)
        spy_note(" sink %08x+%llx %u", w->sink_stag, (unsigned long long)w->sink_to, w->length);
    if (w->opcode == IW_WORK_IMMEDIATE) {
        spy_note(" immediate ");
        spy_note_octets(w->immediate, sizeof(w->immediate));
    }
    if (w->opcode >= IW_WORK_FETCH_ADD)
        spy_note(" %llx/%llx %llx/%llx", (unsigned long long)w->add_swap,
                 (unsigned long long)w->add_swap_mask, (unsigned long long)w->compare,
                 (unsigned long long)w->compare_mask);
    note_pieces(w->sge, w->sge_count);
    note_now(now);
    return posted(w->id, w->opcode);
}

int iw_endpoint_post_recv(struct iw_endpoint *ep, uint64_t id, const struct iw_iov *sge,
                          size_t sge_count)
{
    (void)ep;
    spy_note("receive %llu", (unsigned long long)id);
    note_pieces(sge, sge_count);
    spy_note("\n");
    return posted(id, IW_WORK_RECV);
}

size_t iw_endpoint_poll(struct iw_endpoint *ep, struct iw_completion *out, size_t room)
{
    size_t count = fake.done_count < room ? fake.done_count : room;

    (void)ep;
    memcpy(out, fake.done, count * sizeof(*out));
    fake.done_count -= count;
    memmove(fake.done, fake.done + count, fake.done_count * sizeof(*out));
    return count;
}

void iw_endpoint_shutdown(struct iw_endpoint *ep, uint64_t now)
{
    (void)ep;
    spy_note("shutdown");
    note_now(now);
}

void iw_endpoint_abort(struct iw_endpoint *ep, bool terminate, uint8_t code, uint64_t now)
{
    (void)ep;
    spy_note("abort %d %u", terminate, code);
    note_now(now);
}

void iw_endpoint_begin(struct iw_endpoint *ep, uint64_t now)
{
    (void)ep;
    spy_note("begin");
    note_now(now);
}

void iw_endpoint_input(struct iw_endpoint *ep, const struct iw_iov *data, size_t pieces,
                       uint64_t now)
{
    (void)ep;
    spy_note("input");
    note_pieces(data, pieces);
    note_now(now);
    if (fake.input != NULL)
        fake.input();
}

int iw_endpoint_input_at(struct iw_endpoint *ep, uint64_t pos, const struct iw_iov *data,
                         size_t pieces, uint64_t now)
{
    (void)ep;
    spy_note("input at %llu", (unsigned long long)pos);
    note_pieces(data, pieces);
    note_now(now);
    return fake.input_at;
}

void iw_endpoint_input_end(struct iw_endpoint *ep, bool graceful, uint64_t now)
{
    (void)ep;
    spy_note(graceful ? "fin" : "lost");
    note_now(now);
    if (fake.endless)
        fake.outputs = 0;
}

size_t iw_endpoint_landing(struct iw_endpoint *ep, void **at)
{
    (void)ep;
    *at = fake.landing;
    return fake.landing_room;
}

void iw_endpoint_landed(struct iw_endpoint *ep, size_t octets, uint64_t now)
{
    struct iw_iov piece = {fake.landing, octets};

    (void)ep;
    spy_note("landed");
    note_pieces(&piece, 1);
    note_now(now);
}

size_t iw_endpoint_guess(struct iw_endpoint *ep, void **at)
{
    (void)ep;
    *at = fake.guess;
    return fake.guess_room;
}

size_t iw_endpoint_guessed(struct iw_endpoint *ep, const void *head, size_t octets, uint64_t now)
{
    (void)ep;
    spy_note("guessed %02x.. ", *(const uint8_t *)head);
    spy_note_octets(fake.guess, octets);
    note_now(now);
    return fake.guessed;
}

size_t iw_endpoint_output(struct iw_endpoint *ep, const struct iw_iov **out, uint64_t now)
{
    size_t pieces, lists = iw_endpoint_output_lists(ep, out, &pieces, 1, now);

    return lists > 0 ? pieces : 0;
}

size_t iw_endpoint_output_lists(struct iw_endpoint *ep, const struct iw_iov **out, size_t *pieces,
                                size_t room, uint64_t now)
{
    size_t each = fake.paired ? 2 : 1, lists = 0;

    (void)ep;
    if (fake.endless && fake.output_at >= fake.outputs)
        fake.output_at = 0;
    *out = fake.output + fake.output_at;
    while (lists < room && fake.output_at + each <= fake.outputs) {
        pieces[lists++] = each;
        fake.output_at += each;
    }
    if (now != 1000000 || room > 1) {
        spy_note("output of %zu", room);
        note_now(now);
    }
    return lists;
}

void iw_endpoint_sent(struct iw_endpoint *ep, size_t octets, uint64_t now)
{
    (void)ep;
    spy_note("sent %zu", octets);
    note_now(now);
}

enum iw_want iw_endpoint_want(const struct iw_endpoint *ep)
{
    (void)ep;
    return fake.want;
}

void iw_endpoint_fin_sent(struct iw_endpoint *ep, uint64_t now)
{
    (void)ep;
    spy_note("fin sent");
    note_now(now);
}

uint64_t iw_endpoint_deadline(const struct iw_endpoint *ep)
{
    (void)ep;
    return fake.deadline;
}

void iw_endpoint_tick(struct iw_endpoint *ep, uint64_t now)
{
    (void)ep;
    spy_note("tick");
    note_now(now);
}

void iw_endpoint_set_emss(struct iw_endpoint *ep, uint32_t emss)
{
    (void)ep;
    spy_note("emss %u\n", emss);
}
