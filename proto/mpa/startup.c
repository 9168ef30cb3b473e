/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "mpa/startup.h"

/* Octets of the fixed header's fields, for fault positions. */
int iw_mpa_startup_init(struct iw_mpa_startup *s, enum iw_mpa_role role,
                        const struct iw_mpa_config *config, const void *private_data,
                        size_t private_length, const struct iw_switches *switches)
{
    if (!iw_mpa_config_valid(role, config))
        return -1;
    if (role == IW_MPA_INITIATOR && private_length > iw_mpa_private_room(config->enhanced))
        return -1;
    memset(s, 0, sizeof(*s));
    s->role = role;
    s->config = *config;
    if (s->config.revision == 0 && !s->config.permissive)
        s->config.revision = 1;
    s->switches = switches;
    s->fault.check = IW_CHECK_NONE;
    if (role == IW_MPA_INITIATOR) {
        s->state = IW_MPA_IDLE;
        iw_mpa_make_request(s, private_data, private_length);
    } else {
        s->state = IW_MPA_WAIT_REQUEST;
        if (iw_switch_violated(switches, IW_CHECK_MPA_REPLY_EARLY)) {
            /* The Reply's key is known already: send it. */
            memcpy(s->out, iw_mpa_reply_key, IW_MPA_KEY_LENGTH);
            s->out_length = IW_MPA_KEY_LENGTH;
        }
    }
    return 0;
}

/* Fails on a check that is enforced unless ignored. Returns true if the start-up has failed. */
static bool fail(struct iw_mpa_startup *s, enum iw_check check, uint64_t pos, uint64_t got,
                 uint64_t want)
{
    if (iw_switch_ignored(s->switches, check))
        return false;
    s->fault = (struct iw_fault){.check = check, .pos = pos, .got = got, .want = want};
    s->state = IW_MPA_FAILED;
    return true;
}

/* Refuses a legal thing, only if overstrict. */
static bool refuse(struct iw_mpa_startup *s, enum iw_check check, uint64_t pos, uint64_t got,
                   uint64_t want)
{
    return iw_switch_overstrict(s->switches, check) && fail(s, check, pos, got, want);
}

enum iw_mpa_sniffed iw_mpa_sniff(const uint8_t *octets, size_t length)
{
    for (size_t i = 0; i < length && i < IW_MPA_KEY_LENGTH; i++)
        if (octets[i] != iw_mpa_request_key[i])
            return IW_MPA_SNIFFED_OTHER;
    return length < IW_MPA_KEY_LENGTH ? IW_MPA_SNIFFED_MORE : IW_MPA_SNIFFED_MPA;
}

/* Takes the part of the header that is here. It judges the key octet by octet, so that it does not
 * wait for a peer that speaks another protocol. */
static size_t take_header(struct iw_mpa_startup *s, const uint8_t *data, size_t length)
{
    bool initiator = s->role == IW_MPA_INITIATOR;
    const uint8_t *key = initiator ? iw_mpa_reply_key : iw_mpa_request_key;
    enum iw_check check = initiator ? IW_CHECK_MPA_REP_KEY : IW_CHECK_MPA_REQ_KEY;
    size_t taken = 0;

    while (taken < length && s->in_length < IW_MPA_STARTUP_HEADER) {
        uint8_t octet = data[taken++];
        size_t at = s->in_length++;
        s->in[at] = octet;
        if (at < IW_MPA_KEY_LENGTH && octet != key[at] && fail(s, check, at, octet, key[at]))
            break;
    }
    return taken;
}

/* Legal in any frame. */
static bool refuse_frame(struct iw_mpa_startup *s, bool enhanced)
{
    const struct iw_mpa_startup_header *h = &s->peer;
    unsigned block = enhanced ? IW_MPA_ENHANCED_LENGTH : 0u;
    bool plain = s->role == IW_MPA_RESPONDER && h->revision >= 2 && !enhanced;

    return (h->revision < s->config.revision &&
            refuse(s, IW_CHECK_MPA_REV_OLDER, IW_AT_MPA_REVISION, h->revision,
                   s->config.revision)) ||
           (plain && refuse(s, IW_CHECK_MPA_REV2_PLAIN, IW_AT_MPA_FLAGS, 0, 1)) ||
           (h->pd_length == IW_MPA_PRIVATE_MAX &&
            refuse(s, IW_CHECK_MPA_PD_FULL, IW_AT_MPA_PD_LENGTH, h->pd_length, 0)) ||
           (h->pd_length == block &&
            refuse(s, IW_CHECK_MPA_PD_NONE, IW_AT_MPA_PD_LENGTH, h->pd_length, block + 1));
}

