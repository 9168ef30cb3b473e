/* SPDX-License-Identifier: BSD-3-Clause */
/* Captures for the tests of iwarp-lint, and what it says of them. No FPDU has a CRC. Include from
 * one source of a test. */
#ifndef IW_TESTS_LINT_FILM_H
#define IW_TESTS_LINT_FILM_H

#include "lint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../caught.h"

enum { FIRST_PORT = 1001, PEER_PORT = 2002 };

static char folder[] = "/tmp/iw-follow-XXXXXX";
static struct iw_synth *synth;
static uint64_t now;

/* Each test is in an empty folder and has a capture to fill. */
static inline int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/iw-follow-XXXXXX");
    synth = iw_synth_new(1 << 20);
    now = 1000000000;
    return synth == NULL || mkdtemp(folder) == NULL || chdir(folder) != 0;
}

static inline int tear_down(void **state)
{
    iw_synth_free(synth);
    (void)catch_no_more(state);
    (void)unlink("a");
    (void)unlink("b");
    return chdir("/") != 0 || rmdir(folder) != 0;
}

/* A connection from 10.0.0.1, from port 1001 on. */
static inline int open_tcp(void)
{
    static uint16_t more;
    struct iw_synth_tcp tcp = {.address = {{4, {10, 0, 0, 1}}, {4, {10, 0, 0, 2}}},
                               .port = {FIRST_PORT, PEER_PORT},
                               .isn = {5000, 6000}};
    struct iw_synth_span span;
    if (iw_synth_frames(synth) == 0)
        more = 0;
    tcp.port[0] = (uint16_t)(tcp.port[0] + more++);
    int c = iw_synth_connect(synth, &tcp, now, &span);
    assert_true(c >= 0);
    return c;
}

static inline void say(int c, unsigned side, const void *octets, size_t length)
{
    now += 1000;
    assert_true(iw_synth_data(synth, c, side, now, octets, length).first > 0);
}

static const uint8_t request[] = "MPA ID Req Frame\0\1\0\0", reply[] = "MPA ID Rep Frame\0\1\0\0";

static inline void start(int c)
{
    say(c, 0, request, 20);
    say(c, 1, reply, 20);
}

/* An FPDU with a DDP header of 18 octets and this many others. Returns its length. */
static inline size_t fpdu(uint8_t out[600], uint8_t opcode, uint8_t qn, uint8_t msn, uint8_t length)
{
    size_t size = (2u + 18u + length + 3u) / 4u * 4u + 4u;
    memset(out, 0, size);
    out[1] = (uint8_t)(18 + length);
    out[2] = 0x41;
    out[3] = 0x40 | opcode;
    out[11] = qn;
    out[15] = msn;
    return size;
}

static inline void say_send(int c, unsigned side, uint8_t msn, uint8_t length)
{
    uint8_t octets[600];
    say(c, side, octets, fpdu(octets, IW_OP_SEND, 0, msn, length));
}

static inline void say_fins(int c)
{
    now += 1000;
    assert_true(iw_synth_fin(synth, c, 0, now).first > 0);
    assert_true(iw_synth_fin(synth, c, 1, now).first > 0);
}

static const struct iw_lint_options plain = {
    .path = "a", .messages = true, .connections = 10, .stag = -1, .connection = -1, .owner = -1};

/* Runs on the one capture of `o`. */
static inline int run_lint(const struct iw_lint_options *o, FILE *out)
{
    struct iw_lint_options options = *o;
    char *path = (char *)(uintptr_t)o->path;
    return iw_lint_captures(&options, &path, o->live == NULL, out);
}

/* Runs on the file "a", and compares its status and what it writes and complains. */
static inline void runs(const struct iw_lint_options *o, int status, const char *text,
                        const char *complaints)
{
    char *out = NULL;
    size_t size;
    FILE *file = open_memstream(&out, &size);
    assert_non_null(file);
    catch_from(STDERR_FILENO);
    int got = run_lint(o, file);
    assert_string_equal(caught(), complaints);
    fclose(file);
    assert_string_equal(out, text);
    assert_int_equal(got, status);
    free(out);
}

/* The same on what was made, from this frame on. */
static inline void lints_from(uint64_t first, const struct iw_lint_options *o, int status,
                              const char *text, const char *complaints)
{
    char error[IW_CAPTURE_ERROR];
    assert_true(iw_synth_write_part(synth, "a", NULL, NULL, first, 100000, error));
    runs(o, status, text, complaints);
}

static inline void lints(const struct iw_lint_options *o, int status, const char *text)
{
    lints_from(1, o, status, text, "");
}

/* In that many frames, from this one on, there is nothing to judge. */
static inline void finds_nothing(uint64_t first, const struct iw_lint_options *o, unsigned frames)
{
    char complaint[200];
    snprintf(complaint, sizeof(complaint),
             "iwarp: a: no iWARP connection in %u frames (--decode-as PORT takes one whose "
             "beginning is missing)\n",
             frames);
    lints_from(first, o, o->require ? 3 : 0, "", complaint);
}

/* What start() looks like. */
#define START                                                                                      \
    "a:4: initiator 10.0.0.1:1001: mpa request rev 1 pd 0\n"                                       \
    "a:5: responder 10.0.0.2:2002: mpa reply rev 1 pd 0\n"

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

#endif
