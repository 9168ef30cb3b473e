/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plugin in libwireshark, through its own entry: the steps of an input become frames of one TCP
 * connection, which are dissected three times, with a tree and columns. The plugin's own code must
 * throw no exception, and the second and third time, when all is known, must show the same.
 *
 * IW_FUZZ_LOCAL and IW_FUZZ_NONE do nothing here. settings[1]: bits below; settings[2]: with SNAP,
 * octets of payload that each frame has at most, in twos; settings[3]: if not zero, octets are cut
 * into segments of four times this length.
 */
#include "engine/fuzz.h"
#include "input/input.h"
#include "input/start_up.h"
#include "iwarp/capture.h"
#include "iwarp_dissector.h"

#include <epan/column-info.h>
#include <epan/column.h>
#include <epan/epan_dissect.h>
#include <epan/frame_data.h>
#include <epan/timestamp.h>
#include <stdlib.h>
#include <unistd.h>
#include <wsutil/filesystem.h>
#include <wsutil/privileges.h>
#include <wsutil/wslog.h>

enum {
    SNAP = 0x01,      /* a capture with a snap length */
    NO_SYN = 0x02,    /* that begins after the SYNs */
    DECODE_AS = 0x04, /* the user says that it is iWARP */
    REORDER = 0x08,   /* TCP puts segments in order */
    SWAPPED = 0x10,   /* the initiator has the lower port */
    WRAP = 0x20,      /* sequence numbers pass zero */
    AGAIN = 0x40,     /* the same twice: a second connection on the same ports */
    ABSOLUTE = 0x80   /* TCP's preference: no relative sequence numbers */
};

enum { NOBODY = 65534 };

enum { FRAMES = 512, ETHERNET = 14, HEADERS = ETHERNET + 40, MTU = 65000 };

struct frame {
    frame_data fd;
    wtap_rec rec;
    uint8_t *octets;
};

void plugin_register(void);

static uint8_t settings[IW_FUZZ_SETTINGS];
static struct frame frames[FRAMES];
static uint32_t count;
static uint32_t isn[2];
static uint64_t next[2]; /* position after the octets that each side has sent */
static nstime_t now;
static column_info columns;
static dissector_handle_t iwarp;

/* ---- frames ---- */

static void add_frame(unsigned side, uint64_t pos, uint8_t flags, const uint8_t *octets,
                      size_t length)
{
    static const uint16_t ports[2] = {40000, 4711};
    bool swapped = (settings[1] & SWAPPED) != 0;
    struct frame *f = &frames[count];
    const struct iw_packet packet = {
        .source = {4, {10, 0, 0, (uint8_t)(1 + side)}},
        .destination = {4, {10, 0, 0, (uint8_t)(2 - side)}},
        .source_port = ports[side ^ swapped],
        .destination_port = ports[!side ^ swapped],
        .seq = isn[side] + (uint32_t)pos,
        .ack = flags & IW_TCP_ACK ? isn[!side] + (uint32_t)next[!side] : 0,
        .flags = flags,
        .window = 0xffff,
        .payload = octets,
        .length = (uint32_t)length,
    };
    size_t size = HEADERS + length, here = size;

    if (count == FRAMES)
        return;
    count++;
    uint8_t *at = f->octets = g_malloc0(size);
    if ((settings[1] & SNAP) && length > 2u * settings[2])
        here = HEADERS + 2u * settings[2];
    at[5] = at[11] = 2;
    at[11 - 6 * side] = 1;
    at[12] = 8;
    (void)iw_packet_put(at + ETHERNET, size - ETHERNET, &packet);
    /* Shrink to the octets that a short capture has, so that ASan notices a read past them. */
    f->octets = g_realloc(f->octets, here);

    f->rec = (wtap_rec){.rec_type = REC_TYPE_PACKET,
                        .presence_flags = WTAP_HAS_TS | WTAP_HAS_CAP_LEN,
                        .ts = now,
                        .rec_header.packet_header = {.caplen = (guint32)here,
                                                     .len = (guint32)size,
                                                     .pkt_encap = WTAP_ENCAP_ETHERNET}};
    frame_data_init(&f->fd, count, &f->rec, 0, 0);
    now.nsecs += 1000;
}

static void send_octets(unsigned side, uint64_t pos, const uint8_t *octets, size_t length)
{
    size_t most = settings[3] ? 4u * settings[3] : MTU;

    while (length) {
        size_t n = MIN(length, most);

        add_frame(side, pos, IW_TCP_PSH | IW_TCP_ACK, octets, n);
        pos += n;
        octets += n;
        length -= n;
        next[side] = MAX(next[side], pos);
    }
}

static void start_up(enum iw_side side)
{
    uint8_t frame[IW_FUZZ_START_UP];
    send_octets(side, next[side], frame, iw_fuzz_start_up(settings[0], side, frame));
}

