/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One end under load, for tests that kill ends: sends numbered messages, short and long, as fast as
 * they are taken, takes those of others and compares their octets, and keeps a journal, of which a
 * kill loses nothing that was written. Sends until its standard input ends, or with --count so
 * many, and takes as many as --take says; with --answer no more than it has taken, with --second
 * none before it has taken one. Waits for the fate of each message, and ends with status 0.
 *
 * The journal has records of 16 octets in the byte order of the host: what 1 | error 1 | 0 2 |
 * run 4 | message 8. What: 'S' sent (queued by the library), 'D' delivered, 'U' undelivered, 'T'
 * taken here from the end with that run number.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "iwarp/messages.h"

enum { HEAD = 12, TABLE = 1 << 20, OFFSETS = 4093, BATCH = 16, NAP_MS = 10 };

static struct {
    struct iw_messages *m;
    struct iw_service *s;
    int journal;
    uint32_t run, to, open, outstanding;
    size_t longest;
    uint64_t sent, most, taken, takes;
    bool counts, answers, second;
    uint8_t table[TABLE + OFFSETS];
} load = {.journal = -1, .outstanding = 256, .longest = 200000, .most = UINT64_MAX};

static void fail(const char *what)
{
    fprintf(stderr, "message_load: %s\n", what);
    exit(1);
}

static void note(char what, int error, uint32_t run, uint64_t message)
{
    uint8_t record[16] = {(uint8_t)what, (uint8_t)error};
    memcpy(record + 4, &run, sizeof(run));
    memcpy(record + 8, &message, sizeof(message));
    if (write(load.journal, record, sizeof(record)) != sizeof(record))
        fail("the journal cannot be written");
}

/* Every fifth message is long, and every twentieth has no more than its head. */
static size_t length_of(uint64_t message)
{
    const uint64_t mixed = (message + 1) * UINT64_C(0x9e3779b97f4a7c15) >> 20;
    if (message % 20 == 7)
        return HEAD;
    return message % 5 == 3 && load.longest > IW_MESSAGES_SHORT
               ? IW_MESSAGES_SHORT + 1 + mixed % (load.longest - IW_MESSAGES_SHORT)
               : HEAD + mixed % (IW_MESSAGES_SHORT - HEAD + 1);
}

static const uint8_t *octets_of(uint32_t run, uint64_t message)
{
    return load.table + (run * 31 + message) % OFFSETS;
}

/* Returns false if there is no room now. */
static bool send_next(void)
{
    const uint64_t message = load.sent;
    const size_t length = length_of(message);
    uint8_t *octets = iw_messages_get(load.m, length);
    if (octets == NULL)
        return false;
    memcpy(octets, &load.run, sizeof(load.run));
    memcpy(octets + 4, &message, sizeof(message));
    memcpy(octets + HEAD, octets_of(load.run, message), length - HEAD);
    const struct iovec piece = {octets, length};
    if (iw_messages_send(load.s, load.to, &piece, 1,
                         IW_MESSAGES_NOWAIT | IW_MESSAGES_NOTIFY | IW_MESSAGES_GIVE,
                         message) != 0) {
        if (errno != EAGAIN && errno != ENOMEM)
            fail(strerror(errno));
        iw_messages_free(load.m, octets);
        return false;
    }
    note('S', 0, load.run, message);
    load.sent++;
    load.open++;
    return true;
}

static void take_message(const struct iw_message *got)
{
    uint32_t run;
    uint64_t message;
    if (got->length < HEAD)
        fail("a message without a head came");
    memcpy(&run, got->data, sizeof(run));
    memcpy(&message, (const uint8_t *)got->data + 4, sizeof(message));
    note('T', 0, run, message);
    load.taken++;
    if (got->length != length_of(message) ||
        memcmp((const uint8_t *)got->data + HEAD, octets_of(run, message), got->length - HEAD) != 0)
        fail("other octets came than were sent");
    if (message % 2 == 0)
        iw_messages_return(load.m, got->data);
    else
        iw_messages_free(load.m, got->data);
}

/* Takes what has come; waits for the first for `timeout_ms`. */
static void take_all(int timeout_ms)
{
    struct iw_message got;
    for (int i = 0; i < BATCH && iw_messages_receive(load.s, &got, i == 0 ? timeout_ms : 0) == 0;
         i++) {
        if (got.kind == IW_MESSAGES_MESSAGE) {
            take_message(&got);
            continue;
        }
        note(got.kind == IW_MESSAGES_DELIVERED ? 'D' : 'U', got.error, load.run, got.tag);
        load.open--;
    }
}

static bool input_ended(void)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    char octet;
    return poll(&in, 1, 0) > 0 && read(STDIN_FILENO, &octet, 1) <= 0;
}

/* Whether no more is to be sent: as many as it was started for have been, or its input has ended.
 */
