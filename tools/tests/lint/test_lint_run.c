/* SPDX-License-Identifier: BSD-3-Clause */
/* iwarp-lint as a whole: what it reads, what else it writes, how it ends. */
#include "lint_film.h"

#include <signal.h>
#include <stdio_ext.h>

#include "host/complain.h"

static void buffers_are_extracted(void **state)
{
    struct iw_lint_options o = plain;
    uint8_t octets[600];
    (void)state;
    int c = open_tcp();
    start(c);
    size_t size = fpdu(octets, IW_OP_WRITE, 0, 0, 0);
    octets[1] = 14 + 4;
    octets[2] = 0xc1;
    octets[7] = 9;
    snprintf((char *)octets + 16, 5, "wxyz");
    say(c, 0, octets, size);
    o.messages = false;
    o.stag = 9;
    o.into = "b";
    lints(&o, 0, "b: 4 octets of STag 0x9, responder 10.0.0.2:2002, connection 0, TO 0x0 to 0x3\n");
    assert_string_equal(text_of("b"), "wxyz");
    o.stag = 8;
    lints_from(1, &o, 64, "",
               "iwarp: --extract 0x8: no Write or Read Response to this STag was seen\n");
    o.stag = 9;
    o.into = "/none/b";
    lints_from(1, &o, 73, "", "iwarp: /none/b: cannot be written: No such file or directory\n");
}

/* ---- the whole ---- */

/* One that libpcap refuses, in its own words. */
static void is_unreadable(const struct iw_lint_options *o, const char *said)
{
    catch_from(STDERR_FILENO);
    int status = run_lint(o, stdout);
    assert_memory_equal(caught(), said, strlen(said));
    assert_int_equal(status, 2);
}

static void captures_that_cannot_be_read(void **state)
{
    struct iw_lint_options o = plain;
    (void)state;
    runs(&o, 2, "", "iwarp: a: cannot be opened: No such file or directory\n");
    int c = open_tcp();
    start(c);
    lints(&o, 0, START);
    assert_int_equal(truncate("a", 540), 0);
    runs(&o, 2, "a:4: initiator 10.0.0.1:1001: mpa request rev 1 pd 0\n",
         "iwarp: a: frame 5 at offset 448: expected a whole record: it is truncated: only 92 of "
         "108 octets\n");
    o.filter = "tcp src port 2002";
    o.format = IW_LINT_JSON;
    o.summary = true;
    lints(&o, 0,
          "{\"type\":\"message\",\"frame\":5,\"connection\":0,\"side\":\"responder\",\"from\":\"10."
          "0.0.2:2002\",\"octet\":0,\"text\":\"mpa reply rev 1 pd 0\"}\n"
          "{\"type\":\"connection\",\"connection\":0,\"initiator_address\":\"10.0.0.1:1001\","
          "\"responder_address\":\"10.0.0.2:2002\",\"agreed\":null,\"initiator\":{\"startup\":"
          "false,\"whole\":true,\"findings\":0,\"gaps\":0,\"missing\":0,\"messages\":{},\"reads\":{"
          "\"outstanding\":0,\"answered\":0}},\"responder\":{\"startup\":true,\"whole\":true,"
          "\"findings\":0,\"gaps\":0,\"missing\":0,\"revision\":1,\"crc\":false,\"markers\":false,"
          "\"rejected\":false,\"messages\":{},\"reads\":{\"outstanding\":0,\"answered\":0}}}\n"
          "{\"type\":\"total\",\"frames\":2,\"cut\":0,\"bad\":0,\"unfinished_datagrams\":0,"
          "\"connections\":1,\"not_followed\":0,\"closed_early\":0,\"findings\":0}\n");
    o.filter = "nonsense nonsense";
    is_unreadable(&o, "iwarp: a: filter \"nonsense nonsense\": ");
    o.filter = NULL;
    o.live = "no-such-dev";
    is_unreadable(&o, "iwarp: interface no-such-dev: ");
}

static void what_is_written_is_checked(void **state)
{
    struct iw_lint_options o = plain;
    FILE *full = fopen("/dev/full", "w");
    char error[IW_CAPTURE_ERROR];
    (void)state;
    assert_non_null(full);
    start(open_tcp());
    assert_true(iw_synth_write(synth, "a", NULL, NULL, error));
    catch_from(STDERR_FILENO);
    int status = run_lint(&o, full);
    assert_string_equal(caught(), "iwarp: cannot write to standard output\n");
    assert_int_equal(status, 73);
    fclose(full);
}

