/* SPDX-License-Identifier: BSD-3-Clause */
/* The resolver's sockets: what is sent where and from which interface, what is heard, which
 * interfaces there are. */
#include "resolver_net_doubles.h"

/* ---- sending ---- */

static void expect_sent(unsigned at, int fd, const char *to, unsigned from)
{
    assert_true(at < sends);
    assert_string_equal(sent[at].to, to);
    assert_int_equal(sent[at].fd, fd);
    assert_int_equal(sent[at].from, from);
    assert_int_equal(sent[at].length, 5);
}

static void ask(unsigned tries)
{
    sends = 0;
    iw_resolver_net_ask(&net, (const uint8_t *)"12345", 5, tries);
}

/* The loopback, an IPv4 one with a broadcast address, one without, and one of IPv6. */
static void have_interfaces(void)
{
    net.interface_count = 4;
    net.interfaces[0] = (struct iw_resolver_interface){
        .index = 1, .loopback = true, .ipv4 = true, .broadcast = v4(127, 255, 255, 255, 0)};
    net.interfaces[1] = (struct iw_resolver_interface){
        .index = 2, .ipv4 = true, .broadcast = v4(192, 0, 2, 255, 0)};
    net.interfaces[2] = (struct iw_resolver_interface){.index = 3, .ipv4 = true};
    net.interfaces[3] = (struct iw_resolver_interface){.index = 4};
}

static void by_multicast(void **unused)
{
    (void)unused;
    have_interfaces();
    net.multicast = true;
    for (unsigned tries = 0; tries < 2; tries++) {
        ask(tries);
        assert_int_equal(sends, 3);
        expect_sent(0, ASK4, "239.255.74.70:7470", 2);
        expect_sent(1, ASK4, "239.255.74.70:7470", 3);
        expect_sent(2, ASK6, "[ff12::6977:7273]:7470", 4);
        assert_int_equal(sent[2].scope, 4);
    }
    /* The loopback where it was named, or is the only one. */
    strcpy(net.only, "lo");
    ask(0);
    assert_int_equal(sends, 4);
    expect_sent(0, ASK4, "239.255.74.70:7470", 1);
    net.only[0] = '\0';
    net.interface_count = 1;
    ask(0);
    assert_int_equal(sends, 1);
    expect_sent(0, ASK4, "239.255.74.70:7470", 1);
    net.interface_count = 2;
    ask(0);
    assert_int_equal(sends, 1);
    expect_sent(0, ASK4, "239.255.74.70:7470", 2);
}

static void by_broadcast(void **unused)
{
    (void)unused;
    have_interfaces();
    net.broadcast = true;
    /* Without multicast at once; this host's processes hear of it by the group on the loopback. */
    for (unsigned tries = 0; tries < 2; tries++) {
        ask(tries);
        assert_int_equal(sends, 2);
        expect_sent(0, ASK4, "192.0.2.255:7470", 2);
        expect_sent(1, ASK4, "239.255.74.70:7470", 1);
    }
    /* After a multicast, from the second time on. */
    net.multicast = true;
    ask(0);
    assert_int_equal(sends, 3);
    ask(1);
    assert_int_equal(sends, 4);
    expect_sent(0, ASK4, "239.255.74.70:7470", 2);
    expect_sent(1, ASK4, "192.0.2.255:7470", 2);
    expect_sent(2, ASK4, "239.255.74.70:7470", 3);
    expect_sent(3, ASK6, "[ff12::6977:7273]:7470", 4);
}

