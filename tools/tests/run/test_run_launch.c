/* SPDX-License-Identifier: BSD-3-Clause */
/* What iwarp-run passes on to a program, and which programs it refuses. */
#include "run_library.h"
#include "run_program.h"
#include "run_sockets.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <sys/stat.h>

#include "../caught.h"

/* ---- doubles ---- */

static uid_t user;
static char folder[] = "launch.XXXXXX"; /* this program is said to be in bin/ below it */

uid_t __wrap_geteuid(void);
char *__wrap_iw_own_folder(void);

uid_t __wrap_geteuid(void)
{
    return user;
}

char *__wrap_iw_own_folder(void)
{
    char *path = malloc(100);
    assert_non_null(path);
    snprintf(path, 100, "%s/bin", folder);
    return path;
}

static char path[4096], error[4200];

static int begin(void **state)
{
    (void)state;
    strcpy(folder, "launch.XXXXXX");
    assert_non_null(mkdtemp(folder));
    user = 1000;
    *path = *error = '\0';
    unsetenv("LD_PRELOAD");
    unsetenv("ASAN_OPTIONS");
    return 0;
}

static int end(void **state)
{
    char command[100];
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
    return catch_no_more(state);
}

static const char *in_folder(const char *name)
{
    static char whole[200];
    snprintf(whole, sizeof(whole), "%s/%s", folder, name);
    return whole;
}

static void write_octets(const char *name, const void *octets, size_t length, mode_t mode)
{
    const int fd = open(in_folder(name), O_WRONLY | O_CREAT | O_TRUNC, 0700);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, octets, length), length);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

/* ---- settings ---- */

static const char *passed(const struct run_settings *s)
{
    assert_int_equal(run_pass_settings(s, error, sizeof(error)), 0);
    return getenv("IWARP_VERBS");
}

static void settings(void **state)
{
    (void)state;
    struct run_settings s = {.revision = 1, .mulpdu = 1400, .spin = 7};
    assert_string_equal(passed(&s), "crc=off,markers=off,rtr=off,responder_first=off,verbose=off,"
                                    "revision=1,mulpdu=1400,spin=7");
    s.crc = true;
    assert_memory_equal(passed(&s), "crc=on,markers=off,rtr=off,responder_first=off,verbose=off",
                        58);
    s = (struct run_settings){.markers = true};
    assert_memory_equal(passed(&s), "crc=off,markers=on,rtr=off,responder_first=off,verbose=off",
                        58);
    s = (struct run_settings){.rtr = true};
    assert_memory_equal(passed(&s), "crc=off,markers=off,rtr=on,responder_first=off,verbose=off",
                        58);
    s = (struct run_settings){.responder_first = true};
    assert_memory_equal(passed(&s), "crc=off,markers=off,rtr=off,responder_first=on,verbose=off",
                        58);
    s = (struct run_settings){.verbose = true};
    assert_memory_equal(passed(&s), "crc=off,markers=off,rtr=off,responder_first=off,verbose=on",
                        58);
    s = (struct run_settings){.capture = 5};
    assert_null(strstr(passed(&s), "capture"));
    s.judge = true;
    assert_non_null(strstr(passed(&s), ",spin=0,judge=on,capture=5"));
}

static void switches(void **state)
{
    (void)state;
    struct run_settings s = {.revision = 2};
    const char *why;
    assert_int_equal(iw_switches_set(&s.switches, IW_SWITCH_IGNORE, "mpa-crc", &why), 1);
    assert_string_equal(strstr(passed(&s), ",spin"), ",spin=0,ignore=mpa-crc");
    s.switches = (struct iw_switches){0};
    assert_int_equal(iw_switches_set(&s.switches, IW_SWITCH_VIOLATE, "rdmap-response-past", &why),
                     1);
    assert_int_equal(iw_switches_set(&s.switches, IW_SWITCH_BOTCH, "ddp-stag=silent", &why), 1);
    const char *text = strstr(passed(&s), ",spin=0,");
    assert_non_null(strstr(text, ",violate=rdmap-response-past"));
    assert_non_null(strstr(text, ",botch=ddp-stag=silent"));
    assert_int_equal(strlen(text),
                     strlen(",spin=0,violate=rdmap-response-past,botch=ddp-stag=silent"));
    assert_int_equal(iw_switch_any(&s.switches), true);
}

static void a_trace(void **state)
{
    (void)state;
    struct run_settings s = {.trace = in_folder("trace")};
    write_octets("trace", "old", 3, 0600);
    assert_int_equal(run_pass_settings(&s, error, sizeof(error)), 0);
    assert_int_equal(getenv("IWARP_RUN_TRACE")[0], '/'); /* the program may change its folder */
    assert_string_equal(text_of(getenv("IWARP_RUN_TRACE")), "");
    s.trace = "/nowhere/trace";
    assert_int_equal(run_pass_settings(&s, error, sizeof(error)), -1);
    assert_string_equal(error, "--trace: cannot write /nowhere/trace: No such file or directory");
}

