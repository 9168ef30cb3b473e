/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IW_TESTS_LONE_ULPDU_H
#define IW_TESTS_LONE_ULPDU_H

/*
 * The ULPDUs of RFC 7306 for lone.h, in hexadecimal; CRCs are off. Include from one test program.
 */

#include "lone.h"

#define M(n) "0000000" #n /* an MSN or an identifier */
#define ONES "ffffffffffffffff"
#define NIL "0000000000000000"
#define TO(offset) "0000000000001" offset

#define REQUEST_OF(msn) "414a 00000000 00000001 " msn " 00000000 "
#define ADD_TO(id, to, add) "00000000 " id " SSSS " to " " add " " NIL " " NIL " " ONES
#define ADD(msn, id, to, add) REQUEST_OF(msn) ADD_TO(id, to, add)
#define SWAP(msn, id, to, swap, compare)                                                           \
    REQUEST_OF(msn) "00000002 " id " SSSS " to " " swap " " ONES " " compare " " ONES
#define ANSWER(msn, id, value) "414b 00000000 00000003 " msn " 00000000 " id " " value
#define READ_4(msn, to)                                                                            \
    "4141 00000000 00000001 " msn " 00000000 aabbccdd 0000000000002000 00000004 SSSS " to
#define READ_DATA(data) "c142 aabbccdd 0000000000002000 " data
#define WRITE_TO(to) "c140 SSSS " to " "
#define IMMEDIATE(msn) "4148 00000000 00000000 " msn " 00000000 "
#define SEND(msn) "4143 00000000 00000000 " msn " 00000000 "
#define DATA "c142 SSSS 0000000000001000 61626364"
#define TERMINATE "4147 00000000 00000002 00000001 00000000 "

static inline void open_with(struct lone *l, enum iw_mpa_role role,
                             struct iw_endpoint_config config)
{
    config.role = role;
    config.mpa.crc = false;
    lone_open_as(l, config, 2);
    if (role == IW_MPA_RESPONDER) {
        start(l, false);
    } else {
        drain(l);
        l->out_length = 0;
        feed(l, REPLY_NO_CRC);
    }
}

static inline void open_lone(struct lone *l, enum iw_mpa_role role)
{
    open_with(l, role, lone_config(role, false));
}

static inline void put_value(struct lone *l, size_t offset, uint64_t value)
{
    memcpy(l->memory + offset, &value, sizeof(value));
}

static inline uint64_t value_at(const struct lone *l, size_t offset)
{
    uint64_t value;
    memcpy(&value, l->memory + offset, sizeof(value));
    return value;
}

/* Length, ULPDU, pad, and a CRC field that nobody reads. */
static inline size_t frame(const struct lone *l, const char *hex, uint8_t *out, size_t room)
{
    size_t length = unhex(l, hex, out + 2, room - 9);
    out[0] = (uint8_t)(length >> 8);
    out[1] = (uint8_t)length;
    size_t size = (2 + length + 3) / 4 * 4 + 4;
    memset(out + 2 + length, 0, size - 2 - length);
    return size;
}

/* Several at once; octets to be sent stay where they are. */
static inline void take_in(struct lone *l, const char *const *ulpdus)
{
    uint8_t octets[2048];
    size_t length = 0;
    for (; *ulpdus != NULL; ulpdus++)
        length += frame(l, *ulpdus, octets + length, sizeof(octets) - length);
    struct iw_iov in = {octets, length};
    iw_endpoint_input(l->ep, &in, 1, 0);
}

/* All octets that are sent. */
static inline void expect_out(struct lone *l, const char *const *ulpdus)
{
    uint8_t want[2048];
    size_t length = 0;
    for (; *ulpdus != NULL; ulpdus++)
        length += frame(l, *ulpdus, want + length, sizeof(want) - length);
    drain(l);
    assert_int_equal(l->out_length, length);
    assert_memory_equal(l->out, want, length);
    l->out_length = 0;
}

#define TAKE_IN(l, ...) take_in(l, (const char *const[]){__VA_ARGS__, NULL})
#define EXPECT_OUT(l, ...) expect_out(l, (const char *const[]){__VA_ARGS__, NULL})

static inline void expect_nothing(struct lone *l)
{
    drain(l);
    assert_int_equal(l->out_length, 0);
}

static inline void post_recv(struct lone *l, uint64_t id, size_t offset, size_t length)
{
    struct iw_iov sge = {l->memory + offset, length};
    assert_int_equal(iw_endpoint_post_recv(l->ep, id, &sge, 1), IW_OK);
}

static inline struct iw_completion completion(struct lone *l, uint64_t id, enum iw_status status)
{
    struct iw_completion c;
    assert_int_equal(iw_endpoint_poll(l->ep, &c, 1), 1);
    assert_int_equal(c.id, id);
    assert_int_equal(c.status, status);
    return c;
}

static inline void no_completion(struct lone *l)
{
    struct iw_completion c;
    assert_int_equal(iw_endpoint_poll(l->ep, &c, 1), 0);
}

static inline int post(struct lone *l, struct iw_work work)
{
    work.remote_to += 0x1000;
    work.remote_stag = 0x11223344;
    return iw_endpoint_post(l->ep, &work, 0);
}

static inline void post_add(struct lone *l, uint64_t id, uint64_t add)
{
    struct iw_work work = {.id = id, .opcode = IW_WORK_FETCH_ADD, .add_swap = add};
    assert_int_equal(post(l, work), IW_OK);
}

static inline void post_read(struct lone *l, uint64_t id)
{
    struct iw_work work = {
        .id = id, .opcode = IW_WORK_READ, .sink_stag = l->stag, .sink_to = 0x1000, .length = 4};
    assert_int_equal(post(l, work), IW_OK);
}

static inline void set(struct lone *l, enum iw_switch kind, const char *spec)
{
    const char *error;
    assert_int_equal(iw_switches_set(&l->switches, kind, spec, &error), 1);
}

#endif