static void by_unicast(void **unused)
{
    (void)unused;
    struct iw_resolver_place hosts[] = {
        v4(192, 0, 2, 7, 99),
        {.family = IW_RESOLVER_IPV6, .port = 98, .address = {0xfe, 0x80, [15] = 9}, .scope = 6}};
    have_interfaces();
    net.hosts = hosts;
    net.host_count = 2;
    ask(0);
    assert_int_equal(sends, 2); /* one of them may be this host */
    expect_sent(0, ASK4, "192.0.2.7:99", 0);
    expect_sent(1, ASK6, "[fe80::9]:98", 0);
    assert_int_equal(sent[1].scope, 6);
    ask(1);
    assert_int_equal(sends, 3);
    expect_sent(2, ASK4, "239.255.74.70:7470", 1);
    net.host_count = 0;
    ask(0);
    assert_int_equal(sends, 1);
    expect_sent(0, ASK4, "239.255.74.70:7470", 1);
    net.loopback = 0;
    ask(0);
    assert_int_equal(sends, 0);
    /* An answer goes by the route; without a socket of its kind nowhere. */
    iw_resolver_net_send(&net, &hosts[1], (const uint8_t *)"12345", 5);
    expect_sent(0, ASK6, "[fe80::9]:98", 0);
    net.ask6 = -1;
    iw_resolver_net_send(&net, &hosts[1], (const uint8_t *)"12345", 5);
    assert_int_equal(sends, 1);
    net.ask4 = 0;
    iw_resolver_net_send(&net, &hosts[0], (const uint8_t *)"12345", 5);
    expect_sent(1, 0, "192.0.2.7:99", 0);
}

/* ---- receiving ---- */

static ssize_t receives(struct iw_resolver_origin *origin)
{
    uint8_t octets[9];
    return iw_resolver_net_receive(&net, 77, octets, sizeof(octets), origin);
}

static void what_is_heard(void **unused)
{
    (void)unused;
    struct iw_resolver_origin o;
    struct sockaddr_in *from = (struct sockaddr_in *)&incoming.from;
    *from = ipv4_at("192.0.2.5", 555);
    incoming.result = 200; /* the whole length, of which there is no room for all */
    incoming.v4 = true;
    assert_int_equal(receives(&o), 200);
    assert_int_equal(o.from.port, 555);
    assert_memory_equal(o.from.address, "\xc0\0\2\5", 4);
    assert_int_equal(o.interface, 0);
    assert_false(o.unicast || o.loopback);
    incoming.control = true;
    incoming.level = IPPROTO_IP;
    incoming.type = IP_PKTINFO;
    incoming.info4 =
        (struct in_pktinfo){.ipi_ifindex = 1, .ipi_spec_dst.s_addr = 5, .ipi_addr.s_addr = 5};
    assert_int_equal(receives(&o), 200);
    assert_int_equal(o.interface, 1);
    assert_true(o.unicast && o.loopback);
    incoming.info4.ipi_ifindex = 2;
    incoming.info4.ipi_addr.s_addr = 6; /* a group */
    assert_int_equal(receives(&o), 200);
    assert_int_equal(o.interface, 2);
    assert_false(o.unicast || o.loopback);
    incoming.type = IP_TTL;
    assert_int_equal(receives(&o), 200);
    assert_int_equal(o.interface, 0);
    net.loopback = 0; /* which no interface is */
    assert_int_equal(receives(&o), 200);
    assert_false(o.loopback);
    incoming.type = IP_PKTINFO;
    for (net.loopback = 1; net.loopback < 4; net.loopback++) {
        assert_int_equal(receives(&o), 200);
        assert_int_equal(o.loopback, net.loopback == 2);
    }
    net.loopback = 1;
    incoming.result = -1;
    assert_int_equal(receives(&o), -1);
    incoming.result = 0;
    assert_int_equal(receives(&o), 0);
    from->sin_family = AF_UNIX;
    assert_int_equal(receives(&o), -1);
}

