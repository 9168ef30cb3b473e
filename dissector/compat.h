/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef IWD_COMPAT_H
#define IWD_COMPAT_H

/* Everything of libwireshark, and all that differs between its versions 4.0 and 4.6. */

#define WS_BUILD_DLL
#include <ws_version.h>

#define IWD_WIRESHARK (WIRESHARK_VERSION_MAJOR * 100 + WIRESHARK_VERSION_MINOR)

#include <epan/conversation.h>
#include <epan/dissectors/packet-iwarp-ddp-rdmap.h>
#include <epan/dissectors/packet-tcp.h>
#include <epan/expert.h>
#include <epan/packet.h>
#include <epan/prefs-int.h>
#include <epan/prefs.h>
#include <epan/proto_data.h>
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

#endif
