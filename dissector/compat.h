/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef IWD_COMPAT_H
#define IWD_COMPAT_H

/* Includes libwireshark and hides the differences between its versions 4.0 to 4.6. */

#define WS_BUILD_DLL
#include <ws_version.h>

#define IWD_WIRESHARK (WIRESHARK_VERSION_MAJOR * 100 + WIRESHARK_VERSION_MINOR)

#include <epan/conversation.h>
#include <epan/decode_as.h>
#include <epan/dissectors/packet-iwarp-ddp-rdmap.h>
#include <epan/dissectors/packet-tcp.h>
#include <epan/exceptions.h>
#include <epan/expert.h>
#include <epan/packet.h>
#include <epan/prefs-int.h>
#include <epan/prefs.h>
#include <epan/proto_data.h>
#include <epan/show_exception.h>
#include <epan/to_str.h>
#include <epan/tvbuff.h>
#include <stdbool.h>
#include <wiretap/wtap.h>
#include <ws_symbol_export.h>

/* The type that libwireshark calls a truth value: a preference that is one has its size. */
#if IWD_WIRESHARK < 403
typedef gboolean iwd_bool;
#define iwd_tvb_u8 tvb_get_guint8
#else
#include <epan/tfs.h>
typedef bool iwd_bool;
#define iwd_tvb_u8 tvb_get_uint8
#endif

#if IWD_WIRESHARK < 402
#define iwd_register_follow register_follow_stream
#else
#define iwd_register_follow(...) register_follow_stream(__VA_ARGS__, get_tcp_stream_count, NULL)
#endif

#if IWD_WIRESHARK < 406
#define iwd_try_uint(table, value, tvb, pinfo, tree, data)                                         \
    dissector_try_uint_new(table, value, tvb, pinfo, tree, TRUE, data)
#else
#define iwd_try_uint(table, value, tvb, pinfo, tree, data)                                         \
    dissector_try_uint_with_data(table, value, tvb, pinfo, tree, TRUE, data)
#endif

/* The sequence diagram. libwireshark exports it, but not all packages have its header; the part
 * that we need is the same in all versions except for the truth values. */
#if __has_include(<epan/sequence_analysis.h>)
#include <epan/sequence_analysis.h>
#else
#include <epan/tap.h>

typedef struct {
    uint32_t frame_number;
    address src_addr;
    uint16_t port_src;
    address dst_addr;
    uint16_t port_dst;
    char *frame_label, *time, *comment; /* g_malloc'ed */
    uint16_t conv_num;
    unsigned foreground, background;
    iwd_bool colored, display;
    unsigned source, destination;
    uint16_t line_style;
    /* and more: only libwireshark makes them */
} seq_analysis_item_t;

typedef struct {
    const char *name;
    iwd_bool any_address;
    int n_conversations;
    GQueue *items;
    /* and more */
} seq_analysis_info_t;

void register_seq_analysis(const char *name, const char *title, int proto, const char *tap,
                           unsigned flags, tap_packet_cb packet);
seq_analysis_item_t *sequence_analysis_create_sai_with_addresses(packet_info *pinfo,
                                                                 seq_analysis_info_t *all);
void sequence_analysis_use_color_filter(packet_info *pinfo, seq_analysis_item_t *item);
#endif

#endif
