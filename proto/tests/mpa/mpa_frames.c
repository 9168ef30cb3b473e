/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "mpa_frames.h"

struct iw_mpa_config mpa_config_of(uint8_t revision, bool enhanced)
{
    struct iw_mpa_config config;

    iw_mpa_config_default(&config);
    config.revision = revision;
    config.enhanced = enhanced;
    return config;
}

const char *mpa_join(char out[80], const char *a, const char *b, const char *c)
{
    assert_in_range(snprintf(out, 80, "%s%s%s", a, b, c), 1, 79);
    return out;
}

void mpa_feed_frame(struct iw_mpa_startup *s, const char *hex)
{
    uint8_t frame[IW_MPA_STARTUP_MAX];
    size_t n = mpa_hex(frame, hex);

    assert_int_equal(iw_mpa_startup_input(s, frame, n), n);
}

void mpa_assert_output(struct iw_mpa_startup *s, const char *hex)
{
    const uint8_t *out;
    size_t n = iw_mpa_startup_output(s, &out);

    mpa_assert_hex(out, n, hex);
    iw_mpa_startup_sent(s, n);
    assert_int_equal(iw_mpa_startup_output(s, &out), 0);
}

void mpa_assert_private(const struct iw_mpa_startup *s, const char *hex)
{
    const uint8_t *data;
    size_t n = iw_mpa_startup_private(s, &data);

    mpa_assert_hex(data != NULL ? data : (const uint8_t *)"", n, hex);
}

struct iw_mpa_startup mpa_initiator(const struct iw_mpa_config *config, const char *private_hex)
{
    struct iw_mpa_startup s;
    uint8_t data[IW_MPA_PRIVATE_MAX];
    size_t n = mpa_hex(data, private_hex);

    assert_int_equal(iw_mpa_startup_init(&s, IW_MPA_INITIATOR, config, data, n, NULL), 0);
    assert_int_equal(s.state, IW_MPA_IDLE);
    return s;
}

struct iw_mpa_startup mpa_responder(const struct iw_mpa_config *config)
{
    struct iw_mpa_startup s;

    assert_int_equal(iw_mpa_startup_init(&s, IW_MPA_RESPONDER, config, NULL, 0, NULL), 0);
    assert_int_equal(s.state, IW_MPA_WAIT_REQUEST);
    return s;
}

struct iw_mpa_startup mpa_waiting(const struct iw_mpa_config *config)
{
    struct iw_mpa_startup s = mpa_initiator(config, "");
    const uint8_t *out;

    iw_mpa_startup_sent(&s, iw_mpa_startup_output(&s, &out));
    assert_int_equal(s.state, IW_MPA_WAIT_REPLY);
    return s;
}