static void take(struct iw_fuzz_step *step)
{
    unsigned side = step->of_b || (step->kind != IW_FUZZ_AT && iw_fuzz_octet(step, 0) % 2);
    uint64_t pos;
    switch (step->kind) {
    case IW_FUZZ_A:
    case IW_FUZZ_B:
        send_octets(step->kind == IW_FUZZ_B, next[step->kind == IW_FUZZ_B], step->body,
                    step->length);
        break;
    case IW_FUZZ_AT:
        pos = iw_fuzz_at(step, next[side]);
        if (step->length) /* what is next goes on where it would have: a hole may be filled */
            add_frame(side, pos, IW_TCP_PSH | IW_TCP_ACK, step->body, MIN(step->length, MTU));
        break;
    case IW_FUZZ_TIME:
        now.secs += iw_fuzz_pair(step, 0) / 1000;
        break;
    case IW_FUZZ_FIN:
        add_frame(side, next[side]++, IW_TCP_FIN | IW_TCP_ACK, NULL, 0);
        break;
    case IW_FUZZ_RST:
        add_frame(side, next[side], IW_TCP_RST | IW_TCP_ACK, NULL, 0);
        break;
    case IW_FUZZ_LOCAL:
    case IW_FUZZ_NONE:
        break;
    }
}

static void connection(struct iw_fuzz_input in, uint32_t first)
{
    isn[0] = settings[1] & WRAP ? 0xffffff00u + first : 1000 + first;
    isn[1] = 0x80000000u + first;
    next[0] = next[1] = 0;
    if (!(settings[1] & NO_SYN)) {
        add_frame(0, next[0]++, IW_TCP_SYN, NULL, 0);
        add_frame(1, next[1]++, IW_TCP_SYN | IW_TCP_ACK, NULL, 0);
        add_frame(0, next[0], IW_TCP_ACK, NULL, 0);
    }
    if (settings[0] & IW_FUZZ_STARTED) {
        start_up(IW_SIDE_INITIATOR);
        start_up(IW_SIDE_RESPONDER);
    }
    struct iw_fuzz_step step;
    while (iw_fuzz_step(&in, &step))
        take(&step);
}

/* ---- dissection ---- */

static uint64_t mix(uint64_t hash, const void *octets, size_t length)
{
    const uint8_t *at = octets;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}

/* What is looked at. */
struct look {
    uint64_t *hash;
    bool ours; /* the plugin has dissected something of the frame */
};

static void look(proto_node *node, gpointer context)
{
    const struct look *l = context;
    const field_info *fi = PNODE_FINFO(node);
    char text[ITEM_LABEL_LENGTH];
    if (fi->rep == NULL)
        proto_item_fill_label((field_info *)fi, text);
    else
        g_strlcpy(text, fi->rep->representation, sizeof(text));
    /* An exception thrown while the plugin's own code runs bears its name. A bug reported in
     * another dissector may come from what the plugin passed to it, but not in a frame that it left
     * to others: the built-in one calls the same dissectors. */
    IW_FUZZ_CHECK(!g_str_has_prefix(text, "[Malformed Packet: iWARP") &&
                      !g_str_has_prefix(text, "[Packet size limited during capture: iWARP") &&
                      !g_str_has_prefix(text, "[Unreassembled Packet: iWARP") &&
                      !(l->ours && g_str_has_prefix(text, "[Dissector bug")),
                  "dissector: %s", text);
    *l->hash = mix(*l->hash, text, strlen(text));
    proto_tree_children_foreach(node, look, context);
}

static bool is_ours(proto_node *root)
{
    return PNODE_FINFO(root)->hfinfo->id == iwd_proto;
}

static void look_for_ours(proto_node *root, gpointer context)
{
    struct look *l = context;

    l->ours = l->ours || is_ours(root);
}

/* Hashes only the plugin's part: other dissectors may show more each time. */
static void look_below(proto_node *root, gpointer context)
{
    struct look l = *(const struct look *)context;
    uint64_t ignored = 0;

    if (!is_ours(root))
        l.hash = &ignored;
    look(root, &l);
}

static const nstime_t *time_of(struct packet_provider_data *prov _U_, guint32 frame)
{
    return frame && frame <= count ? &frames[frame - 1].fd.abs_ts : NULL;
}

/* Dissects all frames. Returns the hash of what the plugin shows. */
static uint64_t pass(epan_t *session)
{
    const frame_data *first = NULL, *previous = NULL;
    nstime_t elapsed = NSTIME_INIT_ZERO;
    uint64_t hash = 0xcbf29ce484222325u;
    guint32 cumulated = 0;

    for (uint32_t k = 0; k < count; k++) {
        struct frame *f = &frames[k];
        epan_dissect_t *edt = epan_dissect_new(session, TRUE, TRUE);
        guint32 here = f->rec.rec_header.packet_header.caplen;

        frame_data_set_before_dissect(&f->fd, &elapsed, &first, previous);
        epan_dissect_run(
            edt, 0, &f->rec,
            tvb_new_real_data(f->octets, here, (gint)f->rec.rec_header.packet_header.len), &f->fd,
            &columns);
        epan_dissect_fill_in_columns(edt, FALSE, TRUE);
        struct look l = {.hash = &hash};
        proto_tree_children_foreach(edt->tree, look_for_ours, &l);
        proto_tree_children_foreach(edt->tree, look_below, &l);
        frame_data_set_after_dissect(&f->fd, &cumulated);
        previous = &f->fd;
        epan_dissect_free(edt);
    }
    return hash;
}