/* ---- what is preloaded ---- */

static void make_libraries(const char *below)
{
    char command[300];
    snprintf(command, sizeof(command),
             "mkdir -p %s/bin %s/%s && touch %s/%s/libibverbs.so.1 %s/%s/libiwarp-sockets.so",
             folder, folder, below, folder, below, folder, below);
    assert_int_equal(system(command), 0);
}

/* LD_PRELOAD without the folder of the libraries, which has to be an absolute one. */
static const char *preloaded(bool sockets)
{
    static char text[1000];
    assert_int_equal(run_preload(sockets, error, sizeof(error)), 0);
    const char *from = getenv("LD_PRELOAD");
    char whole[PATH_MAX], *to = text;
    assert_non_null(realpath(in_folder("lib/iwarp"), whole));
    while (*from != '\0') {
        const bool here = strncmp(from, whole, strlen(whole)) == 0;
        from += here ? strlen(whole) : 0;
        *to++ = here ? '~' : *from++;
    }
    *to = '\0';
    return text;
}

static void libraries(void **state)
{
    (void)state;
    make_libraries("lib/iwarp");
    assert_string_equal(preloaded(false), "~/libibverbs.so.1");
    unsetenv("LD_PRELOAD");
    assert_string_equal(preloaded(true), "~/libiwarp-sockets.so:~/libibverbs.so.1");
    static const struct {
        const char *given, *options, *expected;
    } list[] = {
        {"", NULL, "~/libibverbs.so.1"},
        {"/a.so", NULL, "~/libibverbs.so.1:/a.so"},
        {"/libasan.so.8", NULL, "/libasan.so.8:~/libibverbs.so.1"},
        {"libasan.so.8", NULL, "libasan.so.8:~/libibverbs.so.1"},
        {"/libasan.so.8:/b.so", NULL, "/libasan.so.8:~/libibverbs.so.1:/b.so"},
        {"/libasan.so.8 /b.so", NULL, "/libasan.so.8:~/libibverbs.so.1:/b.so"},
        {"/a.so:/libasan.so.8:/b.so", NULL, "/a.so:/libasan.so.8:~/libibverbs.so.1:/b.so"},
        {"/asan/a.so", NULL, "~/libibverbs.so.1:/asan/a.so"},
        {"/a.so:", NULL, "~/libibverbs.so.1:/a.so:"},
        {"/libasan.so.8", "verify_asan_link_order=0", "~/libibverbs.so.1:/libasan.so.8"},
        {"/libasan.so.8", "x=1:verify_asan_link_order=0", "~/libibverbs.so.1:/libasan.so.8"},
        {"/libasan.so.8", "verify_asan_link_order=1", "/libasan.so.8:~/libibverbs.so.1"},
    };
    for (unsigned i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        setenv("LD_PRELOAD", list[i].given, 1);
        unsetenv("ASAN_OPTIONS");
        if (list[i].options != NULL)
            setenv("ASAN_OPTIONS", list[i].options, 1);
        assert_string_equal(preloaded(false), list[i].expected);
    }
    unsetenv("LD_PRELOAD");
}

static void no_library(void **state)
{
    (void)state;
    assert_int_equal(run_preload(false, error, sizeof(error)), -1);
    assert_string_equal(error, "libibverbs.so.1 is not in ../lib/iwarp, seen from this program");
    assert_null(getenv("LD_PRELOAD"));
    make_libraries("lib/iwarp");
    unlink(in_folder("lib/iwarp/libiwarp-sockets.so"));
    assert_int_equal(run_preload(true, error, sizeof(error)), -1);
    assert_string_equal(error,
                        "libiwarp-sockets.so is not in ../lib/iwarp, seen from this program");
    assert_int_equal(run_preload(false, error, sizeof(error)), 0);
    unsetenv("LD_PRELOAD");
}

/* ---- programs ---- */

static int find(const char *name)
{
    return run_find_program(name, path, sizeof(path), error, sizeof(error));
}