/* Legal in an enhanced Reply (RFC 6581 §9; OP-21, OP-30). */
static bool refuse_reply(struct iw_mpa_startup *s)
{
    const struct iw_mpa_enhanced *e = &s->peer_enhanced;
    const struct iw_mpa_config *c = &s->config;
    bool reads = c->ord != IW_MPA_DEPTH_UNSPECIFIED;
    bool told = e->ird != IW_MPA_DEPTH_UNSPECIFIED;

    return (e->peer_to_peer && (e->rtr & ~c->rtr) &&
            refuse(s, IW_CHECK_MPA_RTR_EXTRA, IW_AT_MPA_IRD, e->rtr, c->rtr)) ||
           (reads && told && e->ird > c->ord &&
            refuse(s, IW_CHECK_MPA_IRD_ABOVE, IW_AT_MPA_IRD, e->ird, c->ord)) ||
           (reads && e->ird < c->ord &&
            refuse(s, IW_CHECK_MPA_IRD_BELOW, IW_AT_MPA_IRD, e->ird, c->ord)) ||
           (reads && !told && refuse(s, IW_CHECK_MPA_IRD_UNASKED, IW_AT_MPA_IRD, e->ird, c->ord)) ||
           (c->ird != IW_MPA_DEPTH_UNSPECIFIED && e->ord == IW_MPA_DEPTH_UNSPECIFIED &&
            refuse(s, IW_CHECK_MPA_ORD_UNASKED, IW_AT_MPA_ORD, e->ord, c->ird));
}

/* RFC 5044 Appendix C: an end of the RDMA Consortium's answers revision 1 with its own. */
static bool revision_fits(const struct iw_mpa_startup *s)
{
    uint8_t own = s->config.revision, peer = s->peer.revision;

    if (peer == 0)
        return s->config.permissive;
    return peer <= own || (own == 0 && peer == 1 && s->role == IW_MPA_RESPONDER);
}

static void check_header(struct iw_mpa_startup *s)
{
    bool initiator = s->role == IW_MPA_INITIATOR;
    const struct iw_mpa_startup_header *h = &s->peer;
    unsigned res = h->flags & IW_MPA_FLAG_RES;
    bool enhanced = iw_mpa_frame_enhanced(h);

    if (!revision_fits(s) &&
        fail(s, IW_CHECK_MPA_REV, IW_AT_MPA_REVISION, h->revision, s->config.revision))
        return;
    if (res && refuse(s, IW_CHECK_MPA_RES_BITS, IW_AT_MPA_FLAGS, res, 0))
        return;
    if (!initiator && (h->flags & IW_MPA_FLAG_R) &&
        refuse(s, IW_CHECK_MPA_REQ_R, IW_AT_MPA_FLAGS, 1, 0))
        return;
    if (h->revision == 1 && (h->flags & IW_MPA_FLAG_S) &&
        refuse(s, IW_CHECK_MPA_REV1_S, IW_AT_MPA_FLAGS, 1, 0))
        return;
    if (initiator && enhanced != s->sent_enhanced &&
        fail(s, s->sent_enhanced ? IW_CHECK_MPA_REP_S : IW_CHECK_MPA_REP_S_UNASKED, IW_AT_MPA_FLAGS,
             enhanced, s->sent_enhanced))
        return;
    if (h->pd_length > IW_MPA_PRIVATE_MAX &&
        fail(s, IW_CHECK_MPA_PD_LENGTH, IW_AT_MPA_PD_LENGTH, h->pd_length, IW_MPA_PRIVATE_MAX))
        return;
    if (enhanced && h->pd_length < IW_MPA_ENHANCED_LENGTH &&
        fail(s, IW_CHECK_MPA_ENH_LENGTH, IW_AT_MPA_PD_LENGTH, h->pd_length, IW_MPA_ENHANCED_LENGTH))
        return;
    (void)refuse_frame(s, enhanced);
}