static void set(const char *preference, bool on)
{
    char *text = g_strdup_printf("%s:%s", preference, on ? "TRUE" : "FALSE"), *error = NULL;

    IW_FUZZ_CHECK(prefs_set_pref(text, &error) == PREFS_SET_OK, "dissector: %s", text);
    g_free(text);
}

static void run(const uint8_t *octets, size_t length)
{
    static const struct packet_provider_funcs provider = {.get_frame_ts = time_of};
    struct iw_fuzz_input in = iw_fuzz_open(octets, length);

    memcpy(settings, in.settings, sizeof(settings));
    count = 0;
    now = (nstime_t)NSTIME_INIT_SECS_NSECS(1700000000, 0);
    connection(in, 0);
    if (settings[1] & AGAIN)
        connection(in, 77777);
    set("tcp.reassemble_out_of_order", (settings[1] & REORDER) != 0);
    set("tcp.relative_sequence_numbers", !(settings[1] & ABSOLUTE));
    if (settings[1] & DECODE_AS)
        dissector_change_uint("tcp.port", 4711, iwarp);
    epan_t *session = epan_new(NULL, &provider);
    (void)pass(session);
    postseq_cleanup_all_protocols();
    uint64_t second = pass(session), third = pass(session);
    epan_free(session);
    if (settings[1] & DECODE_AS)
        dissector_reset_uint("tcp.port", 4711);
    for (uint32_t k = 0; k < count; k++) {
        frame_data_destroy(&frames[k].fd);
        g_free(frames[k].octets);
    }
    IW_FUZZ_CHECK(second == third, "dissector: a third pass shows something else than the second");
}

/* Asks what the dialog Decode As asks long after the plugin was registered. */
static void try_decode_as(void)
{
    packet_info pinfo = {.srcport = 40000, .destport = 4711};
    unsigned tables = 0;

    for (GList *at = decode_as_list; at != NULL; at = at->next) {
        const decode_as_t *d = at->data;

        if (!g_str_has_prefix(d->table_name, "iwarp."))
            continue;
        tables++;
        IW_FUZZ_CHECK(d->num_items == 2, "dissector: %s", d->table_name);
        for (unsigned k = 0; k < 2; k++) {
            uint32_t port = k ? pinfo.destport : pinfo.srcport;
            char label[MAX_DECODE_AS_PROMPT_LEN], want[MAX_DECODE_AS_PROMPT_LEN];
            d->values[k].label_func(&pinfo, label);
            g_snprintf(want, sizeof(want), "port %u as", port);
            IW_FUZZ_CHECK(strcmp(label, want) == 0, "dissector: %s", label);
            IW_FUZZ_CHECK(d->values[k].num_values == 1 &&
                              d->values[k].build_values[0](&pinfo) == GUINT_TO_POINTER(port),
                          "dissector: value of %s", label);
        }
    }
    IW_FUZZ_CHECK(tables == 2, "dissector: %u tables", tables);
}

static void start(void)
{
    uid_t uid = getuid();

    /* Use no settings of the user and no tables of names, which each input would read again; give
     * each block of memory a fence. libwireshark ignores these for root: hide that from it. */
    (void)setenv("WIRESHARK_CONFIG_DIR", "/nonexistent", 1);
    (void)setenv("WIRESHARK_DATA_DIR", "/nonexistent", 1);
    (void)setenv("WIRESHARK_DEBUG_WMEM_OVERRIDE", "simple", 1);
    ws_log_init("fuzz-dissector", NULL);
    IW_FUZZ_CHECK(uid != 0 ||
                      (setresgid(NOBODY, NOBODY, 0) == 0 && setresuid(NOBODY, NOBODY, 0) == 0),
                  "root cannot be somebody else");
    init_process_policies();
    g_free(configuration_init("/usr/bin/tshark", NULL));
    (void)get_datafile_dir(); /* found out once */
    IW_FUZZ_CHECK(uid != 0 || (setresuid(0, 0, 0) == 0 && setresgid(0, 0, 0) == 0),
                  "root cannot be itself again");
    wtap_init(FALSE);
    plugin_register();
    IW_FUZZ_CHECK(epan_init(NULL, NULL, FALSE), "libwireshark does not start");
    timestamp_set_type(TS_RELATIVE);
    timestamp_set_precision(TS_PREC_FIXED_NSEC);
    timestamp_set_seconds_type(TS_SECONDS_DEFAULT);
    (void)epan_load_settings();
    prefs_apply_all();
    build_column_format_array(&columns, prefs.num_cols, TRUE);
    iwarp = find_dissector("iwarp");
    IW_FUZZ_CHECK(iwarp, "the plugin is not there");
    try_decode_as();
}

const struct iw_fuzz_harness iw_fuzz_harness = {
    .name = "dissector", .most = 1 << 16, .steps = true, .start = start, .run = run};
