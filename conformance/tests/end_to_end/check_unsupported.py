#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A request that an agent's backend cannot do makes a case SKIP, with the agent's reason, wherever it comes.

usage: check_unsupported.py IWARP-CONFORM IWARP-AGENT [LUA DECODE-DIR]

Plays the whole suite through a relay before the agent. The relay answers with "unsupported: ..." every request that the
verbs backend refuses on a minimal device (tools/tests/agent/rdma/test_rdma.c has the list): nothing may fail,
be inconclusive or be an error because of it. The second decoder follows the captures.
"""
import collections
import json
import socket
import tempfile
import threading

import harness

OPS = ("send-invalidate", "send-se-invalidate", "immediate", "immediate-se", "fetch-add", "cmp-swap")
ACCESS = ("remote-invalidate", "remote-atomic", "bind")


def why_not(request):
    """The backend's answer, or None."""
    verb = request["do"]
    if verb in ("bind", "unbind", "stream_send", "stream_take", "start"):
        return "verb " + verb
    for field in ("stream", "half_close"):
        if request.get(field):
            return "field " + field
    if verb in ("listen", "connect") and len(request.get("private", "")) > 2 * 255:
        return "field private: more than 255 octets"
    if verb == "close" and request.get("how") == "terminate":
        return "field how: terminate"
    if verb == "post" and request["op"] in OPS:
        return "op " + request["op"]
    if verb != "register":
        return None
    for field in ("to", "conn"):
        if field in request:
            return "field " + field
    for right in ACCESS:
        if right in request.get("access", ()):
            return "field access: " + right
    return "field length: 0" if request["length"] == 0 else None


def pump(source, sink):
    try:
        for line in source.makefile("rb"):
            sink.sendall(line)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def serve(listener, port, refused):
    while True:
        client, _ = listener.accept()
        agent = socket.create_connection(("127.0.0.1", port))
        for end in (client, agent):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=pump, args=(agent, client), daemon=True).start()
        for line in client.makefile("rb"):
            request = json.loads(line)
            why = why_not(request)
            if why:
                refused[why] += 1
                reply = {"id": request["id"], "ok": False, "error": "unsupported: " + why}
                client.sendall(json.dumps(reply).encode() + b"\n")
            else:
                agent.sendall(line)
        agent.shutdown(socket.SHUT_WR)


def main(conform, agent, *decoder):
    listener = socket.create_server(("127.0.0.1", 0))
    refused = collections.Counter()
    with tempfile.TemporaryDirectory() as folder, harness.Peer(agent, stderr=None) as peer:
        threading.Thread(target=serve, args=(listener, peer.port, refused), daemon=True).start()
        target = "tcp:127.0.0.1:%d,class=agent" % listener.getsockname()[1]
        done = harness.run(conform, "run", "--target", target, "--time-scale", "10", "--results", folder, "--pcap-dir", folder + "/pcaps",
                           status=None)
        cases = harness.load(folder, "run.json")["cases"]
        decoded = harness.run(*decoder, folder + "/pcaps", status=None, stdout=None).returncode if decoder else 0
    bad = [case for case in cases if case["verdict"] not in ("PASS", "NOTE", "SKIP")]
    skipped = [case for case in cases if "unsupported: " in (case["reason"] or "")]
    for case in bad:
        print("not ok - %s: %s: %s" % (case["id"], case["verdict"], case["reason"]))
    for case in skipped:
        if case["verdict"] != "SKIP":
            print("not ok - %s: %s" % (case["id"], case["verdict"]))
            bad.append(case)
    print("%d cases are skipped for %d reasons: %s" % (len(skipped), len(refused), dict(refused)))
    if bad or done.returncode or decoded or len(skipped) < 50 or len(refused) < 10:
        print(done.stdout[-2000:], done.stderr[-2000:])
        return 1
    return 0


if __name__ == "__main__":
    harness.start(main, __doc__)
