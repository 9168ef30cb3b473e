/* SPDX-License-Identifier: BSD-3-Clause */
#include "tun.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEVICE "iwarp0"
#define NETMASK "255.255.255.252"

enum { MOST = 3 /* descriptors handed over */ };

/* ---- in the child: everything that changes a process's namespaces ---- */

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    size_t length = strlen(text);
    bool done = fd >= 0 && write(fd, text, length) == (ssize_t)length;

    if (fd >= 0)
        close(fd);
    return done;
}

/* *own_user: a user namespace was needed as well. */
static bool leave(bool *own_user)
{
    unsigned uid = geteuid(), gid = getegid();
    *own_user = false;
    if (!unshare(CLONE_NEWNET))
        return true;
    if (errno != EPERM || unshare(CLONE_NEWUSER | CLONE_NEWNET))
        return false;
    *own_user = true;
    char users[32], groups[32];
    snprintf(users, sizeof(users), "0 %u 1\n", uid);
    snprintf(groups, sizeof(groups), "0 %u 1\n", gid);
    return write_text("/proc/self/setgroups", "deny") && write_text("/proc/self/uid_map", users) &&
           write_text("/proc/self/gid_map", groups);
}

static int make_device(void)
{
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);

    snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", DEVICE);
    if (fd >= 0 && ioctl(fd, TUNSETIFF, &request)) {
        int number = errno;

        close(fd);
        errno = number;
        return -1;
    }
    return fd;
}

static bool set_address(int fd, unsigned long what, const char *text)
{
    struct ifreq request = {0};
    struct sockaddr_in in = {.sin_family = AF_INET};

    snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", DEVICE);
    inet_pton(AF_INET, text, &in.sin_addr);
    memcpy(&request.ifr_addr, &in, sizeof(in));
    return !ioctl(fd, what, &request);
}

static bool bring_up(int fd, const char *name)
{
    struct ifreq request = {.ifr_flags = IFF_UP};

    snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
    return !ioctl(fd, SIOCSIFFLAGS, &request);
}

static bool configure(void)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool done = fd >= 0 && bring_up(fd, "lo") && set_address(fd, SIOCSIFADDR, IW_TUN_TARGET) &&
                set_address(fd, SIOCSIFNETMASK, NETMASK) && bring_up(fd, DEVICE);
    int number = errno;

    if (fd >= 0)
        close(fd);
    errno = number;
    return done;
}

/* One message: a line of text, empty if all went well, and then the descriptors. */
static void hand_over(int to, const char *text, const int *fds, size_t count)
{
    union {
        char room[CMSG_SPACE(MOST * sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    struct iovec part = {.iov_base = (void *)text, .iov_len = strlen(text) + 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    if (count) {
        struct cmsghdr *c = &control.align;

        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(c), fds, count * sizeof(int));
    }
    (void)!sendmsg(to, &message, MSG_NOSIGNAL);
}

static void make(int to)
{
    char text[160] = "";
    bool own_user = false;
    int fds[MOST];
    if (!leave(&own_user)) {
        snprintf(text, sizeof(text), "no network namespace: %s", strerror(errno));
    } else if ((fds[0] = make_device()) < 0) {
        snprintf(text, sizeof(text), "no TUN device (/dev/net/tun): %s", strerror(errno));
    } else if (!configure()) {
        snprintf(text, sizeof(text), "the TUN device cannot be set up: %s", strerror(errno));
    } else if ((fds[1] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)) < 0 ||
               (own_user && (fds[2] = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC)) < 0)) {
        snprintf(text, sizeof(text), "/proc/self/ns: %s", strerror(errno));
    }
    hand_over(to, text, fds, *text ? 0 : own_user ? 3 : 2);
}

/* ---- in the parent ---- */

static int take_over(struct iw_tun *tun, int from, char *error, size_t room)
{
    union {
        char room[CMSG_SPACE(MOST * sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    char text[160] = "";
    struct iovec part = {.iov_base = text, .iov_len = sizeof(text) - 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    int fds[MOST] = {-1, -1, -1};
    ssize_t got;
    do
        got = recvmsg(from, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    const struct cmsghdr *c = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (c != NULL && c->cmsg_type == SCM_RIGHTS && c->cmsg_len <= CMSG_LEN(sizeof(fds)))
        memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
    *tun = (struct iw_tun){.fd = fds[0], .net_ns = fds[1], .user_ns = fds[2]};
    if (tun->net_ns >= 0)
        return 0;
    snprintf(error, room, "%s", *text ? text : "no network namespace: its maker died");
    return -1;
}

int iw_tun_open(struct iw_tun *tun, char *error, size_t room)
{
    *tun = (struct iw_tun){.fd = -1, .net_ns = -1, .user_ns = -1};
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
        snprintf(error, room, "no socket pair: %s", strerror(errno));
        return -1;
    }
    pid_t pid = fork();
    if (pid == 0) {
        make(pair[1]);
        _exit(0);
    }
    close(pair[1]);
    int status;
    if (pid < 0) {
        snprintf(error, room, "no process: %s", strerror(errno));
        status = -1;
    } else {
        status = take_over(tun, pair[0], error, room);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    close(pair[0]);
    return status;
}

void iw_tun_close(struct iw_tun *tun)
{
    if (tun->fd >= 0)
        close(tun->fd);
    if (tun->net_ns >= 0)
        close(tun->net_ns);
    if (tun->user_ns >= 0)
        close(tun->user_ns);
    tun->fd = tun->net_ns = tun->user_ns = -1;
}

int iw_tun_enter(const struct iw_tun *tun)
{
    if (tun->user_ns >= 0 && setns(tun->user_ns, CLONE_NEWUSER))
        return -1;
    return setns(tun->net_ns, CLONE_NEWNET);
}