static void by_path(void **state)
{
    (void)state;
    char whole[400], places[900];
    const char *saved = getenv("PATH");
    char *kept = strdup(saved != NULL ? saved : "");
    write_octets("own-program", "#!/bin/sh\n", 10, 0700);
    write_octets("no-program", "#!/bin/sh\n", 10, 0600);
    snprintf(whole, sizeof(whole), "%s/own-program", folder);
    snprintf(places, sizeof(places), "/nowhere::%s:/bin", folder);
    setenv("PATH", places, 1);
    assert_int_equal(find("own-program"), 0);
    assert_string_equal(path, whole);
    assert_int_equal(find("sh"), 0); /* in the last place */
    assert_string_equal(path, "/bin/sh");
    setenv("PATH", folder, 1);
    assert_int_equal(find("own-program"), 0);
    assert_int_equal(find("sh"), -1);
    assert_string_equal(error, "sh: no such program in PATH");
    setenv("PATH", "", 1);
    assert_int_equal(find("sh"), -1);
    unsetenv("PATH");
    assert_int_equal(find("sh"), 0);
    assert_true(strcmp(path, "/usr/bin/sh") == 0 || strcmp(path, "/bin/sh") == 0);
    assert_int_equal(find(whole), 0); /* a slash: a path */
    assert_string_equal(path, whole);
    assert_int_equal(find("/nowhere/sh"), -1);
    assert_string_equal(error, "/nowhere/sh: No such file or directory");
    if (access(in_folder("no-program"), X_OK) != 0) {
        setenv("PATH", folder, 1);
        assert_int_equal(find("no-program"), -1);
    }
    setenv("PATH", folder, 1); /* one whose path has no room is none */
    assert_int_equal(run_find_program("own-program", path, strlen(whole), error, sizeof(error)),
                     -1);
    assert_int_equal(run_find_program("own-program", path, strlen(whole) + 1, error, sizeof(error)),
                     0);
    setenv("PATH", kept, 1);
    free(kept);
}

static void refuses(const char *name, const char *why)
{
    char whole[300];
    snprintf(whole, sizeof(whole), "%s: %s", in_folder(name), why);
    assert_int_equal(run_check_program(in_folder(name), error, sizeof(error)), -1);
    assert_string_equal(error, whole);
}

static void takes(const char *name)
{
    assert_int_equal(run_check_program(in_folder(name), error, sizeof(error)), 0);
}

static const char neither[] = "neither an ELF program nor a script",
                  statically[] = "is linked statically (as Go programs often are), so no library "
                                 "can be preloaded into it";

struct elf {
    ElfW(Ehdr) header;
    ElfW(Phdr) segments[2];
};

static struct elf made(unsigned first, unsigned second)
{
    struct elf e = {
        .header = {.e_phoff = sizeof(ElfW(Ehdr)), .e_phentsize = sizeof(ElfW(Phdr)), .e_phnum = 2},
        .segments = {{.p_type = first}, {.p_type = second}}};
    memcpy(e.header.e_ident, ELFMAG, SELFMAG);
    e.header.e_ident[EI_CLASS] = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    return e;
}

static void kinds(void **state)
{
    (void)state;
    const unsigned before = descriptors();
    struct elf e = made(PT_LOAD, PT_INTERP);
    write_octets("a", &e, sizeof(e), 0700);
    takes("a");
    e = made(PT_INTERP, PT_LOAD);
    write_octets("a", &e, sizeof(e) - 1, 0700); /* the first segment says it */
    takes("a");
    e = made(PT_LOAD, PT_LOAD);
    write_octets("a", &e, sizeof(e), 0700);
    refuses("a", statically);
    write_octets("a", &e, sizeof(e) - 1, 0700);
    refuses("a", "is cut short");
    e.header.e_phnum = 0;
    write_octets("a", &e, sizeof(e.header), 0700);
    refuses("a", statically);
    write_octets("a", &e, sizeof(e.header) - 1, 0700);
    refuses("a", neither);
    e.header.e_ident[EI_CLASS] = sizeof(void *) == 8 ? ELFCLASS32 : ELFCLASS64;
    write_octets("a", &e, sizeof(e), 0700);
    refuses("a", "is for another word size than this library");
    e.header.e_ident[3] = 'G';
    write_octets("a", &e, sizeof(e), 0700);
    refuses("a", neither);
    write_octets("a", "#!", 2, 0700);
    takes("a");
    write_octets("a", "#", 1, 0700);
    refuses("a", neither);
    write_octets("a", "", 0, 0700);
    refuses("a", neither);
    char text[100];
    memset(text, ' ', sizeof(text));
    write_octets("a", text, sizeof(text), 0700);
    refuses("a", neither);
    memset(text, '~', sizeof(text));
    write_octets("a", text, sizeof(text), 0700);
    refuses("a", neither);
    refuses("absent", "No such file or directory");
    refuses(".", "is not a regular file");
    assert_int_equal(descriptors(), before);
}

static void with_rights(void **state)
{
    (void)state;
    static const mode_t modes[] = {S_ISUID, S_ISGID, S_ISUID | S_ISGID};
    for (unsigned i = 0; i < 3; i++) {
        write_octets("s", "#!", 2, 0700 | modes[i]);
        user = 1000;
        refuses("s", "is set-uid or set-gid, so the loader ignores a preloaded library");
        user = 0;
        takes("s");
    }
}

