/* SPDX-License-Identifier: BSD-3-Clause */
#include "host/socket_rules.h"

#include "host/number.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 512, WAIT_MOST = 60000 };

static bool take_ports(const char *word, struct iw_socket_rule *rule)
{
    char first[16];
    uint64_t low, high;
    const size_t length = strcspn(word, "-");
    if (length >= sizeof(first))
        return false;
    memcpy(first, word, length);
    first[length] = '\0';
    if (!iw_number(first, 1, 65535, &low))
        return false;
    high = low;
    if (word[length] == '-' && !iw_number(word + length + 1, low, 65535, &high))
        return false;
    rule->first = (uint16_t)low;
    rule->last = (uint16_t)high;
    return true;
}

static bool take_address(const char *word, struct iw_socket_rule *rule)
{
    char address[64];
    uint64_t bits;
    const size_t length = strcspn(word, "/");
    if (length >= sizeof(address))
        return false;
    memcpy(address, word, length);
    address[length] = '\0';
    if (inet_pton(AF_INET, address, rule->address) == 1)
        rule->family = AF_INET;
    else if (inet_pton(AF_INET6, address, rule->address) == 1)
        rule->family = AF_INET6;
    else
        return false;
    bits = rule->family == AF_INET ? 32 : 128;
    if (word[length] == '/' && !iw_number(word + length + 1, 0, bits, &bits))
        return false;
    rule->bits = (unsigned)bits;
    return true;
}

/* Returns NULL, or what was expected. */
static const char *take_word(const char *word, struct iw_socket_rule *rule)
{
    uint64_t wait;
    if (strcmp(word, "fallback=tcp") == 0) {
        rule->fallback = true;
        return rule->connects ? NULL : "fallback=tcp belongs to a rule of connects";
    }
    if (strcmp(word, "mixed") == 0) {
        rule->mixed = true;
        return rule->listens ? NULL : "mixed belongs to a rule of listeners";
    }
    if (strncmp(word, "wait=", 5) == 0) {
        if (!iw_number(word + 5, 0, WAIT_MOST, &wait))
            return "expected wait=MS, 0 to 60000";
        rule->wait = (unsigned)wait;
        return rule->mixed ? NULL : "wait=MS comes after mixed";
    }
    return "expected fallback=tcp, mixed or wait=MS";
}

static const char *take_kind(const char *word, struct iw_socket_rule *rule)
{
    rule->connects = strcmp(word, "connect") == 0 || strcmp(word, "port") == 0;
    rule->listens = strcmp(word, "listen") == 0 || strcmp(word, "port") == 0;
    return rule->connects || rule->listens ? NULL : "expected connect, listen or port";
}

/* Reads one rule. Returns NULL, or what was expected; rule->last stays 0 if there is none. */
static const char *take_line(char *line, struct iw_socket_rule *rule)
{
    char *rest = NULL;
    *rule = (struct iw_socket_rule){.wait = IW_SOCKET_RULE_WAIT};
    line[strcspn(line, "#")] = '\0';
    const char *word = strtok_r(line, " \t\r", &rest);
    if (word == NULL)
        return NULL;
    const char *wrong = take_kind(word, rule);
    word = strtok_r(NULL, " \t\r", &rest);
    if (wrong == NULL && word != NULL && take_address(word, rule))
        word = strtok_r(NULL, " \t\r", &rest);
    if (wrong == NULL && (word == NULL || !take_ports(word, rule)))
        wrong = "expected [ADDRESS[/BITS]] PORT[-PORT], ports from 1 to 65535";
    while (wrong == NULL && (word = strtok_r(NULL, " \t\r", &rest)) != NULL)
        wrong = take_word(word, rule);
    return wrong;
}

int iw_socket_rules_add(struct iw_socket_rules *rules, const char *name, const char *text,
                        char *error, size_t room)
{
    for (unsigned number = 1; *text != '\0'; number++) {
        char line[LINE];
        struct iw_socket_rule rule;
        const size_t length = strcspn(text, ";\n");
        const char *wrong = "expected a shorter line";
        if (length < sizeof(line)) {
            memcpy(line, text, length);
            line[length] = '\0';
            wrong = take_line(line, &rule);
            if (wrong == NULL && rule.last != 0 && rules->count == IW_SOCKET_RULES)
                wrong = "expected at most 256 rules";
        }
        if (wrong != NULL) {
            snprintf(error, room, "%s:%u: %s", name, number, wrong);
            return -1;
        }
        if (rule.last != 0)
            rules->rules[rules->count++] = rule;
        text += length + (text[length] != '\0');
    }
    return 0;
}

static bool same_bits(const uint8_t *a, const uint8_t *b, unsigned bits)
{
    const unsigned rest = bits % 8;
    if (memcmp(a, b, bits / 8) != 0)
        return false;
    return rest == 0 || ((a[bits / 8] ^ b[bits / 8]) >> (8 - rest)) == 0;
}

const struct iw_socket_rule *iw_socket_rules_find(const struct iw_socket_rules *rules, bool listens,
                                                  const struct sockaddr *address)
{
    const struct sockaddr_in *v4 = (const void *)address;
    const struct sockaddr_in6 *v6 = (const void *)address;
    sa_family_t family = address->sa_family;
    const uint8_t *octets = (const void *)&v4->sin_addr;
    if (family != AF_INET && family != AF_INET6)
        return NULL;
    const uint16_t port = ntohs(family == AF_INET ? v4->sin_port : v6->sin6_port);
    if (family == AF_INET6) {
        const bool mapped = IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr);
        octets = v6->sin6_addr.s6_addr + (mapped ? 12 : 0);
        family = mapped ? AF_INET : AF_INET6;
    }
    for (size_t i = 0; i < rules->count; i++) {
        const struct iw_socket_rule *r = &rules->rules[i];
        if ((listens ? r->listens : r->connects) && port >= r->first && port <= r->last &&
            (r->family == AF_UNSPEC ||
             (r->family == family && same_bits(r->address, octets, r->bits))))
            return r;
    }
    return NULL;
}