static void what_is_heard_by_ipv6(void **unused)
{
    (void)unused;
    struct iw_resolver_origin o;
    incoming.from = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(9)};
    incoming.from.sin6_addr.s6_addr[15] = 3;
    incoming.result = 88;
    incoming.control = true;
    incoming.level = IPPROTO_IPV6;
    incoming.type = IPV6_PKTINFO;
    incoming.info6.ipi6_ifindex = 1;
    incoming.info6.ipi6_addr.s6_addr[0] = 0xfe;
    assert_int_equal(receives(&o), 88);
    assert_int_equal(o.from.family, IW_RESOLVER_IPV6);
    assert_int_equal(o.from.port, 9);
    assert_int_equal(o.interface, 1);
    assert_true(o.unicast && o.loopback);
    incoming.info6.ipi6_ifindex = 7;
    incoming.info6.ipi6_addr.s6_addr[0] = 0xff;
    assert_int_equal(receives(&o), 88);
    assert_int_equal(o.interface, 7);
    assert_false(o.unicast || o.loopback);
    incoming.type = IPV6_HOPLIMIT;
    assert_int_equal(receives(&o), 88);
    assert_int_equal(o.interface, 0);
    incoming.type = IP_PKTINFO;
    assert_int_equal(receives(&o), 88);
    assert_int_equal(o.interface, 0);
    incoming.level = IPPROTO_IP;
    incoming.type = IPV6_PKTINFO;
    assert_int_equal(receives(&o), 88);
    assert_int_equal(o.interface, 0);
}

static void what_is_polled(void **unused)
{
    (void)unused;
    struct pollfd fds[IW_RESOLVER_SOCKETS];
    assert_int_equal(iw_resolver_net_poll(&net, fds), 2);
    assert_int_equal(fds[0].fd, ASK4);
    assert_int_equal(fds[1].fd, ASK6);
    assert_int_equal(fds[1].events, POLLIN);
    net.ask6 = -1;
    net.serve4 = 0;
    net.serve6 = 43;
    assert_int_equal(iw_resolver_net_poll(&net, fds), 3);
    assert_int_equal(fds[1].fd, 0);
    assert_int_equal(fds[2].fd, 43);
}

/* ---- interfaces ---- */

static struct ifaddrs rows[IW_RESOLVER_INTERFACES + 8];
static struct sockaddr_in6 addresses[IW_RESOLVER_INTERFACES + 8];
static struct sockaddr_in broadcasts[IW_RESOLVER_INTERFACES + 8];
static unsigned row_count;

static void add_row(char *name, unsigned flags, int family, const char *broadcast)
{
    struct ifaddrs *row = &rows[row_count];
    addresses[row_count].sin6_family = (sa_family_t)family;
    *row = (struct ifaddrs){.ifa_name = name, .ifa_flags = flags};
    row->ifa_addr = family != 0 ? (struct sockaddr *)&addresses[row_count] : NULL;
    if (broadcast != NULL) {
        broadcasts[row_count] = ipv4_at(broadcast, 0);
        row->ifa_broadaddr = (struct sockaddr *)&broadcasts[row_count];
    }
    if (row_count > 0)
        rows[row_count - 1].ifa_next = row;
    row_count++;
    listed = rows;
}

static void add_usual_rows(void)
{
    row_count = 0;
    add_row("e9", IFF_UP, AF_PACKET, NULL);
    add_row("e8", 0, AF_INET, NULL);
    add_row("gone", IFF_UP, AF_INET, NULL);
    add_row("e7", IFF_UP, 0, NULL);
    add_row("lo", IFF_UP | IFF_LOOPBACK | IFF_BROADCAST, AF_INET, "192.0.2.1");
    add_row("e2", IFF_UP | IFF_BROADCAST, AF_INET, "192.0.2.255");
    add_row("e3", IFF_UP, AF_INET, "192.0.3.255");
    add_row("e4", IFF_UP | IFF_BROADCAST, AF_INET6, "192.0.4.255");
    add_row("e2", IFF_UP, AF_INET6, NULL);
    add_row("e5", IFF_UP | IFF_BROADCAST, AF_INET, NULL);
}

