/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts a file into another machine's: a dialogue on plain TCP, the switch to iWARP, and the file's
 * octets by RDMA Writes from one mapping into the other, without a copy.
 *     cc put_file.c -o put_file; iwarp-run --sockets ./put_file ...
 * usage: put_file -l PORT FILE       receives one file
 *        put_file HOST PORT FILE     sends one */
#define IWARP_SOCKETS_OPTIONAL /* not linked with the library, which is preloaded */
#include <fcntl.h>
#include <iwarp/sockets.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static void must(bool holds, const char *what)
{
    if (!holds) {
        perror(what);
        exit(1);
    }
}

static int reach(const char *host, const char *port)
{
    const bool server = strcmp(host, "-l") == 0;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = server ? AI_PASSIVE : 0}, *at;
    must(getaddrinfo(server ? NULL : host, port, &hints, &at) == 0, "address");
    const int fd = socket(at->ai_family, at->ai_socktype, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (!server)
        must(connect(fd, at->ai_addr, at->ai_addrlen) == 0, "connect");
    else
        must(bind(fd, at->ai_addr, at->ai_addrlen) == 0 && listen(fd, 1) == 0, "listen");
    freeaddrinfo(at);
    return server ? accept(fd, NULL, NULL) : fd;
}

/* Not an octet beyond the line: what follows it may be MPA's. */
static void read_line(int fd, char *line, size_t room)
{
    size_t n = 0;
    while (n + 1 < room && read(fd, line + n, 1) == 1 && line[n++] != '\n')
        ;
    line[n] = '\0';
}

static unsigned long long checksum(const unsigned char *octets, size_t length)
{
    unsigned long long sum = 14695981039346656037u; /* FNV-1a */
    while (length-- > 0)
        sum = (sum ^ *octets++) * 1099511628211u;
    return sum;
}

static void receive_file(int fd, const char *path)
{
    int mode = IWARP_RESPONDER, file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    struct iw_sockets_memory memory;
    uint8_t octets[IW_SOCKETS_MEMORY];
    unsigned long long length = 0, sum = 0;
    char line[64];
    read_line(fd, line, sizeof(line));
    must(sscanf(line, "PUT %llu %llx", &length, &sum) == 2 && length > 0, "request");
    must(file >= 0 && ftruncate(file, (off_t)length) == 0, path);
    void *map = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    must(map != MAP_FAILED, path);
    must(write(fd, "SWITCH\n", 7) == 7, "answer");
    must(setsockopt(fd, SOL_TCP, IWARP_MODE, &mode, sizeof(mode)) == 0, "switch");
    must(iw_sockets_advertise(fd, map, length, IW_SOCKETS_WRITABLE, &memory) == 0, "advertise");
    iw_sockets_memory_put(&memory, octets);
    must(write(fd, octets, sizeof(octets)) == sizeof(octets), "advertise");
    read_line(fd, line, sizeof(line)); /* comes after the octets of all Writes before it */
    must(strcmp(line, "DONE\n") == 0 && checksum(map, length) == sum, "file");
    must(write(fd, "OK\n", 3) == 3, "answer");
}

static void send_file(int fd, const char *path)
{
    int mode = IWARP_INITIATOR, file = open(path, O_RDONLY);
    const off_t length = file < 0 ? -1 : lseek(file, 0, SEEK_END);
    struct iw_sockets_request put = {.operation = IW_SOCKETS_OP_WRITE, .piece_count = 1};
    struct iw_sockets_memory memory;
    struct iw_sockets_completion done;
    uint8_t octets[IW_SOCKETS_MEMORY];
    char line[64];
    must(length > 0, path);
    void *map = mmap(NULL, (size_t)length, PROT_READ, MAP_PRIVATE, file, 0);
    must(map != MAP_FAILED, path);
    dprintf(fd, "PUT %lld %llx\n", (long long)length, checksum(map, (size_t)length));
    read_line(fd, line, sizeof(line));
    must(strcmp(line, "SWITCH\n") == 0, "answer");
    must(setsockopt(fd, SOL_TCP, IWARP_MODE, &mode, sizeof(mode)) == 0, "switch");
    must(recv(fd, octets, sizeof(octets), MSG_WAITALL) == sizeof(octets), "memory");
    iw_sockets_memory_get(octets, &memory);
    put.stag = memory.stag;
    for (size_t at = 0, n; at < (size_t)length; at += n) {
        n = (size_t)length - at < 1u << 30 ? (size_t)length - at : 1u << 30;
        struct iovec piece = {(char *)map + at, n};
        put.pieces = &piece;
        put.to = memory.to + at;
        must(iw_sockets_post(fd, &put) == 0, "write");
        must(iw_sockets_poll(fd, &done, 1, -1) == 1 && done.error == 0, "write");
    }
    must(write(fd, "DONE\n", 5) == 5, "done");
    read_line(fd, line, sizeof(line));
    must(strcmp(line, "OK\n") == 0, "file");
    printf("%lld octets\n", (long long)length);
}

int main(int argc, char **argv)
{
    must(argc == 4, "usage: put_file -l PORT FILE | put_file HOST PORT FILE");
    const int fd = reach(argv[1], argv[2]);
    must(fd >= 0, "accept");
    (strcmp(argv[1], "-l") == 0 ? receive_file : send_file)(fd, argv[3]);
    return close(fd) != 0;
}
