/* SPDX-License-Identifier: BSD-3-Clause */
/* What /proc says of processes, with tables of the test's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "host/proc_tables.h"

/* ---- doubles ---- */

static const char *folder, *statm, *tcp, *tcp6; /* NULL: there is no such file */

FILE *__wrap_fopen(const char *path, const char *mode);
long __wrap_sysconf(int name);
long __real_sysconf(int name);

FILE *__wrap_fopen(const char *path, const char *mode)
{
    assert_string_equal(mode, "re");
    assert_memory_equal(path, folder, strlen(folder));
    path += strlen(folder);
    const char *text = tcp6;
    if (strcmp(path, "statm") == 0)
        text = statm;
    else if (strcmp(path, "net/tcp") == 0)
        text = tcp;
    else
        assert_string_equal(path, "net/tcp6");
    return text != NULL ? fmemopen((void *)(uintptr_t)text, strlen(text), "r") : NULL;
}

/* Sanitizers ask for more than that, and before main(). */
long __wrap_sysconf(int name)
{
    return name == _SC_PAGESIZE && folder != NULL ? 8192 : __real_sysconf(name);
}

static int begin(void **state)
{
    (void)state;
    folder = "/proc/self/";
    statm = tcp = tcp6 = NULL;
    return 0;
}

/* ---- memory ---- */

static void assert_memory_of(pid_t pid, uint64_t resident, uint64_t shared)
{
    const struct iw_proc_memory memory = iw_proc_memory(pid);
    assert_int_equal(memory.resident, resident);
    assert_int_equal(memory.shared, shared);
}

static void memory_is_counted_in_octets(void **state)
{
    (void)state;
    assert_memory_of(0, 0, 0);
    statm = "900 70 20 5 0 6 0\n";
    assert_memory_of(0, 70 * 8192, 20 * 8192);
    statm = "900 70 20";
    folder = "/proc/77/";
    assert_memory_of(77, 70 * 8192, 20 * 8192);
    statm = "900 70";
    assert_memory_of(77, 0, 0);
    statm = "no";
    assert_memory_of(77, 0, 0);
}

/* ---- listeners ---- */

#define HEAD                                                                                       \
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "  \
    "inode\n"
#define ROW(own, other, state, inode)                                                              \
    "   0: 0100007F:" own " 0100007f:" other " " state " 00000000:00000000 00:00000000 00000000 "  \
    "  1000        0 " inode " 1 0000000000000000 100 0 0 10 0\n"
#define ROW6                                                                                       \
    "  11: 00000000000000000000000001000000:1267 00000000000000000000000000000000:0000 0A "        \
    "00000000:00000000 00:00000000 00000000     0        0 9876543210 1\n"

static unsigned long listener(pid_t pid, uint16_t port)
{
    unsigned long inode = 1;
    const bool found = iw_proc_listens(pid, port, &inode);
    assert_int_equal(iw_proc_listens(pid, port, NULL), found);
    assert_int_equal(inode != 0, found);
    return inode;
}

static void a_listener_of_either_table(void **state)
{
    (void)state;
    assert_int_equal(listener(0, 0x1267), 0);
    tcp = HEAD;
    assert_int_equal(listener(0, 0x1267), 0);
    tcp6 = HEAD ROW6;
    assert_int_equal(listener(0, 0x1267), 9876543210);
    tcp = NULL;
    assert_int_equal(listener(0, 0x1267), 9876543210);
    tcp = HEAD ROW("1266", "0000", "0A", "41") ROW("1267", "0000", "0A", "42");
    assert_int_equal(listener(0, 0x1267), 42);
    assert_int_equal(listener(0, 0x1266), 41);
    folder = "/proc/77/";
    assert_int_equal(listener(77, 0x1267), 42);
}

/* As the kernel's own may be. */
static void a_listener_without_an_inode(void **state)
{
    unsigned long inode = 1;
    (void)state;
    tcp = ROW("1267", "0000", "0A", "0");
    assert_true(iw_proc_listens(0, 0x1267, &inode));
    assert_int_equal(inode, 0);
    tcp6 = ROW6;
    assert_true(iw_proc_listens(0, 0x1267, &inode));
    assert_int_equal(inode, 9876543210);
}

static void sockets_that_do_not_listen_there(void **state)
{
    static const char *const tables[] = {
        ROW("1266", "0000", "0A", "41"), ROW("1268", "0000", "0A", "41"),
        ROW("1267", "0016", "01", "41"), ROW("1267", "0016", "0B", "41"),
        ROW("0016", "1267", "0A", "41"), "   0: 0100007F:1267 00000000:0000\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
        tcp = tables[i];
        assert_int_equal(listener(0, 0x1267), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(memory_is_counted_in_octets, begin),
        cmocka_unit_test_setup(a_listener_of_either_table, begin),
        cmocka_unit_test_setup(a_listener_without_an_inode, begin),
        cmocka_unit_test_setup(sockets_that_do_not_listen_there, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
