/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a command that sends messages, and the net that it asks: what the options say, and
 * what the library gets. */
#include "message_stage.h"
#include "msg_command.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>

#include "../caught.h"

static struct msg_settings settings;
static char path[] = "key.XXXXXX";

static int begin(void **state)
{
    settings = (struct msg_settings){0};
    strcpy(path, "key.XXXXXX");
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    return stage_begin(state);
}

static int end(void **state)
{
    unlink(path);
    return catch_no_more(state) | stage_end(state);
}

/* Reads options as the program does. Returns the status; -1: they are good. */
static int given(size_t count, const char *const *words)
{
    const struct iw_option_table tables[] = {
        {"This end:", msg_place_options, MSG_PLACE_OPTIONS, &settings.place},
        {"Finding services:", msg_net_options, MSG_NET_OPTIONS, &settings.net},
    };
    const struct iw_command_line line = {.program = "test",
                                         .usage = "",
                                         .tables = tables,
                                         .n_tables = 2,
                                         .command = MSG_SERVES,
                                         .command_name = "serve",
                                         .most_operands = -1};
    char *argv[200] = {(char *)(uintptr_t) "test"};
    int first;
    assert_true(count + 1 < 200);
    for (size_t i = 0; i < count; i++)
        argv[i + 1] = (char *)(uintptr_t)words[i];
    return iw_options_read(&line, (int)count + 1, argv, &first);
}

#define GIVEN(...)                                                                                 \
    given(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), (const char *[]){__VA_ARGS__})

static char complaints[1000];

/* Opens the end. Returns the status; closes it. */
static int opens(void)
{
    struct iw_messages *m;
    catch_from(STDERR_FILENO);
    const int status = msg_place_open(&settings.place, &settings.net, &m);
    snprintf(complaints, sizeof(complaints), "%s", caught());
    if (status < 0)
        iw_messages_close(m);
    return status;
}

static void complains(const char *text)
{
    if (strstr(complaints, text) == NULL)
        fail_msg("expected \"%s\" in \"%s\"", text, complaints);
}

/* ---- what the library gets ---- */

static void nothing_said(void **state)
{
    (void)state;
    assert_int_equal(opens(), -1);
    assert_null(stage.config.listen);
    assert_int_equal(stage.config.place_count, 0);
    assert_int_equal(stage.config.connections, 0);
    assert_int_equal(stage.config.timeout_ms, 0);
    assert_int_equal(stage.config.spin_us, 0);
    assert_true(stage.has_resolver);
    assert_int_equal(stage.resolver.host_count, 0);
    assert_int_equal(stage.resolver.port, 0);
    assert_true(stage.resolver.multicast);
    assert_true(stage.resolver.broadcast);
    assert_null(stage.resolver.interface);
    assert_null(stage.resolver.key);
}

static void everything_said(void **state)
{
    (void)state;
    const int fd = open(path, O_WRONLY);
    assert_int_equal(write(fd, "sixteen octets!!\n", 17), 17);
    close(fd);
    assert_int_equal(GIVEN("--at", "7=192.0.2.1:4000", "--at", "0x10=192.0.2.2:1", "--listen",
                           "192.0.2.3:5000", "--poll", "--timeout", "300", "--connections", "9",
                           "--host", "a.example", "--host", "b.example:77", "--interface", "lo",
                           "--no-multicast", "--no-broadcast", "--resolver-port", "99",
                           "--key-file", path),
                     -1);
    assert_int_equal(opens(), -1);
    assert_int_equal(stage.config.place_count, 2);
    const struct sockaddr_in *at = (const struct sockaddr_in *)&stage.places[0].at;
    assert_int_equal(stage.places[0].number, 7);
    assert_int_equal(ntohs(at->sin_port), 4000);
    assert_int_equal(ntohl(at->sin_addr.s_addr), 0xc0000201);
    at = (const struct sockaddr_in *)&stage.places[1].at;
    assert_int_equal(stage.places[1].number, 16);
    assert_int_equal(ntohl(at->sin_addr.s_addr), 0xc0000202);
    at = (const struct sockaddr_in *)&stage.listen;
    assert_int_equal(ntohs(at->sin_port), 5000);
    assert_int_equal(ntohl(at->sin_addr.s_addr), 0xc0000203);
    assert_int_equal(stage.config.spin_us, IW_MESSAGES_POLL);
    assert_int_equal(stage.config.timeout_ms, 300);
    assert_int_equal(stage.config.connections, 9);
    assert_int_equal(stage.resolver.host_count, 2);
    assert_string_equal(stage.resolver.hosts[0], "a.example");
    assert_string_equal(stage.resolver.hosts[1], "b.example:77");
    assert_string_equal(stage.resolver.interface, "lo");
    assert_false(stage.resolver.multicast);
    assert_false(stage.resolver.broadcast);
    assert_int_equal(stage.resolver.port, 99);
    assert_int_equal(stage.resolver.key_length, 16);
    assert_memory_equal(stage.key, "sixteen octets!!", 16);
    assert_int_equal(GIVEN("--no-resolver"), -1);
    assert_int_equal(opens(), -1);
    assert_false(stage.has_resolver);
}