static void which_interfaces(void **unused)
{
    (void)unused;
    add_usual_rows();
    net.loopback = 0;
    (void)iw_resolver_net_refresh(&net, 1);
    assert_int_equal(lists, 1);
    assert_int_equal(frees, 1);
    static const struct {
        unsigned index;
        bool loopback, ipv4;
        uint8_t family, third;
    } wanted[] = {{1, true, true, IW_RESOLVER_IPV4, 255},
                  {2, false, true, IW_RESOLVER_IPV4, 2},
                  {3, false, true, 0, 0},
                  {4, false, false, 0, 0},
                  {5, false, true, 0, 0}};
    assert_int_equal(net.interface_count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(net.interfaces[i].index, wanted[i].index);
        assert_int_equal(net.interfaces[i].loopback, wanted[i].loopback);
        assert_int_equal(net.interfaces[i].ipv4, wanted[i].ipv4);
        assert_int_equal(net.interfaces[i].broadcast.family, wanted[i].family);
        assert_int_equal(net.interfaces[i].broadcast.address[2], wanted[i].third);
        assert_false(net.interfaces[i].joined || net.interfaces[i].joined6);
    }
    assert_int_equal(net.loopback, 1);
    assert_int_equal(join_count, 0); /* nothing is served */
    /* One that was named; the loopback is known nevertheless. */
    strcpy(net.only, "e4");
    net.loopback = 0;
    net.refreshed = 0;
    (void)iw_resolver_net_refresh(&net, 2);
    assert_int_equal(net.interface_count, 1);
    assert_int_equal(net.interfaces[0].index, 4);
    assert_int_equal(net.loopback, 1);
    /* A list that cannot be had changes nothing. */
    listed = NULL;
    net.refreshed = 0;
    (void)iw_resolver_net_refresh(&net, 3);
    assert_int_equal(net.interface_count, 1);
    assert_int_equal(frees, 2);
    /* No more than there is room for. */
    net.only[0] = '\0';
    net.refreshed = 0;
    row_count = 0;
    static char names[IW_RESOLVER_INTERFACES + 1][4];
    for (unsigned i = 0; i <= IW_RESOLVER_INTERFACES; i++) {
        snprintf(names[i], sizeof(names[i]), "e%u", i + 1);
        add_row(names[i], IFF_UP, AF_INET, NULL);
    }
    (void)iw_resolver_net_refresh(&net, 4);
    assert_int_equal(net.interface_count, IW_RESOLVER_INTERFACES);
    assert_int_equal(net.interfaces[IW_RESOLVER_INTERFACES - 1].index, IW_RESOLVER_INTERFACES);
}

/* Each interface is joined once, by its IPv4 group or else by that of IPv6. */
static void groups_are_joined(void **unused)
{
    (void)unused;
    static const struct {
        int fd, level;
        unsigned index;
        const char *group;
    } wanted[] = {{50, IPPROTO_IP, 1, "239.255.74.70:0"},
                  {50, IPPROTO_IP, 2, "239.255.74.70:0"},
                  {50, IPPROTO_IP, 3, "239.255.74.70:0"},
                  {51, IPPROTO_IPV6, 4, "[ff12::6977:7273]:0"},
                  {50, IPPROTO_IP, 5, "239.255.74.70:0"}};
    add_usual_rows();
    net.serve4 = 50;
    net.serve6 = 51;
    (void)iw_resolver_net_refresh(&net, 1);
    assert_int_equal(join_count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(joins[i].fd, wanted[i].fd);
        assert_int_equal(joins[i].level, wanted[i].level);
        assert_int_equal(joins[i].index, wanted[i].index);
        assert_string_equal(joins[i].group, wanted[i].group);
        assert_int_equal(net.interfaces[i].joined6, i == 3);
        assert_int_equal(net.interfaces[i].joined, i != 3);
    }
    /* What was joined stays so, what could not be joined is tried again. */
    net.interfaces[1].joined = false;
    net.interfaces[3].joined6 = false;
    net.refreshed = join_count = 0;
    join_error = ENODEV;
    (void)iw_resolver_net_refresh(&net, 2);
    assert_int_equal(join_count, 2);
    assert_int_equal(joins[0].index, 2);
    assert_int_equal(joins[1].index, 4);
    assert_false(net.interfaces[1].joined || net.interfaces[3].joined6);
    net.refreshed = join_count = 0;
    join_error = EADDRINUSE; /* it was before */
    (void)iw_resolver_net_refresh(&net, 3);
    assert_int_equal(join_count, 2);
    assert_true(net.interfaces[1].joined && net.interfaces[3].joined6);
    /* One that has gone and come back is joined anew. */
    net.refreshed = join_count = 0;
    join_error = 0;
    row_count = 1;
    rows[0].ifa_next = NULL;
    (void)iw_resolver_net_refresh(&net, 4);
    assert_int_equal(net.interface_count, 0);
    add_usual_rows();
    net.refreshed = 0;
    (void)iw_resolver_net_refresh(&net, 5);
    assert_int_equal(join_count, 5);
}