static void sarif_is_one_document(void **state)
{
    struct iw_lint_options o = plain;
    char error[IW_CAPTURE_ERROR], *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    (void)state;
    assert_non_null(out);
    start(open_tcp());
    assert_true(iw_synth_write(synth, "a", NULL, NULL, error));
    o.format = IW_LINT_SARIF;
    o.messages = false;
    assert_int_equal(run_lint(&o, out), 0);
    fclose(out);
    json_t *whole = json_loads(text, 0, NULL);
    assert_non_null(whole);
    assert_string_equal(json_string_value(json_object_get(whole, "version")), "2.1.0");
    const json_t *results =
        json_object_get(json_array_get(json_object_get(whole, "runs"), 0), "results");
    assert_true(json_is_array(results));
    assert_int_equal(json_array_size(results), 0);
    json_decref(whole);
    free(text);
}

/* ---- copies with comments ---- */

/* How often a text is in the file "b". */
static unsigned times(const char *text)
{
    static char octets[1 << 20];
    FILE *file = fopen("b", "r");
    assert_non_null(file);
    size_t length = fread(octets, 1, sizeof(octets), file);
    fclose(file);
    unsigned count = 0;
    for (char *at = octets; (at = memmem(at, (size_t)(octets + length - at), text, strlen(text)));
         at++)
        count++;
    return count;
}

static void copies_have_comments(void **state)
{
    struct iw_lint_options o = plain;
    (void)state;
    int c = open_tcp();
    start(c);
    say_send(c, 0, 2, 4);
    o.messages = false;
    o.format = IW_LINT_SARIF;
    o.annotate = "b";
    char *out = NULL;
    size_t size;
    char error[IW_CAPTURE_ERROR];
    FILE *file = open_memstream(&out, &size);
    assert_true(iw_synth_write(synth, "a", NULL, NULL, error));
    assert_int_equal(run_lint(&o, file), 1);
    fclose(file);
    free(out);
    assert_int_equal(times("iwarp-lint " IW_VERSION), 1);
    assert_int_equal(times("iwarp-lint: 1 finding"), 1);
    assert_int_equal(times("not in this file"), 0);
    assert_int_equal(times("DDP-4.3-08 (MUST): the MSN is not the one expected on its queue: "
                           "MSNs begin with another number than 1 "
                           "[ddp-msn; initiator, octet 32: 0x2, expected 0x1]"),
                     1);
    /* A copy in no folder. */
    o.annotate = "/none/b";
    o.format = IW_LINT_TEXT;
    lints_from(1, &o, 73,
               "a:6: DDP-4.3-08 (MUST): the MSN is not the one expected on its queue: MSNs begin "
               "with another number than 1 [ddp-msn; "
               "initiator 10.0.0.1:1001, octet 32: 0x2, expected 0x1]\n",
               "iwarp: /none/b: cannot be created: No such file or directory\n");
}

/* How many interfaces the file "b" describes. */
static unsigned interfaces(void)
{
    unsigned count = 0;
    uint32_t head[2];
    FILE *file = fopen("b", "r");
    assert_non_null(file);
    while (fread(head, sizeof(head), 1, file) == 1) {
        count += head[0] == 1;
        assert_int_equal(fseek(file, (long)head[1] - (long)sizeof(head), SEEK_CUR), 0);
    }
    fclose(file);
    return count;
}

/* A capture without packets has a copy that can be read; what stands behind the notes is none. */
static void copies_of_little(void **state)
{
    struct iw_lint_options o = plain;
    struct iw_lint lint = {.options = &o};
    char error[IW_CAPTURE_ERROR];
    (void)state;
    o.annotate = "b";
    finds_nothing(1, &o, 0);
    assert_int_equal(interfaces(), 1);
    assert_int_equal(times("iwarp-lint: 0 findings"), 1);
    start(open_tcp());
    assert_true(iw_synth_write(synth, "a", NULL, NULL, error));
    lint.notes = calloc(IW_LINT_NOTES, sizeof(*lint.notes));
    assert_non_null(lint.notes);
    iw_lint_note(&lint, 4, "four.");
    lint.notes[1] = (struct iw_lint_note){.frame = 5, .text = (char[]){"none."}};
    assert_true(iw_lint_annotate(&lint));
    assert_int_equal(times("four."), 1);
    assert_int_equal(times("none."), 0);
    iw_lint_free_notes(&lint);
}

