/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Tracepoints: what passes on a connection, and what is found wrong with it. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM iwarp

#if !defined(IWK_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define IWK_TRACE_H

#include <linux/tracepoint.h>
#include <rdma/ib_verbs.h>

/* `pos` is that of the first octet, counted from the first of its direction. */
DECLARE_EVENT_CLASS(
	iwarp_octets,
	TP_PROTO(const char *dev, u32 conn, bool in, u64 pos, u32 length, const char *text),
	TP_ARGS(dev, conn, in, pos, length, text),
	TP_STRUCT__entry(__array(char, dev, IB_DEVICE_NAME_MAX) __field(u32, conn) __field(bool, in)
				 __field(u64, pos) __field(u32, length)
					 __dynamic_array(char, text, strlen(text) + 1)),
	TP_fast_assign(strscpy(__entry->dev, dev, IB_DEVICE_NAME_MAX); __entry->conn = conn;
		       __entry->in = in; __entry->pos = pos; __entry->length = length;
		       memcpy(__get_str(text), text, strlen(text) + 1);),
	TP_printk("%s conn %u %s pos %llu length %u: %s", __entry->dev, __entry->conn,
		  __entry->in ? "in" : "out", __entry->pos, __entry->length, __get_str(text)));

DEFINE_EVENT(iwarp_octets, iwarp_startup,
	     TP_PROTO(const char *dev, u32 conn, bool in, u64 pos, u32 length, const char *text),
	     TP_ARGS(dev, conn, in, pos, length, text));

DEFINE_EVENT(iwarp_octets, iwarp_fpdu,
	     TP_PROTO(const char *dev, u32 conn, bool in, u64 pos, u32 length, const char *text),
	     TP_ARGS(dev, conn, in, pos, length, text));

DEFINE_EVENT(iwarp_octets, iwarp_terminate,
	     TP_PROTO(const char *dev, u32 conn, bool in, u64 pos, u32 length, const char *text),
	     TP_ARGS(dev, conn, in, pos, length, text));

TRACE_EVENT(iwarp_fault,
	    TP_PROTO(const char *dev, u32 conn, const char *check, const char *rule, u64 pos,
		     u64 got, u64 want),
	    TP_ARGS(dev, conn, check, rule, pos, got, want),
	    TP_STRUCT__entry(__array(char, dev, IB_DEVICE_NAME_MAX) __field(u32, conn)
				     __array(char, check, 40) __array(char, rule, 16)
					     __field(u64, pos) __field(u64, got)
						     __field(u64, want)),
	    TP_fast_assign(strscpy(__entry->dev, dev, IB_DEVICE_NAME_MAX); __entry->conn = conn;
			   strscpy(__entry->check, check, 40); strscpy(__entry->rule, rule, 16);
			   __entry->pos = pos; __entry->got = got; __entry->want = want;),
	    TP_printk("%s conn %u: %s, the peer broke %s at octet %llu: %#llx, expected %#llx",
		      __entry->dev, __entry->conn, __entry->check, __entry->rule, __entry->pos,
		      __entry->got, __entry->want));

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE iwk_trace
#include <trace/define_trace.h>
