/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of the C library that see the device: they come before the C library's because this
 * library is preloaded. They carry no version, or they would not replace versioned ones. */
#include "ucma/ucma.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 65536 }; /* the device cannot have a higher descriptor */

static _Atomic(struct iw_ucma_file *) files[FILES];

struct iw_ucma_file *iw_ucma_file_of(int fd)
{
    return fd >= 0 && fd < FILES ? atomic_load_explicit(&files[fd], memory_order_acquire) : NULL;
}

/* Finds the function that `name` would be without this library. */
static void *next(_Atomic(void *) *known, const char *name)
{
    void *f = atomic_load_explicit(known, memory_order_acquire);
    if (f == NULL) {
        f = dlsym(RTLD_NEXT, name);
        atomic_store_explicit(known, f, memory_order_release);
    }
    return f;
}

#define NEXT(function, type, name)                                                                 \
    static _Atomic(void *) known_##function;                                                       \
    __typeof__(type) function;                                                                     \
    {                                                                                              \
        void *found = next(&known_##function, name);                                               \
        memcpy(&(function), &found, sizeof(function));                                             \
    }

/* ---- the device ---- */

/* Who waited is in the parent only. */
static void forked(void)
{
    for (unsigned fd = 0; fd < FILES; fd++) {
        struct iw_ucma_file *file = atomic_load(&files[fd]);
        if (file != NULL)
            file->waiters = file->users = 0;
    }
}

static int open_device(int flags)
{
    if (!iw_verbs_enter())
        return -1;
    iw_verbs_at_fork(forked);
    struct iw_ucma_file *file = NULL;
    int fd = eventfd(0, EFD_SEMAPHORE | ((flags & O_CLOEXEC) != 0 ? EFD_CLOEXEC : 0) |
                            ((flags & O_NONBLOCK) != 0 ? EFD_NONBLOCK : 0));
    int error = fd < 0 ? errno : fd >= FILES ? EMFILE : 0;
    if (error == 0 && (file = iw_ucma_file_create(fd)) == NULL)
        error = ENOMEM;
    if (error == 0) {
        atomic_store_explicit(&files[fd], file, memory_order_release);
        iw_verbs_own(fd, true);
    }
    iw_verbs_unlock();
    if (error == 0)
        return fd;
    if (fd >= 0)
        iw_ucma_real_close(fd);
    errno = error;
    return -1;
}

/* By the declarations of open() and the like a name is never NULL: the compiler would leave the
 * question out if it could see where the name comes from. */
static bool is_device(const char *name)
{
    const char *volatile hidden = name;
    const char *path = hidden;
    return path != NULL && strcmp(path, "/dev/infiniband/rdma_cm") == 0;
}

static mode_t mode_of(int flags, va_list arguments)
{
    const bool made = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
    return made ? va_arg(arguments, mode_t) : 0;
}

#define DEFINE_OPEN(name)                                                                          \
    IW_VERBS_EXPORT int name(const char *path, int flags, ...);                                    \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        va_list arguments;                                                                         \
        NEXT(real, int (*)(const char *, int, mode_t), #name)                                      \
        if (is_device(path))                                                                       \
            return open_device(flags);                                                             \
        va_start(arguments, flags);                                                                \
        const mode_t mode = mode_of(flags, arguments);                                             \
        va_end(arguments);                                                                         \
        return real(path, flags, mode);                                                            \
    }

#define DEFINE_OPENAT(name)                                                                        \
    IW_VERBS_EXPORT int name(int at, const char *path, int flags, ...);                            \
    int name(int at, const char *path, int flags, ...)                                             \
    {                                                                                              \
        va_list arguments;                                                                         \
        NEXT(real, int (*)(int, const char *, int, mode_t), #name)                                 \
        if (is_device(path))                                                                       \
            return open_device(flags);                                                             \
        va_start(arguments, flags);                                                                \
        const mode_t mode = mode_of(flags, arguments);                                             \
        va_end(arguments);                                                                         \
        return real(at, path, flags, mode);                                                        \
    }

/* Of programs that were compiled with _FORTIFY_SOURCE. */
#define DEFINE_OPEN_2(name)                                                                        \
    IW_VERBS_EXPORT int name(const char *path, int flags);                                         \
    int name(const char *path, int flags)                                                          \
    {                                                                                              \
        NEXT(real, int (*)(const char *, int), #name)                                              \
        return is_device(path) ? open_device(flags) : real(path, flags);                           \
    }

DEFINE_OPEN(open)
DEFINE_OPEN(open64)
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)
DEFINE_OPEN_2(__open_2)
DEFINE_OPEN_2(__open64_2)

int iw_ucma_real_close(int fd)
{
    NEXT(real, int (*)(int), "close")
    return real(fd);
}

IW_VERBS_EXPORT int close(int fd);
int close(int fd)
{
    if (iw_ucma_file_of(fd) != NULL) {
        iw_verbs_lock();
        struct iw_ucma_file *file = atomic_exchange(&files[fd], NULL);
        if (file != NULL) {
            iw_verbs_own(fd, false);
            iw_ucma_file_close(file);
        }
        iw_verbs_unlock();
        if (file != NULL)
            return 0;
    }
    return iw_ucma_real_close(fd);
}

IW_VERBS_EXPORT ssize_t write(int fd, const void *octets, size_t length);
ssize_t write(int fd, const void *octets, size_t length)
{
    NEXT(real, ssize_t(*)(int, const void *, size_t), "write")
    if (iw_ucma_file_of(fd) == NULL)
        return real(fd, octets, length);
    int error = iw_ucma_command(fd, octets, length);
    if (error == 0)
        return (ssize_t)length;
    errno = error;
    return -1;
}

/* librdmacm wants a character device. */
#define DEFINE_FSTAT(name, type)                                                                   \
    IW_VERBS_EXPORT int name(int fd, struct type *out);                                            \
    int name(int fd, struct type *out)                                                             \
    {                                                                                              \
        NEXT(real, int (*)(int, struct type *), #name)                                             \
        int result = real(fd, out);                                                                \
        if (result == 0 && iw_ucma_file_of(fd) != NULL)                                            \
            out->st_mode = S_IFCHR | 0666;                                                         \
        return result;                                                                             \
    }

DEFINE_FSTAT(fstat, stat)
DEFINE_FSTAT(fstat64, stat64)

/* Through netlink librdmacm would learn the real device's number, which ours has not. */
IW_VERBS_EXPORT int socket(int domain, int type, int protocol);
int socket(int domain, int type, int protocol)
{
    NEXT(real, int (*)(int, int, int), "socket")
    if (domain == AF_NETLINK && protocol == NETLINK_RDMA) {
        errno = EPROTONOSUPPORT;
        return -1;
    }
    return real(domain, type, protocol);
}

/* A program that waits for our descriptors drives the connections meanwhile. */
IW_VERBS_EXPORT int poll(struct pollfd *list, nfds_t count, int ms);
int poll(struct pollfd *list, nfds_t count, int ms)
{
    NEXT(real, int (*)(struct pollfd *, nfds_t, int), "poll")
    int result;
    return iw_verbs_poll_list(list, count, ms, &result) ? result : real(list, count, ms);
}

/* Of programs that were compiled with _FORTIFY_SOURCE. */
IW_VERBS_EXPORT int __poll_chk(struct pollfd *list, nfds_t count, int ms, size_t room);
int __poll_chk(struct pollfd *list, nfds_t count, int ms, size_t room)
{
    NEXT(real, int (*)(struct pollfd *, nfds_t, int, size_t), "__poll_chk")
    int result;
    if (count <= room / sizeof(*list) && iw_verbs_poll_list(list, count, ms, &result))
        return result;
    return real(list, count, ms, room);
}
