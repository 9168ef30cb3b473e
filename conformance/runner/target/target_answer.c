/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a target still answers: a control exchange of our own. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "host/text.h"
#include "iwarp/control.h"
#include "iwarp/transport.h"
#include "iwarp/wire.h"
#include "station/station_tcp.h"
#include "target_can.h"
#include "target_instance.h"

enum { DEPTH = 16 /* IRD and ORD */, AGAIN_MS = 20, END_MS = 100 };
/* A timer that the file does not state; a listener that is gone for a moment. */
static const double silence_seconds = 5, absence_seconds = 1;

double iw_target_silence(const struct iw_target_spec *spec, double time_scale)
{
    double seconds = spec->longest_timer > 0 ? spec->longest_timer : silence_seconds;
    return time_scale > 1 ? seconds * time_scale : seconds;
}

bool iw_target_askable(const struct iw_target_instance *t)
{
    if (t->spec->class == IW_TARGET_AGENT)
        return t->target.control != NULL;
    return t->target.port != 0 && t->target.tun == NULL && t->target.can(&t->target, "reconnect");
}

/* A Request that the target takes, or that most do. */
static size_t put_request(const struct iw_target_instance *t,
                          uint8_t frame[static IW_MPA_STARTUP_MAX])
{
    const struct iw_target_startup usual = {.crc = true, .revision = 2, .enhanced = true};
    const struct iw_target_startup *say = t->target.startup != NULL ? t->target.startup : &usual;
    bool enhanced = say->enhanced && say->revision >= 2;
    struct iw_mpa_enhanced block = {.ird = DEPTH, .ord = DEPTH};
    struct iw_mpa_startup_header header = {.flags = (uint8_t)((say->crc ? IW_MPA_FLAG_C : 0) |
                                                              (say->markers ? IW_MPA_FLAG_M : 0) |
                                                              (enhanced ? IW_MPA_FLAG_S : 0)),
                                           .revision = say->revision,
                                           .pd_length = enhanced ? IW_MPA_ENHANCED_LENGTH : 0};
    memcpy(header.key, iw_mpa_request_key, sizeof(header.key));
    if (enhanced)
        iw_wire_put_enhanced(frame + IW_MPA_STARTUP_HEADER, IW_MPA_ENHANCED_LENGTH, &block);
    iw_wire_put_startup(frame, IW_MPA_STARTUP_MAX, &header);
    return (size_t)IW_MPA_STARTUP_HEADER + header.pd_length;
}

/* An octet, the end of the stream or of the connection is an answer. A program that ends has ended
 * its connections a moment before. */
static bool answers(struct iw_target_instance *t, struct iw_tcp *tcp, uint64_t deadline)
{
    uint8_t frame[IW_MPA_STARTUP_MAX], octet;
    size_t length = put_request(t, frame);
    iw_tcp_send(tcp, 0, frame, length);
    bool answered = iw_tcp_wait(tcp, POLLIN, deadline) != 0;
    if (answered && iw_tcp_receive(tcp, &octet, 1) <= 0)
        iw_process_await_end(&t->process, iw_transport_now() + (uint64_t)END_MS * 1000000);
    iw_tcp_shut(tcp, length);
    return answered;
}

static bool has_ended(struct iw_target_instance *t)
{
    return t->target.death != NULL && t->target.death(&t->target) != NULL;
}

static enum iw_alive ask_agent(struct iw_target_instance *t, uint64_t deadline)
{
    char error[256];
    json_t *reply = iw_control_call(t->target.control, iw_got(json_pack("{s:s}", "do", "hello")),
                                    deadline, error, sizeof(error));
    bool answered = reply != NULL;
    json_decref(reply);
    if (answered)
        return IW_ALIVE_ANSWERS;
    return has_ended(t) || iw_control_lost(t->target.control) ? IW_ALIVE_ENDED : IW_ALIVE_SILENT;
}

enum iw_alive iw_target_ask(struct iw_target_instance *t)
{
    double scale = t->scale > 1 ? t->scale : 1;
    uint64_t now = iw_transport_now(), seconds = (uint64_t)1000000000;
    uint64_t deadline = now + (uint64_t)(iw_target_silence(t->spec, t->scale) * (double)seconds);
    uint64_t present = now + (uint64_t)(absence_seconds * scale * (double)seconds);
    struct iw_tcp tcp;
    char error[256];
    if (t->spec->class == IW_TARGET_AGENT)
        return ask_agent(t, deadline);
    while (!has_ended(t)) {
        if (iw_tcp_connect(&tcp, t->target.host, t->target.port, 0, deadline, error,
                           sizeof(error))) {
            bool answered = answers(t, &tcp, deadline);
            iw_tcp_close(&tcp);
            if (answered)
                return IW_ALIVE_ANSWERS;
            return has_ended(t) ? IW_ALIVE_ENDED : IW_ALIVE_SILENT;
        }
        if (errno != ECONNREFUSED) {
            /* Of a target that nobody here has started this may be the network's doing. */
            bool timed_out = errno == ETIMEDOUT || errno == EAGAIN || errno == EINPROGRESS;
            return timed_out && t->spec->start != NULL ? IW_ALIVE_SILENT : IW_ALIVE_REFUSES;
        }
        if (iw_transport_now() >= present)
            return iw_process_forsaken(&t->process) ? IW_ALIVE_ENDED : IW_ALIVE_REFUSES;
        poll(NULL, 0, AGAIN_MS);
    }
    return IW_ALIVE_ENDED;
}

bool iw_target_abort(struct iw_target_instance *t, struct iw_crash *place)
{
    iw_process_abort(&t->process);
    return iw_process_report(&t->process, place);
}
