/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "station/tun.h"
#include "target/process.h"

/* In a process of its own: no namespace can be made. Its exit status is 0 if `error` says so. */
static void try_without_permission(void)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof(program) / sizeof(*program), .filter = program};
    struct iw_tun tun;
    char error[160] = "";

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
        _exit(2);
    if (!iw_tun_open(&tun, error, sizeof(error)) || tun.fd >= 0 || tun.net_ns >= 0)
        _exit(3);
    _exit(strcmp(error, "no network namespace: Operation not permitted") ? 4 : 0);
}

static void without_permission(void **state)
{
    pid_t pid = fork();
    int status = -1;

    (void)state;
    if (pid == 0)
        try_without_permission();
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* Skips the test, with the reason, where a device is not permitted or there is none. */
static void open_or_skip(struct iw_tun *tun)
{
    char error[160] = "";

    if (!iw_tun_open(tun, error, sizeof(error)))
        return;
    if (strstr(error, strerror(EPERM)) == NULL && strstr(error, strerror(EACCES)) == NULL &&
        strstr(error, strerror(ENOENT)) == NULL)
        fail_msg("%s", error);
    print_message("skipped: %s\n", error);
    skip();
}

/* The device is in the namespace of its own and nowhere else, and gone with it. */
static void a_namespace_of_its_own(void **state)
{
    char *const argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"},
                          (char[]){"grep -q iwarp0: /proc/net/dev"}, NULL};
    struct stat here, there;
    struct iw_process p;
    struct iw_tun tun;
    char error[160] = "";

    (void)state;
    open_or_skip(&tun);
    assert_int_equal(if_nametoindex("iwarp0"), 0);
    assert_int_equal(stat("/proc/self/ns/net", &here), 0);
    assert_int_equal(fstat(tun.net_ns, &there), 0);
    assert_true(here.st_ino != there.st_ino);
    assert_int_equal(iw_process_start(&p, &tun, argv, -1, false, NULL, error, sizeof(error)), 0);
    assert_true(iw_process_await_end(&p, UINT64_MAX));
    assert_string_equal(p.ended, "sh ended with status 0");
    iw_process_free(&p);
    assert_int_equal(iw_process_start(&p, NULL, argv, -1, false, NULL, error, sizeof(error)), 0);
    assert_true(iw_process_await_end(&p, UINT64_MAX));
    assert_string_equal(p.ended, "sh ended with status 1");
    iw_process_free(&p);
    iw_tun_close(&tun);
    assert_int_equal(tun.fd, -1);
}

/* The kernel at the other end answers a SYN to a port without a listener with RST. */
static void the_kernel_answers(void **state)
{
    static const uint8_t syn[] = "\x45\x00\x00\x2c\x00\x01\x40\x00\x40\x06\xb6\xc7\xc0\x00\x02\x01"
                                 "\xc0\x00\x02\x02\x4e\x20\x1d\x2f\xff\xff\xff\xfc\x00\x00\x00\x00"
                                 "\x60\x02\x10\x00\x9c\x72\x00\x00\x02\x04\x02\x18";
    uint8_t got[2048];
    struct iw_tun tun;
    ssize_t n;

    (void)state;
    open_or_skip(&tun);
    assert_int_equal(write(tun.fd, syn, 44), 44);
    fcntl(tun.fd, F_SETFL, 0);
    do
        n = read(tun.fd, got, sizeof(got));
    while (n > 0 && got[0] >> 4 != 4); /* IPv6 looks for routers */
    assert_int_equal(n, 40);
    assert_memory_equal(got + 20, "\x1d\x2f\x4e\x20\x00\x00\x00\x00\xff\xff\xff\xfd\x50\x14", 14);
    iw_tun_close(&tun);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_permission),
        cmocka_unit_test(a_namespace_of_its_own),
        cmocka_unit_test(the_kernel_answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