/* ---- bounds ---- */

static void bad_options(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {{"--at", "7"},
                                           {"--at", "=192.0.2.1:1"},
                                           {"--at", "0=192.0.2.1:1"},
                                           {"--at", "x=192.0.2.1:1"},
                                           {"--at", "4294967296=192.0.2.1:1"},
                                           {"--at", "7=192.0.2.1"},
                                           {"--at", "7=no.such.host.invalid:1"},
                                           {"--timeout", "0"},
                                           {"--timeout", "300001"},
                                           {"--connections", "0"},
                                           {"--connections", "4097"},
                                           {"--resolver-port", "0"},
                                           {"--resolver-port", "65536"},
                                           {"--expiry", "0"},
                                           {"--expiry", "86400001"}};
    catch_from(STDERR_FILENO);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(given(2, wrong[i]), 64);
    const char *text = caught();
    assert_non_null(strstr(text, "expected NUMBER=HOST:PORT"));
    assert_int_equal(settings.place.place_count, 0);
    assert_int_equal(GIVEN("--timeout", "1", "--connections", "1", "--resolver-port", "1",
                           "--expiry", "1", "--at", "1=192.0.2.1:1"),
                     -1);
    assert_int_equal(GIVEN("--timeout", "300000", "--connections", "4096", "--resolver-port",
                           "65535", "--expiry", "86400000", "--at", "4294967295=192.0.2.1:1"),
                     -1);
    assert_int_equal(settings.place.places[1].number, UINT32_MAX);
    assert_int_equal(settings.net.config.port, 65535);
    assert_int_equal(settings.net.config.expiry_ms, 86400000);
}

static void as_many(const char *option, const char *value, const char *line)
{
    const char *words[130];
    for (unsigned i = 0; i < 65; i++) {
        words[2 * i] = option;
        words[2 * i + 1] = value;
    }
    assert_int_equal(given(128, words), -1);
    settings = (struct msg_settings){0};
    catch_from(STDERR_FILENO);
    const int status = given(130, words);
    assert_non_null(strstr(caught(), line));
    assert_int_equal(status, 64);
}

static void the_most(void **state)
{
    (void)state;
    as_many("--at", "7=192.0.2.1:1", "expected at most 64 numbers");
    assert_int_equal(settings.place.place_count, 64);
    as_many("--host", "a.example", "expected at most 64 hosts");
    assert_int_equal(settings.net.config.host_count, 64);
}

/* ---- keys ---- */

/* A key of so many octets; returns the status. */
static int with_key(size_t length, bool feed)
{
    static char octets[2000];
    memset(octets, 'k', sizeof(octets));
    if (feed)
        octets[length] = '\n';
    const int fd = open(path, O_WRONLY | O_TRUNC);
    assert_int_equal(write(fd, octets, length + feed), length + feed);
    close(fd);
    settings.net = (struct msg_net){.key_file = path};
    return opens();
}

static void keys(void **state)
{
    (void)state;
    for (unsigned feed = 0; feed < 2; feed++) {
        assert_int_equal(with_key(15, feed), 64);
        complains("expected a key of 16 to 1024 octets\n");
        assert_int_equal(with_key(0, feed), 64);
        assert_int_equal(with_key(16, feed), -1);
        assert_int_equal(stage.resolver.key_length, 16);
        assert_int_equal(with_key(1024, feed), -1);
        assert_int_equal(stage.resolver.key_length, 1024);
        assert_int_equal(stage.key[1023], 'k');
        assert_int_equal(with_key(1025, feed), 64);
        assert_int_equal(with_key(1900, feed), 64);
    }
    settings.net.key_file = "/nowhere/key";
    assert_int_equal(opens(), 64);
    complains("--key-file: cannot read \"/nowhere/key\": No such file or directory\n");
    settings.net.key_file = "/proc/self"; /* a folder */
    assert_int_equal(opens(), 64);
    complains("--key-file: cannot read \"/proc/self\"");
}

/* ---- what may go wrong ---- */

static void failures(void **state)
{
    (void)state;
    static const int devices[] = {ENODEV, ENOENT};
    for (unsigned i = 0; i < 2; i++) {
        stage.open_errno = devices[i];
        assert_int_equal(opens(), 69);
        complains("it does not open (without one: iwarp-run iwarp-msg ...)\n");
    }
    stage.open_errno = EADDRINUSE;
    assert_int_equal(opens(), 69);
    complains("it does not open\n");
    settings.place.listen = "192.0.2.1:x";
    assert_int_equal(opens(), 64);
    complains("--listen: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_said, begin, end),
        cmocka_unit_test_setup_teardown(everything_said, begin, end),
        cmocka_unit_test_setup_teardown(bad_options, begin, end),
        cmocka_unit_test_setup_teardown(the_most, begin, end),
        cmocka_unit_test_setup_teardown(keys, begin, end),
        cmocka_unit_test_setup_teardown(failures, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