/* Without the kernel's reports every minute; with them 200 ms after the last look. */
static void when_they_are_looked_at(void **unused)
{
    (void)unused;
    const uint64_t minute = UINT64_C(60000) * MS, calm = UINT64_C(200) * MS;
    row_count = 0;
    add_row("e2", IFF_UP, AF_INET, NULL);
    assert_int_equal(iw_resolver_net_refresh(&net, 0), 1 + minute);
    assert_int_equal(net.refreshed, 1); /* 0 is never */
    assert_int_equal(iw_resolver_net_refresh(&net, minute), 1 + minute);
    assert_int_equal(lists, 1);
    assert_int_equal(iw_resolver_net_refresh(&net, minute + 1), 2 * minute + 1);
    assert_int_equal(lists, 2);
    assert_int_equal(net.refreshed, minute + 1);
    net.watch = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(net.watch >= 0);
    assert_true(iw_resolver_net_refresh(&net, 100 * minute) == UINT64_MAX);
    assert_int_equal(lists, 2);
    iw_resolver_net_changed(&net);
    assert_true(net.stale);
    assert_int_equal(iw_resolver_net_refresh(&net, minute + calm), minute + 1 + calm);
    assert_int_equal(lists, 2);
    assert_true(iw_resolver_net_refresh(&net, minute + 1 + calm) == UINT64_MAX);
    assert_int_equal(lists, 3);
    assert_false(net.stale);
    close(net.watch);
}

static void what_is_filtered(void **unused)
{
    (void)unused;
    const struct iw_resolver_claims claims = {.count = 5};
    have_interfaces();
    iw_resolver_net_filter(&net, &claims);
    assert_int_equal(filters, 0);
    net.serve4 = 0;
    iw_resolver_net_filter(&net, &claims);
    assert_int_equal(filtered4, 0);
    assert_int_equal(filtered6, -1);
    net.serve6 = 0;
    iw_resolver_net_filter(&net, &claims);
    assert_int_equal(filtered6, 0);
    static const uint8_t wanted[4][4] = {
        {239, 255, 74, 70}, {255, 255, 255, 255}, {127, 255, 255, 255}, {192, 0, 2, 255}};
    assert_int_equal(filtered, 4);
    for (size_t i = 0; i < 4; i++)
        assert_memory_equal(filter[i].address, wanted[i], 4);
}

/* ---- real sockets ---- */

static int option(int fd, int level, int name)
{
    int value = -1;
    socklen_t length = sizeof(value);
    assert_int_equal(getsockopt(fd, level, name, &value, &length), 0);
    return value;
}

