/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The symbols that Wireshark looks for in a plugin of dissectors. */
#include "iwarp_dissector.h"

WS_DLL_PUBLIC_DEF const char plugin_version[] = IW_VERSION;
WS_DLL_PUBLIC_DEF const int plugin_want_major = WIRESHARK_VERSION_MAJOR;
WS_DLL_PUBLIC_DEF const int plugin_want_minor = WIRESHARK_VERSION_MINOR;

WS_DLL_PUBLIC void plugin_register(void);
WS_DLL_PUBLIC uint32_t plugin_describe(void);

void plugin_register(void)
{
    static proto_plugin plugin = {.register_protoinfo = iwd_register,
                                  .register_handoff = iwd_handoff};

    proto_register_plugin(&plugin);
}

/* From 4.4 on: this plugin adds dissectors. */
uint32_t plugin_describe(void)
{
    return 1;
}