/* ---- sockets ---- */

static struct run_sockets sockets;

static int option(unsigned i, const char *value)
{
    return run_socket_options[i].set(&sockets, value, error, sizeof(error));
}

static void rules(void **state)
{
    (void)state;
    sockets = (struct run_sockets){.wanted = true};
    unsetenv("IWARP_SOCKETS");
    assert_int_equal(run_pass_sockets(&sockets, error, sizeof(error)), 0);
    assert_null(getenv("IWARP_SOCKETS"));
    assert_int_equal(option(1, "80,fallback=tcp"), IW_OPTION_TAKEN);
    assert_int_equal(option(2, "90-92,mixed,wait=5"), IW_OPTION_TAKEN);
    write_octets("rules", "connect 1\nlisten 2\n", 19, 0600);
    assert_int_equal(option(3, in_folder("rules")), IW_OPTION_TAKEN);
    write_octets("rules", "connect 3\n", 10, 0600); /* a shorter one after it */
    assert_int_equal(option(3, in_folder("rules")), IW_OPTION_TAKEN);
    assert_int_equal(sockets.rules.count, 5);
    setenv("IWARP_SOCKETS", "what was there before", 1);
    assert_true(sockets.rules.rules[0].connects && sockets.rules.rules[0].listens);
    assert_true(sockets.rules.rules[0].fallback);
    assert_false(sockets.rules.rules[1].connects);
    assert_int_equal(sockets.rules.rules[1].last, 92);
    assert_int_equal(sockets.rules.rules[1].wait, 5);
    assert_int_equal(run_pass_sockets(&sockets, error, sizeof(error)), 0);
    assert_string_equal(getenv("IWARP_SOCKETS"), "port 80 fallback=tcp\nlisten 90-92 mixed wait=5\n"
                                                 "connect 1\nlisten 2\n\nconnect 3\n\n");
    sockets.wanted = false;
    assert_int_equal(run_pass_sockets(&sockets, error, sizeof(error)), -1);
    assert_string_equal(error, "--port, --listen-port and --rules: expected --sockets as well");
    free(sockets.text);
    sockets.text = NULL;
    assert_int_equal(run_pass_sockets(&sockets, error, sizeof(error)), 0);
}

static void bad_rules(void **state)
{
    (void)state;
    sockets = (struct run_sockets){.wanted = true};
    static const char *const wrong[] = {"",    "x",         "80;connect 1", "80\nconnect 1",
                                        "80#", "80,nothing"};
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        for (unsigned k = 1; k < 3; k++) {
            assert_int_equal(option(k, wrong[i]), IW_OPTION_WRONG);
            assert_memory_equal(error, "expected", 8);
        }
    assert_null(sockets.text);
    assert_int_equal(sockets.rules.count, 0);
    assert_int_equal(option(3, "/nowhere/rules"), IW_OPTION_WRONG);
    assert_non_null(strstr(error, "cannot read it: No such file or directory"));
    assert_int_equal(option(3, folder), IW_OPTION_WRONG);
    assert_non_null(strstr(error, "cannot read it: Is a directory"));
    static char large[65536];
    memset(large, '\n', sizeof(large));
    write_octets("rules", large, sizeof(large), 0600);
    assert_int_equal(option(3, in_folder("rules")), IW_OPTION_WRONG);
    assert_non_null(strstr(error, "expected a text of less than 64 KiB"));
    write_octets("rules", large, sizeof(large) - 1, 0600);
    assert_int_equal(option(3, in_folder("rules")), IW_OPTION_TAKEN);
    write_octets("rules", "connect 1\0", 10, 0600);
    assert_int_equal(option(3, in_folder("rules")), IW_OPTION_WRONG);
    write_octets("rules", "connect 1\nfoo\n", 14, 0600);
    assert_int_equal(option(3, in_folder("rules")), IW_OPTION_WRONG);
    assert_non_null(strstr(error, "/rules:2: expected"));
    free(sockets.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(settings, begin, end),
        cmocka_unit_test_setup_teardown(switches, begin, end),
        cmocka_unit_test_setup_teardown(a_trace, begin, end),
        cmocka_unit_test_setup_teardown(libraries, begin, end),
        cmocka_unit_test_setup_teardown(no_library, begin, end),
        cmocka_unit_test_setup_teardown(by_path, begin, end),
        cmocka_unit_test_setup_teardown(kinds, begin, end),
        cmocka_unit_test_setup_teardown(with_rights, begin, end),
        cmocka_unit_test_setup_teardown(rules, begin, end),
        cmocka_unit_test_setup_teardown(bad_rules, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
