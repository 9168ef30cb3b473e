/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mutator for AFL++ (custom mutator API of version 4):
 * AFL_CUSTOM_MUTATOR_LIBRARY=iwarp-mutator.so, for harnesses whose inputs have the form of
 * input/input.h. IW_FUZZ_SINGLE and IW_FUZZ_COMMANDS are in the environment if the harness says
 * `single` or `commands`.
 */
#include "mutate/afl.h"

#include "mutate/trim.h"

#include <stdlib.h>

enum { TRIES = 400 }; /* of trimming one input */

struct mutator {
    struct iw_mutate_random random;
    struct iw_mutate_script script, other;
    struct iw_mutate_trim trim;
    size_t attempt; /* octets of the next attempt, in `out` */
    uint8_t out[IW_MUTATE_INPUT_MAX];
    uint8_t repaired[IW_MUTATE_INPUT_MAX];
};

void *afl_custom_init(void *afl, unsigned seed)
{
    struct mutator *m = calloc(1, sizeof(*m));

    (void)afl;
    if (m != NULL) {
        m->random.state = seed;
        m->script.single = m->other.single = m->trim.best.single = getenv("IW_FUZZ_SINGLE") != NULL;
        m->script.commands = m->other.commands = m->trim.best.commands =
            getenv("IW_FUZZ_COMMANDS") != NULL;
    }
    return m;
}

void afl_custom_deinit(void *data)
{
    free(data);
}

size_t afl_custom_fuzz(void *data, uint8_t *octets, size_t size, uint8_t **out, uint8_t *add,
                       size_t add_size, size_t most)
{
    struct mutator *m = data;

    if (!iw_mutate_read(&m->script, octets, size)) {
        *out = octets;
        return size;
    }
    if (add != NULL && iw_mutate_chance(&m->random, 8) && iw_mutate_read(&m->other, add, add_size))
        iw_mutate_cross(&m->script, &m->other, &m->random);
    else
        iw_mutate_change(&m->script, &m->random, NULL);
    *out = m->out;
    return iw_mutate_write(&m->script, m->out, most < sizeof(m->out) ? most : sizeof(m->out));
}

/* Repairs CRCs and Markers in seven of eight inputs, whoever has mutated them. Their octets decide
 * which, so that the same input always gives the same. */
size_t afl_custom_post_process(void *data, uint8_t *octets, size_t size, uint8_t **out)
{
    struct mutator *m = data;
    struct iw_mutate_random r = {size};

    for (size_t i = 0; i < size; i++)
        r.state = r.state * UINT64_C(0x100000001b3) ^ octets[i];
    *out = octets;
    if (iw_mutate_chance(&r, 8) || !iw_mutate_read(&m->script, octets, size))
        return size;
    iw_mutate_repair_fpdus(&m->script);
    *out = m->repaired;
    return iw_mutate_write(&m->script, m->repaired, sizeof(m->repaired));
}

/* Attempts are prepared one ahead: AFL++ wants to know whether there is one. */
static int32_t prepare(struct mutator *m)
{
    return m->trim.tries < TRIES &&
                   iw_mutate_trim_try(&m->trim, m->out, sizeof(m->out), &m->attempt)
               ? 0
               : 1;
}

int32_t afl_custom_init_trim(void *data, uint8_t *octets, size_t size)
{
    struct mutator *m = data;

    return iw_mutate_trim_begin(&m->trim, octets, size) && prepare(m) == 0 ? 1 : 0;
}

size_t afl_custom_trim(void *data, uint8_t **out)
{
    struct mutator *m = data;

    *out = m->out;
    return m->attempt;
}

int32_t afl_custom_post_trim(void *data, unsigned char good)
{
    struct mutator *m = data;

    iw_mutate_trim_verdict(&m->trim, good != 0);
    return prepare(m);
}