/* Notes of frames in any order; of one frame at most 64, of which the last says that there are
 * more. */
static void comments_are_on_their_frames(void **state)
{
    struct iw_lint_options o = plain;
    struct iw_lint lint = {.options = &o, .findings = 77, .more_notes = 5};
    char error[IW_CAPTURE_ERROR];
    (void)state;
    o.annotate = "b";
    start(open_tcp());
    assert_true(iw_synth_write(synth, "a", NULL, NULL, error));
    lint.notes = calloc(IW_LINT_NOTES, sizeof(*lint.notes));
    assert_non_null(lint.notes);
    for (unsigned i = 0; i < 66; i++) {
        iw_lint_note(&lint, 4, "four %u.", i);
        if (i < 63)
            iw_lint_note(&lint, 2, "two %u.", i);
        if (i < 2)
            iw_lint_note(&lint, 1, "one %u.", i);
    }
    iw_lint_note(&lint, 5, "five.");
    iw_lint_note(&lint, 7, "none.");
    assert_true(iw_lint_annotate(&lint));
    assert_int_equal(interfaces(), 1);
    iw_lint_free_notes(&lint);
    assert_int_equal(times("iwarp-lint: 77 findings; 5 of them are not in this file"), 1);
    assert_int_equal(times("four "), 63);
    assert_int_equal(times("four 62."), 1);
    assert_int_equal(times("... and more findings at this frame"), 1);
    assert_int_equal(times("two "), 63);
    assert_int_equal(times("two 62."), 1);
    assert_int_equal(times("one 0."), 1);
    assert_int_equal(times("one 1."), 1);
    assert_int_equal(times("five."), 1);
    assert_int_equal(times("none."), 0);
    /* In the order of the frames, and there in the order in which they came. */
    char *octets = memcpy(malloc(sizeof(catching.text)), text_of("b"), sizeof(catching.text));
    const char *last = octets;
    static const char *const order[] = {"one 0.",  "one 1.",   "two 0.",       "two 62.",
                                        "four 0.", "four 62.", "... and more", "five."};
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        const char *at = memmem(octets, sizeof(catching.text), order[i], strlen(order[i]));
        assert_true(at > last);
        last = at;
    }
    free(octets);
}

/* Only the frames that the filter selects are copied. */
static void copies_are_filtered(void **state)
{
    struct iw_lint_options o = plain;
    char error[IW_CAPTURE_ERROR];
    (void)state;
    o.annotate = "b";
    o.filter = "tcp src port 2002";
    o.messages = false;
    start(open_tcp());
    lints(&o, 0, "");
    struct iw_capture *c = iw_capture_open("b", error);
    struct iw_frame frame;
    assert_non_null(c);
    unsigned count = 0;
    for (struct iw_packet p; iw_capture_next(c, &frame, error) == 1; count++) {
        assert_int_equal(iw_packet_decode(&frame, &p), IW_DECODE_TCP);
        assert_int_equal(p.source_port, 2002);
    }
    iw_capture_close(c);
    assert_int_equal(count, 2);
}

/* ---- terminals and signals ---- */

/* A sparse pcap file of this size, of frames of 64 KiB without a protocol. */
static void make_large(off_t size)
{
    enum { RECORD = 65536 };
    const uint32_t head[6] = {0xa1b2c3d4, 4 << 16 | 2, 0, 0, RECORD, 1},
                   record[4] = {0, 0, RECORD - 16, RECORD - 16};
    int fd = open("a", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, head, sizeof(head)), sizeof(head));
    for (off_t at = sizeof(head); at + RECORD <= size; at += RECORD)
        assert_int_equal(pwrite(fd, record, sizeof(record), at), sizeof(record));
    assert_int_equal(ftruncate(fd, size), 0);
    close(fd);
}