static bool is_done(void)
{
    return load.counts ? load.sent >= load.most && load.taken >= load.takes : input_ended();
}

static void carry_on(void)
{
    for (bool done = false; !done || load.open > 0; done = done || is_done()) {
        bool any = false;
        for (int i = 0; i < BATCH && !done && load.to != 0 && load.sent < load.most; i++) {
            if (load.open >= load.outstanding || (load.answers && load.sent >= load.taken) ||
                (load.second && load.taken == 0) || !send_next())
                break;
            any = true;
        }
        take_all(any ? 0 : NAP_MS);
    }
}

/* HOST:PORT, HOST in digits. */
static struct sockaddr_in address_of(const char *text)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    char host[32] = "";
    const char *colon = strrchr(text, ':');
    if (colon == NULL || (size_t)(colon - text) >= sizeof(host))
        fail("expected HOST:PORT");
    memcpy(host, text, (size_t)(colon - text));
    at.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    if (inet_pton(AF_INET, host, &at.sin_addr) != 1)
        fail("expected an IPv4 address");
    return at;
}

static void place(const char *text)
{
    const char *equal = strchr(text, '=');
    if (equal == NULL)
        fail("--at: expected NUMBER=HOST:PORT");
    const struct sockaddr_in at = address_of(equal + 1);
    if (iw_messages_place(load.m, (uint32_t)strtoul(text, NULL, 10),
                          (const struct sockaddr *)&at) != 0)
        fail(strerror(errno));
}

static void fill_table(void)
{
    uint32_t x = 1;
    for (size_t i = 0; i < sizeof(load.table); i++) {
        x = x * 1664525u + 1013904223u;
        load.table[i] = (uint8_t)(x >> 24);
    }
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"number", required_argument, NULL, 'n'},  {"to", required_argument, NULL, 't'},
        {"listen", required_argument, NULL, 'l'},  {"at", required_argument, NULL, 'a'},
        {"journal", required_argument, NULL, 'j'}, {"run", required_argument, NULL, 'r'},
        {"timeout", required_argument, NULL, 'm'}, {"resolver-port", required_argument, NULL, 'p'},
        {"count", required_argument, NULL, 'c'},   {"longest", required_argument, NULL, 'g'},
        {"take", required_argument, NULL, 'k'},    {"answer", no_argument, NULL, 'w'},
        {"second", no_argument, NULL, 's'},        {NULL, 0, NULL, 0}};
    struct sockaddr_in listen = {.sin_family = AF_INET};
    struct iw_messages_resolver resolver = {.multicast = 1, .interface = "lo"};
    struct iw_messages_config config = {.listen = (const struct sockaddr *)&listen};
    const char *at = NULL;
    uint32_t number = 0;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        const unsigned long value = optarg != NULL ? strtoul(optarg, NULL, 10) : 0;
        switch (c) {
        case 'n':
            number = (uint32_t)value;
            break;
        case 't':
            load.to = (uint32_t)value;
            break;
        case 'l':
            listen = address_of(optarg);
            break;
        case 'a':
            at = optarg;
            break;
        case 'j':
            load.journal = open(optarg, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
            break;
        case 'r':
            load.run = (uint32_t)value;
            break;
        case 'm':
            config.timeout_ms = (int)value;
            break;
        case 'p':
            resolver.port = (uint16_t)value;
            config.resolver = &resolver;
            break;
        case 'c':
            load.counts = true;
            load.most = value;
            break;
        case 'w':
            load.answers = true;
            break;
        case 's':
            load.second = true;
            break;
        case 'k':
            load.takes = value;
            break;
        case 'g':
            load.longest = value < TABLE ? value : TABLE;
            break;
        default:
            return 64;
        }
    }
    char error[200];
    fill_table();
    if (load.journal < 0)
        fail("--journal: a file that can be written is needed");
    if (iw_messages_open(&config, &load.m, error, sizeof(error)) != 0)
        fail(error);
    if (at != NULL)
        place(at);
    if (iw_messages_service(load.m, number, &load.s) != 0)
        fail(strerror(errno));
    struct sockaddr_storage own;
    iw_messages_address(load.m, &own);
    char host[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &((struct sockaddr_in *)&own)->sin_addr, host, sizeof(host));
    printf("at %s:%u\n", host, ntohs(((struct sockaddr_in *)&own)->sin_port));
    fflush(stdout);
    carry_on();
    struct iw_messages_counts counts;
    iw_messages_count(load.m, &counts);
    iw_messages_close(load.m);
    printf("sent %llu, took %llu, written %llu, fetched %llu, repeated %llu, connections %llu\n",
           (unsigned long long)load.sent, (unsigned long long)load.taken,
           (unsigned long long)counts.written, (unsigned long long)counts.fetched,
           (unsigned long long)counts.repeated, (unsigned long long)counts.connected);
    return 0;
}
