/* SPDX-License-Identifier: BSD-3-Clause */
#include "live_input.h"

#include <stdlib.h>
#include <string.h>

#include "host/text.h"
#include "iwarp/crc32c.h"
#include "iwarp/octets.h"
#include "iwarp/wire.h"

struct iw_hunt_input *iw_hunt_input_new(void)
{
    return iw_got(calloc(1, sizeof(struct iw_hunt_input)));
}

void iw_hunt_input_free(struct iw_hunt_input *in)
{
    if (in == NULL)
        return;
    for (size_t i = 0; i < in->n; i++)
        free(in->steps[i].octets);
    free(in);
}

void iw_hunt_inputs_free(struct iw_hunt_input **inputs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        iw_hunt_input_free(inputs[i]);
}

struct iw_hunt_input *iw_hunt_input_read(const uint8_t *octets, size_t length)
{
    struct iw_hunt_input *in = iw_hunt_input_new();
    struct iw_fuzz_input form = iw_fuzz_open(octets, length);

    memcpy(in->settings, form.settings, sizeof(in->settings));
    struct iw_fuzz_step step;
    while (iw_fuzz_step(&form, &step)) {
        if (step.kind == IW_FUZZ_AT && step.length >= 2)
            (void)iw_fuzz_at(&step, 0); /* in order, whatever its place was */
        if (step.kind != IW_FUZZ_NONE && step.kind != IW_FUZZ_LOCAL)
            iw_hunt_add(in, (uint8_t)step.kind, step.body, step.length);
    }
    return in;
}

struct iw_hunt_input *iw_hunt_input_copy(const struct iw_hunt_input *in)
{
    struct iw_hunt_input *copy = iw_hunt_input_new();

    memcpy(copy->settings, in->settings, sizeof(copy->settings));
    copy->began = in->began;
    copy->ended = in->ended;
    copy->answered = in->answered;
    for (size_t i = 0; i < in->n; i++)
        iw_hunt_add(copy, in->steps[i].kind, in->steps[i].octets, in->steps[i].length);
    return copy;
}

size_t iw_hunt_input_write(const struct iw_hunt_input *in, uint8_t *octets, size_t room)
{
    size_t at = sizeof(in->settings);

    if (room < at)
        return 0;
    memcpy(octets, in->settings, at);
    for (size_t i = 0; i < in->n; i++) {
        const struct iw_hunt_step *s = &in->steps[i];

        if (room - at < IW_FUZZ_STEP + s->length)
            break;
        octets[at++] = s->kind == IW_FUZZ_AT ? IW_FUZZ_A : s->kind;
        octets[at++] = (uint8_t)s->length;
        octets[at++] = (uint8_t)(s->length >> 8);
        if (s->length)
            memcpy(octets + at, s->octets, s->length);
        at += s->length;
    }
    return at;
}

static bool same_step(const struct iw_hunt_step *a, const struct iw_hunt_step *b)
{
    return a->kind == b->kind && a->length == b->length &&
           (!a->length || memcmp(a->octets, b->octets, a->length) == 0);
}

bool iw_hunt_input_same(const struct iw_hunt_input *a, const struct iw_hunt_input *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (!same_step(&a->steps[i], &b->steps[i]))
            return false;
    return true;
}

size_t iw_hunt_input_size(const struct iw_hunt_input *in)
{
    size_t size = 0;

    for (size_t i = 0; i < in->n; i++)
        size += in->steps[i].length;
    return size;
}

uint64_t iw_hunt_input_digest(uint64_t digest, const struct iw_hunt_input *in)
{
    for (size_t i = 0; i < in->n; i++) {
        digest = (digest ^ in->steps[i].kind) * 0x100000001b3u;
        for (size_t k = 0; k < in->steps[i].length; k++)
            digest = (digest ^ in->steps[i].octets[k]) * 0x100000001b3u;
    }
    return digest;
}

/* ---- editing ---- */

void iw_hunt_insert(struct iw_hunt_input *in, size_t at, uint8_t kind, const void *octets,
                    size_t length)
{
    struct iw_hunt_step step = {.kind = kind, .length = (uint32_t)length};

    if (in->n == IW_HUNT_STEPS || at > in->n || length > UINT16_MAX ||
        iw_hunt_input_size(in) + length > IW_HUNT_OCTETS)
        return;
    step.octets = iw_got(malloc(length + 1));
    if (length)
        memcpy(step.octets, octets, length);
    memmove(in->steps + at + 1, in->steps + at, (in->n - at) * sizeof(*in->steps));
    in->steps[at] = step;
    in->n++;
}

void iw_hunt_add(struct iw_hunt_input *in, uint8_t kind, const void *octets, size_t length)
{
    iw_hunt_insert(in, in->n, kind, octets, length);
}

void iw_hunt_insert_time(struct iw_hunt_input *in, size_t at, unsigned ms)
{
    uint8_t body[2] = {(uint8_t)ms, (uint8_t)(ms >> 8)};

    iw_hunt_insert(in, at, IW_FUZZ_TIME, body, sizeof(body));
}

void iw_hunt_add_time(struct iw_hunt_input *in, unsigned ms)
{
    iw_hunt_insert_time(in, in->n, ms);
}

void iw_hunt_drop(struct iw_hunt_input *in, size_t at, size_t count)
{
    if (at >= in->n)
        return;
    if (count > in->n - at)
        count = in->n - at;
    for (size_t i = at; i < at + count; i++)
        free(in->steps[i].octets);
    memmove(in->steps + at, in->steps + at + count, (in->n - at - count) * sizeof(*in->steps));
    in->n -= count;
}

void iw_hunt_split(struct iw_hunt_input *in, size_t at, size_t length)
{
    struct iw_hunt_step *step = &in->steps[at];

    if (at >= in->n || in->n == IW_HUNT_STEPS || length == 0 || length >= step->length)
        return;
    /* Its octets must not count twice. */
    uint32_t rest = step->length - (uint32_t)length;
    step->length = (uint32_t)length;
    iw_hunt_insert(in, at + 1, step->kind, step->octets + length, rest);
}

/* ---- octets ---- */

bool iw_hunt_regular(const uint8_t *octets, size_t length)
{
    if (length < 8)
        return false;
    uint16_t ulpdu = iw_get16(octets);
    if (ulpdu == 0 || iw_wire_fpdu_size(ulpdu) != length)
        return false;
    for (size_t i = 2 + (size_t)ulpdu; i < length - 4; i++)
        if (octets[i])
            return false;
    uint8_t crc[4];
    iw_crc32c_put(crc, iw_crc32c_finish(iw_crc32c_portable(IW_CRC32C_INIT, octets, length - 4)));
    return memcmp(crc, octets + length - 4, sizeof(crc)) == 0;
}

size_t iw_hunt_fpdu(const uint8_t *ulpdu, size_t length, uint8_t *out)
{
    size_t size = iw_wire_fpdu_size((uint32_t)length);

    memmove(out + 2, ulpdu, length);
    (void)iw_put16(out, (uint16_t)length);
    memset(out + 2 + length, 0, size - 4 - 2 - length);
    iw_crc32c_put(out + size - 4,
                  iw_crc32c_finish(iw_crc32c_portable(IW_CRC32C_INIT, out, size - 4)));
    return size;
}

size_t iw_hunt_startup_size(const uint8_t *octets, size_t length)
{
    struct iw_mpa_startup_header header;
    int got = iw_wire_get_startup(octets, length, &header);
    if (got < 0 || iw_wire_mpa_key(header.key) == IW_MPA_KEY_OTHER)
        return 0;
    size_t size = (size_t)got + header.pd_length;
    return size > length ? length : size;
}