/* Finishes a frame that is whole. */
static void finish(struct iw_mpa_startup *s)
{
    /* With mpa-enh-length ignored a shorter block reads as zeros: `in` was cleared. */
    if (iw_mpa_frame_enhanced(&s->peer))
        (void)iw_wire_get_enhanced(s->in + IW_MPA_STARTUP_HEADER, IW_MPA_ENHANCED_LENGTH,
                                   &s->peer_enhanced);
    if (!s->peer_enhanced.peer_to_peer && s->peer_enhanced.rtr &&
        refuse(s, IW_CHECK_MPA_RTR_UNASKED,
               s->peer_enhanced.rtr & IW_MPA_RTR_SEND ? IW_AT_MPA_IRD : IW_AT_MPA_ORD,
               s->peer_enhanced.rtr, 0))
        return;
    if (s->role == IW_MPA_RESPONDER) {
        s->state = IW_MPA_REQUESTED;
        iw_mpa_agree_responder(s);
        return;
    }
    if (!(s->peer.flags & IW_MPA_FLAG_R) && s->sent_enhanced && iw_mpa_frame_enhanced(&s->peer) &&
        refuse_reply(s))
        return;
    s->state = (s->peer.flags & IW_MPA_FLAG_R) ? IW_MPA_REJECTED : IW_MPA_FULL;
    iw_mpa_agree_initiator(s);
}

size_t iw_mpa_startup_input(struct iw_mpa_startup *s, const uint8_t *data, size_t length)
{
    if (s->state != IW_MPA_IDLE && s->state != IW_MPA_WAIT_REPLY && s->state != IW_MPA_WAIT_REQUEST)
        return 0;
    size_t taken = 0;
    if (s->in_length < IW_MPA_STARTUP_HEADER) {
        taken = take_header(s, data, length);
        if (s->state == IW_MPA_FAILED || s->in_length < IW_MPA_STARTUP_HEADER)
            return taken;
        (void)iw_wire_get_startup(s->in, IW_MPA_STARTUP_HEADER, &s->peer);
        check_header(s);
        if (s->state == IW_MPA_FAILED)
            return taken;
    }
    size_t rest = IW_MPA_STARTUP_HEADER + s->peer.pd_length - s->in_length;
    if (rest > length - taken)
        rest = length - taken;
    /* With mpa-pd-length ignored, what does not fit is skipped. */
    size_t keep = s->in_length < sizeof(s->in) ? sizeof(s->in) - s->in_length : 0;
    if (keep > rest)
        keep = rest;
    if (keep > 0)
        memcpy(s->in + s->in_length, data + taken, keep);
    s->in_length += (uint32_t)rest;
    if (s->in_length == IW_MPA_STARTUP_HEADER + s->peer.pd_length)
        finish(s);
    return taken + rest;
}

static int answer(struct iw_mpa_startup *s, bool reject, const void *data, size_t length)
{
    if (s->role != IW_MPA_RESPONDER || s->state != IW_MPA_REQUESTED ||
        length > iw_mpa_private_room(s->agreed.enhanced))
        return -1;
    iw_mpa_make_reply(s, reject, data, length);
    s->state = reject ? IW_MPA_REJECTED : IW_MPA_FULL;
    return 0;
}

int iw_mpa_startup_accept(struct iw_mpa_startup *s, const void *private_data, size_t length)
{
    return answer(s, false, private_data, length);
}

int iw_mpa_startup_reject(struct iw_mpa_startup *s, const void *private_data, size_t length)
{
    return answer(s, true, private_data, length);
}

size_t iw_mpa_startup_output(const struct iw_mpa_startup *s, const uint8_t **data)
{
    *data = s->out + s->out_taken;
    return (size_t)(s->out_length - s->out_taken);
}

void iw_mpa_startup_sent(struct iw_mpa_startup *s, size_t length)
{
    size_t left = (size_t)(s->out_length - s->out_taken);

    s->out_taken = (uint16_t)(s->out_taken + (length < left ? length : left));
    if (s->state == IW_MPA_IDLE && s->out_taken == s->out_length)
        s->state = IW_MPA_WAIT_REPLY;
}

size_t iw_mpa_startup_private(const struct iw_mpa_startup *s, const uint8_t **data)
{
    size_t length = s->peer.pd_length;
    size_t skip = iw_mpa_frame_enhanced(&s->peer) ? IW_MPA_ENHANCED_LENGTH : 0u;

    *data = NULL;
    if (s->state != IW_MPA_REQUESTED && s->state != IW_MPA_FULL && s->state != IW_MPA_REJECTED)
        return 0;
    if (length > IW_MPA_PRIVATE_MAX)
        length = IW_MPA_PRIVATE_MAX;
    if (length <= skip)
        return 0;
    *data = s->in + IW_MPA_STARTUP_HEADER + skip;
    return length - skip;
}
