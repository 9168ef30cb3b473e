// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* What is counted of a device, and traced of its connections. */
#include "iwk.h"

#define CREATE_TRACE_POINTS
#include "iwk_trace.h"

#include "iwarp/quirk.h"

/* More than any text of quirk/ and wire/ needs. */
enum { IWK_TEXT = 440 };

/* ---- counters ---- */

static const struct rdma_stat_desc descs[] = {
	[IWK_COUNT_CONNS].name = "connections",
	[IWK_COUNT_TERMINATES_IN].name = "terminates_in",
	[IWK_COUNT_TERMINATES_OUT].name = "terminates_out",
	[IWK_COUNT_FAULTS_MPA].name = "faults_mpa",
	[IWK_COUNT_FAULTS_DDP].name = "faults_ddp",
	[IWK_COUNT_FAULTS_RDMAP].name = "faults_rdmap",
};

struct rdma_hw_stats *iwk_alloc_hw_port_stats(struct ib_device *base, u32 port)
{
	BUILD_BUG_ON(ARRAY_SIZE(descs) != IWK_COUNTS);
	return rdma_alloc_hw_stats_struct(descs, IWK_COUNTS, RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

int iwk_get_hw_stats(struct ib_device *base, struct rdma_hw_stats *stats, u32 port, int index)
{
	int i;

	if (!port || !stats)
		return -EINVAL;
	for (i = 0; i < IWK_COUNTS; i++)
		stats->value[i] = atomic64_read(&iwk_dev_of(base)->counts[i]);
	return IWK_COUNTS;
}

static void count_fault(struct iwk_conn *conn, const struct iw_fault *fault)
{
	const struct iw_rule *rule = iw_check_sender_rule(fault->check);
	struct iwk_dev *dev = conn->dev;

	if (!rule)
		return;
	atomic64_inc(&dev->faults[fault->check]);
	atomic64_inc(&dev->counts[rule->rfc == 5044 || rule->rfc == 6581 ? IWK_COUNT_FAULTS_MPA
				  : rule->rfc == 5041			 ? IWK_COUNT_FAULTS_DDP
									 : IWK_COUNT_FAULTS_RDMAP]);
	trace_iwarp_fault(dev_name(&dev->base.dev), conn->id, iw_check_info(fault->check)->name,
			  rule->id, fault->pos, fault->got, fault->want);
}

/* ---- traces ---- */

/* Puts the real number of octets of payload where the text has that of the octets at hand. */
static void say_length(char *text, const struct iw_trace *t)
{
	char *len = strstr(text, " len ");
	size_t header;

	if (!len || t->length >= t->ulpdu_length)
		return;
	header = t->octets[IW_AT_DDP_CONTROL] & IW_DDP_T ? IW_DDP_TAGGED_HEADER
							 : IW_DDP_UNTAGGED_HEADER;
	scnprintf(len, IWK_TEXT - (len - text), " len %zu", t->ulpdu_length - header);
}

static void trace_startup(struct iwk_conn *conn, const struct iw_trace *t)
{
	char text[IWK_TEXT];

	if (!trace_iwarp_startup_enabled())
		return;
	iw_wire_print_startup(text, sizeof(text), t->octets, t->length);
	trace_iwarp_startup(dev_name(&conn->dev->base.dev), conn->id,
			    t->kind == IW_TRACE_STARTUP_IN, 0, t->length, text);
}

static void trace_fpdu(struct iwk_conn *conn, const struct iw_trace *t, bool in, bool terminate)
{
	const char *name = dev_name(&conn->dev->base.dev);
	char text[IWK_TEXT];

	iw_quirk_print_segment(text, sizeof(text), t->octets, t->length,
			       iw_quirk_in_segment(t->octets, t->length));
	say_length(text, t);
	trace_iwarp_fpdu(name, conn->id, in, t->pos, t->ulpdu_length, text);
	if (terminate)
		trace_iwarp_terminate(name, conn->id, in, t->pos, t->ulpdu_length, text);
}

static void take_fpdu(struct iwk_conn *conn, const struct iw_trace *t)
{
	const bool in = t->kind == IW_TRACE_FPDU_IN;
	const bool terminate =
		t->length > IW_AT_RDMAP_CONTROL &&
		(t->octets[IW_AT_RDMAP_CONTROL] & IW_RDMAP_OPCODE) == IW_OP_TERMINATE;

	if (terminate)
		atomic64_inc(&conn->dev->counts[in ? IWK_COUNT_TERMINATES_IN
						   : IWK_COUNT_TERMINATES_OUT]);
	if (trace_iwarp_fpdu_enabled() || (terminate && trace_iwarp_terminate_enabled()))
		trace_fpdu(conn, t, in, terminate);
}

static void take_trace(void *context, const struct iw_trace *t)
{
	struct iwk_conn *conn = context;

	switch (t->kind) {
	case IW_TRACE_STARTUP_IN:
	case IW_TRACE_STARTUP_OUT:
		trace_startup(conn, t);
		break;
	case IW_TRACE_FPDU_IN:
	case IW_TRACE_FPDU_OUT:
		take_fpdu(conn, t);
		break;
	case IW_TRACE_FAULT:
		count_fault(conn, t->fault);
		break;
	default:
		break;
	}
}

void iwk_conn_report(struct iw_endpoint_config *config, struct iwk_conn *conn)
{
	config->switches = conn->switches.any ? &conn->switches : NULL;
	config->trace = take_trace;
	config->trace_context = conn;
}