static void sockets(void **unused)
{
    (void)unused;
    char error[100] = "";
    struct iw_resolver_place own, to = v4(127, 0, 0, 9, 5);
    const struct iw_resolver_config config = {.port = free_port()};
    listed = NULL;
    assert_int_equal(iw_resolver_net_open(&net, &config, error, sizeof(error)), 0);
    assert_int_equal(net.port, config.port);
    const int fours[] = {net.ask4, net.probe4};
    for (int i = 0; i < 2; i++) {
        assert_true(fours[i] >= 0);
        assert_int_equal(fcntl(fours[i], F_GETFD), FD_CLOEXEC);
        assert_true(fcntl(fours[i], F_GETFL) & O_NONBLOCK);
        assert_int_equal(option(fours[i], IPPROTO_IP, IP_PKTINFO), 1);
        assert_int_equal(option(fours[i], IPPROTO_IP, IP_MULTICAST_TTL), 1);
        assert_int_equal(option(fours[i], IPPROTO_IP, IP_MULTICAST_ALL), 0);
        assert_int_equal(option(fours[i], SOL_SOCKET, SO_BROADCAST), 1);
        assert_int_equal(option(fours[i], SOL_SOCKET, SO_TYPE), SOCK_DGRAM);
    }
    if (net.ask6 >= 0) {
        assert_int_equal(option(net.ask6, IPPROTO_IPV6, IPV6_V6ONLY), 1);
        assert_int_equal(option(net.ask6, IPPROTO_IPV6, IPV6_RECVPKTINFO), 1);
        assert_int_equal(option(net.ask6, IPPROTO_IPV6, IPV6_MULTICAST_HOPS), 1);
    }
    /* What is not known costs no port. */
    assert_int_equal(net.serve4, -1);
    net.loopback = 0;
    assert_int_equal(iw_resolver_net_serve(&net), 0);
    assert_int_equal(join_count, 0);
    const int serve = net.serve4;
    assert_int_equal(option(serve, SOL_SOCKET, SO_REUSEADDR), 1);
    assert_int_equal(option(net.ask4, SOL_SOCKET, SO_REUSEADDR), 0);
    struct sockaddr_in at;
    socklen_t length = sizeof(at);
    assert_int_equal(getsockname(serve, (struct sockaddr *)&at, &length), 0);
    assert_int_equal(ntohs(at.sin_port), config.port);
    assert_int_equal(at.sin_addr.s_addr, 0);
    assert_int_equal(iw_resolver_net_serve(&net), 0);
    assert_int_equal(net.serve4, serve);
    /* From which address this host sends to another one: asked anew each time. */
    assert_true(iw_resolver_net_local(&net, &to, &own));
    assert_memory_equal(own.address, "\x7f\0\0\1", 4);
    to.port = 6;
    assert_true(iw_resolver_net_local(&net, &to, &own));
    to.family = 0;
    assert_false(iw_resolver_net_local(&net, &to, &own));
    iw_resolver_net_close(&net);
    assert_int_equal(fcntl(serve, F_GETFD), -1);
    const int all[] = {net.ask4,   net.ask6,   net.serve4, net.serve6,
                       net.probe4, net.probe6, net.watch};
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(all[i], -1);
    assert_null(net.hosts);
    to = v4(127, 0, 0, 9, 5);
    assert_false(iw_resolver_net_local(&net, &to, &own));
}