/* What a run says to a terminal. */
static const char *on_a_terminal(const struct iw_lint_options *o)
{
    static char said[2000];
    int ours = posix_openpt(O_RDWR | O_NOCTTY), its, saved = dup(STDERR_FILENO);
    assert_true(ours >= 0 && grantpt(ours) == 0 && unlockpt(ours) == 0);
    its = open(ptsname(ours), O_RDWR | O_NOCTTY);
    assert_true(its >= 0);
    fflush(stderr);
    (void)dup2(its, STDERR_FILENO);
    FILE *out = fopen("/dev/null", "w");
    (void)run_lint(o, out);
    iw_complain("done");
    fflush(stderr);
    (void)dup2(saved, STDERR_FILENO);
    fclose(out);
    size_t n = 0;
    for (ssize_t got; n == 0 || said[n - 1] != '\n'; n += (size_t)got) {
        got = read(ours, said + n, sizeof(said) - 1 - n);
        assert_true(got > 0);
    }
    said[n] = '\0';
    close(saved);
    close(its);
    close(ours);
    return said;
}

/* Each percent of a file of 64 MiB is shown once, and removed in the end. */
static void progress_is_shown(void **state)
{
    char expected[1000] = "";
    struct iw_lint_options o = plain;
    (void)state;
    make_large(64 * 1024 * 1024);
    for (unsigned percent = 1; percent < 100; percent++)
        snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected), "\r%3u %% ",
                 percent);
    snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected), "\r        \r");
    const char *said = on_a_terminal(&o);
    assert_memory_equal(said, expected, strlen(expected));
    make_large(64 * 1024 * 1024 - 1);
    assert_memory_equal(on_a_terminal(&o), "iwarp: ", 7);
    runs(
        &o, 2, "",
        "iwarp: a: frame 5118 at offset 67108856: expected a whole record: it is truncated: only 7 "
        "of 16 octets\n");
}

/* A stream whose first octets bring a signal. */
static ssize_t interrupt(void *context, const char *octets, size_t length)
{
    (void)octets;
    if (!*(bool *)context)
        raise(SIGINT);
    *(bool *)context = true;
    return (ssize_t)length;
}

static void is_caught(int number, bool expected)
{
    struct sigaction action;
    assert_int_equal(sigaction(number, NULL, &action), 0);
    assert_int_equal(action.sa_handler != SIG_DFL, expected);
}

/* The last test, as the process stays interrupted. What comes through a pipe is read until a signal
 * comes. */
static void signals_end_it(void **state)
{
    struct iw_lint_options o = plain;
    char error[IW_CAPTURE_ERROR];
    bool interrupted = false;
    int saved = dup(STDIN_FILENO), pipes[2];
    (void)state;
    signal(SIGINT, SIG_DFL); /* who starts a test in the background has it ignored */
    signal(SIGTERM, SIG_DFL);
    start(open_tcp());
    lints(&o, 0, START);
    is_caught(SIGINT, true);
    is_caught(SIGTERM, false);
    assert_int_equal(pipe(pipes), 0);
    assert_true(dup2(pipes[0], STDIN_FILENO) == STDIN_FILENO);
    assert_true(iw_synth_write(synth, "a", NULL, NULL, error));
    const char *octets = text_of("a");
    assert_int_equal(write(pipes[1], octets, 600), 600);
    FILE *out = fopencookie(&interrupted, "w", (cookie_io_functions_t){.write = interrupt});
    setbuf(out, NULL);
    o.path = "-";
    /* The pipe has no end yet: without the signal it would wait for ever. */
    assert_int_equal(run_lint(&o, out), IW_EXIT_INTERRUPTED);
    fclose(out);
    assert_true(interrupted);
    is_caught(SIGINT, false); /* a second one ends the program */
    is_caught(SIGTERM, true);
    assert_true(__flbf(stdout) != 0);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    assert_true(dup2(saved, STDIN_FILENO) == STDIN_FILENO);
    close(saved);
    close(pipes[0]);
    close(pipes[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(buffers_are_extracted),
        TEST(captures_that_cannot_be_read),
        TEST(what_is_written_is_checked),
        TEST(sarif_is_one_document),
        TEST(copies_have_comments),
        TEST(copies_of_little),
        TEST(comments_are_on_their_frames),
        TEST(copies_are_filtered),
        TEST(progress_is_shown),
        TEST(signals_end_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
