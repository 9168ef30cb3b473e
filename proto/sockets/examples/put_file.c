/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts a file into another machine's: a dialogue on plain TCP, the switch to iWARP, and the octets
 * by RDMA Writes from one mapping of memory into the other, without a copy. `-l` receives:
 *     iwarp-run --sockets ./put_file [-l] ADDRESS PORT FILE */
#define IWARP_SOCKETS_OPTIONAL /* the library is preloaded, not linked */
#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <iwarp/sockets.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void must(int holds, const char *what)
{
    if (!holds)
        err(1, "%s", what);
}

/* Reads no octet beyond the line: what follows it may be MPA's. */
static char *read_line(int fd)
{
    static char line[64];
    size_t n = 0;
    while (n < sizeof(line) - 1 && read(fd, line + n, 1) == 1 && line[n] != '\n')
        n++;
    line[n] = '\0';
    return line;
}

static unsigned long long checksum(const unsigned char *octets, size_t length)
{
    unsigned long long sum = 14695981039346656037u; /* FNV-1a */
    while (length-- > 0)
        sum = (sum ^ *octets++) * 1099511628211u;
    return sum;
}

static void receive_file(int fd, int file)
{
    const int mode = IWARP_RESPONDER;
    unsigned long long length = 0, sum = 0;
    struct iw_sockets_memory memory;
    uint8_t octets[IW_SOCKETS_MEMORY];
    must(sscanf(read_line(fd), "PUT %llu %llx", &length, &sum) == 2, "request");
    must(ftruncate(file, (off_t)length) == 0, "file");
    void *map = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    must(map != MAP_FAILED && write(fd, "SWITCH\n", 7) == 7, "answer");
    must(setsockopt(fd, SOL_TCP, IWARP_MODE, &mode, sizeof(mode)) == 0, "switch");
    must(iw_sockets_advertise(fd, map, length, IW_SOCKETS_WRITABLE, &memory) == 0, "advertise");
    iw_sockets_memory_put(&memory, octets);
    must(write(fd, octets, sizeof(octets)) == sizeof(octets), "advertise");
    must(strcmp(read_line(fd), "DONE") == 0 && checksum(map, length) == sum, "checksum");
    must(write(fd, "GOOD\n", 5) == 5, "verdict");
}

static void send_file(int fd, int file)
{
    const int mode = IWARP_INITIATOR;
    const size_t length = (size_t)lseek(file, 0, SEEK_END), most = (size_t)1 << 30;
    struct iw_sockets_request put = {.operation = IW_SOCKETS_OP_WRITE, .piece_count = 1};
    struct iw_sockets_memory memory;
    struct iw_sockets_completion done;
    uint8_t octets[IW_SOCKETS_MEMORY];
    char *map = mmap(NULL, length, PROT_READ, MAP_PRIVATE, file, 0);
    must(map != MAP_FAILED, "file");
    dprintf(fd, "PUT %zu %llx\n", length, checksum((unsigned char *)map, length));
    must(strcmp(read_line(fd), "SWITCH") == 0, "answer");
    must(setsockopt(fd, SOL_TCP, IWARP_MODE, &mode, sizeof(mode)) == 0, "switch");
    must(recv(fd, octets, sizeof(octets), MSG_WAITALL) == sizeof(octets), "memory");
    iw_sockets_memory_get(octets, &memory);
    put.stag = memory.stag;
    for (size_t at = 0, n; at < length; at += n) {
        n = length - at < most ? length - at : most;
        put.pieces = &(struct iovec){map + at, n};
        put.to = memory.to + at;
        must(iw_sockets_post(fd, &put) == 0 && iw_sockets_poll(fd, &done, 1, -1) == 1, "write");
        must(done.error == 0, "write");
    }
    must(write(fd, "DONE\n", 5) == 5 && strcmp(read_line(fd), "GOOD") == 0, "verdict");
}

int main(int argc, char **argv)
{
    const int server = argc > 1 && strcmp(argv[1], "-l") == 0, fd = socket(AF_INET, SOCK_STREAM, 0);
    must(argc == 4 + server, "usage: put_file [-l] ADDRESS PORT FILE");
    argv += server;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[2]))};
    const int file = open(argv[3], server ? O_RDWR | O_CREAT | O_TRUNC : O_RDONLY, 0644);
    must(inet_aton(argv[1], &at.sin_addr) == 1 && file >= 0, "address or file");
    must((server ? bind : connect)(fd, (struct sockaddr *)&at, sizeof(at)) == 0, argv[2]);
    must(!server || listen(fd, 1) == 0, argv[2]);
    (server ? receive_file : send_file)(server ? accept(fd, NULL, NULL) : fd, file);
    return 0;
}