static int open_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* Without IPv6 or the kernel's reports it works as well; what fails leaves nothing open. */
static void sockets_that_fail(void **unused)
{
    (void)unused;
    static const struct {
        int socket, level, option, bind, error;
        bool six, watch;
    } rows_of[] = {{-1, 0, 0, -1, 0, true, true},
                   {AF_INET, 0, 0, -1, ENFILE, false, false},
                   {AF_INET6, 0, 0, -1, 0, false, true},
                   {AF_NETLINK, 0, 0, -1, 0, true, false},
                   {-1, IPPROTO_IP, IP_MULTICAST_ALL, -1, ENOPROTOOPT, false, false},
                   {-1, SOL_SOCKET, SO_BROADCAST, -1, ENOPROTOOPT, false, false},
                   {-1, IPPROTO_IPV6, IPV6_RECVPKTINFO, -1, 0, false, true},
                   {-1, SOL_SOCKET, SO_RCVBUF, -1, 0, true, true},
                   {-1, 0, 0, AF_INET, EACCES, false, false},
                   {-1, 0, 0, AF_INET6, 0, false, true},
                   {-1, 0, 0, AF_NETLINK, 0, true, false}};
    const int probe = socket(AF_INET6, SOCK_DGRAM, 0), before = open_descriptors() - (probe >= 0);
    if (probe >= 0)
        close(probe);
    listed = NULL;
    for (size_t i = 0; i < sizeof(rows_of) / sizeof(rows_of[0]); i++) {
        char error[100] = "";
        const struct iw_resolver_config config = {.port = 9};
        socket_fails = rows_of[i].socket;
        option_fails[0] = rows_of[i].level;
        option_fails[1] = rows_of[i].option;
        bind_fails = rows_of[i].bind;
        const int result = iw_resolver_net_open(&net, &config, error, sizeof(error));
        assert_int_equal(result, rows_of[i].error != 0 ? -1 : 0);
        if (result == 0) {
            assert_true(net.ask4 >= 0);
            assert_int_equal(net.ask6 >= 0, probe >= 0 && rows_of[i].six);
            assert_int_equal(net.watch >= 0, rows_of[i].watch);
            assert_int_equal(wished, 1 << 20);
            iw_resolver_net_close(&net);
        } else {
            assert_int_equal(errno, rows_of[i].error);
            assert_non_null(strstr(error, "cannot make a UDP socket: "));
        }
        assert_int_equal(open_descriptors(), before);
    }
}

/* A port that another program has for itself; the group on the loopback is joined with the rest. */
static void serving(void **unused)
{
    (void)unused;
    const int other = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in at = ipv4_at("0.0.0.0", 0);
    socklen_t length = sizeof(at);
    assert_int_equal(bind(other, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(getsockname(other, (struct sockaddr *)&at, &length), 0);
    net.port = ntohs(at.sin_port);
    assert_int_equal(iw_resolver_net_serve(&net), -1);
    assert_int_equal(errno, EADDRINUSE);
    assert_int_equal(net.serve4, -1);
    close(other);
    net.interface_count = 1;
    net.interfaces[0] = (struct iw_resolver_interface){.index = 2, .ipv4 = true};
    assert_int_equal(iw_resolver_net_serve(&net), 0);
    assert_int_equal(join_count, 2);
    assert_int_equal(joins[0].index, 1);
    assert_int_equal(joins[1].index, 2);
    assert_true(net.interfaces[0].joined);
    close(net.serve4);
    if (net.serve6 >= 0)
        close(net.serve6);
}

/* Names of interfaces: fifteen octets at most. */
static void a_name(void **unused)
{
    (void)unused;
    char error[100] = "";
    listed = NULL;
    const struct iw_resolver_config good = {.interface = "e23456789012345"},
                                    bad = {.interface = "e234567890123456"};
    assert_int_equal(iw_resolver_net_open(&net, &bad, error, sizeof(error)), -1);
    assert_int_equal(errno, ENODEV);
    assert_string_equal(error, "there is no interface \"e234567890123456\"");
    assert_int_equal(iw_resolver_net_open(&net, &good, error, sizeof(error)), 0);
    assert_string_equal(net.only, "e23456789012345");
    assert_int_equal(net.port, 7470);
    iw_resolver_net_close(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        NET_TEST(by_multicast),
        NET_TEST(by_broadcast),
        NET_TEST(by_unicast),
        NET_TEST(what_is_heard),
        NET_TEST(what_is_heard_by_ipv6),
        NET_TEST(what_is_polled),
        NET_TEST(which_interfaces),
        NET_TEST(groups_are_joined),
        NET_TEST(when_they_are_looked_at),
        NET_TEST(what_is_filtered),
        NET_TEST(sockets),
        NET_TEST(sockets_that_fail),
        NET_TEST(serving),
        NET_TEST(a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
