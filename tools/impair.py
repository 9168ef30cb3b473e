#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The suite through a proxy that impairs TCP, without privileges, and the proxy itself.

usage: impair.py suite PROGRAMS RESULTS [IMPAIRMENT...] [-- OPTION-OF-RUN...]
       impair.py netem PROGRAMS RESULTS [WORD-OF-NETEM...] [-- OPTION-OF-RUN...]
       impair.py proxy HOST:PORT        [IMPAIRMENT...]

suite: runs the suite twice against an iwarp-agent, first directly and then through the proxy, and compares the verdicts
(exit status 1 if one differs and is not in DIFFERENT below). netem: the same inside the user-mode kernel of tools/siw, below
TCP, with the embedded target: loss, reordering, duplication and what else `tc qdisc ... netem` takes ("delay 1ms 300us loss 1%
duplicate 1% reorder 10%"); exit status 3: there is no kernel. proxy: prints the address where it listens, and passes
connections on to HOST:PORT; if that is an agent's control port, the connections that the agent's `listen` and `connect` lead
to go through the proxy, too.

Impairments, of each direction of each connection: --delay MS (delay each piece), --jitter MS (add up to this to the
delay), --rate KIB (per second), --pieces N (write on in pieces of 1 to N octets), --stall MS (stop now and then for this
time), --seed N. FIN is passed on when everything before it has been, RST at once.
"""
import argparse
import asyncio
import json
import os
import random
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

import harness

CHUNK = 65536
LINE = 1 << 24  # of the control protocol: no line is longer
STALL_EACH = 2000  # pieces, on average

NETEM = "delay 1ms 300us loss 1% duplicate 1% reorder 10%".split()
PATIENT = ["--time-scale", "5"]  # a lost SYN alone costs a second

AGAIN = 50  # cases

# Verdicts that are others, and why.
OUT_OF_TIME = "were over before the target had done its part"  # no verdict is no other verdict
LATE = "octets sent before the window was closed come after the message that says so"
EMSS = "the target's connection is the proxy's, with another EMSS than the station's"
NARROW = "the loopback interface of that kernel has an MTU of 1500"
EARLY = "the recorded responder speaks before it may: what the target does depends on when its octets come"
DIFFERENT = {"octets-markers-sent-long": NARROW, "replay-siw-ucmatose-responder-first-initiator": EARLY,
             "tcp-window-closed": LATE, "tcp-window-closed-initiator": LATE,
             **{"mpa-target-emss-of-each" + kind: EMSS for kind in ("", "-initiator", "-markers", "-markers-initiator")}}


def give_up(text, status=70):
    print("impair: " + text, file=sys.stderr)
    sys.exit(status)


def reset(writer):
    """RST instead of FIN."""
    sock = writer.get_extra_info("socket")
    if sock is not None and not writer.transport.is_closing():
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


class Proxy:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)

    async def listen(self, host, port, serve=None):
        """Passes connections to the returned port on to host:port."""
        async def accepted(reader, writer):
            try:
                there = await asyncio.open_connection(host, port, limit=LINE)
            except OSError:
                reset(writer)
                return
            for w in (writer, there[1]):
                w.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await (serve or self.impaired)((reader, writer), there)
        server = await asyncio.start_server(accepted, "127.0.0.1", 0, backlog=1024, limit=LINE)
        return server.sockets[0].getsockname()[1]

    def cut(self, octets):
        # Single octets are the hardest; but all of a megabyte in them takes minutes.
        most = max(self.options.pieces, len(octets) // 64)
        while octets:
            size = self.random.randint(1, most) if self.options.pieces > 0 else len(octets)
            yield octets[:size]
            octets = octets[size:]

    async def deliver(self, queue, writer, other):
        """Writes on what was read, when its time has come."""
        loop = asyncio.get_running_loop()
        free = 0.0  # when the line is free again
        while True:
            due, octets = await queue.get()
            if due > loop.time():
                await asyncio.sleep(due - loop.time())
            try:
                if octets == b"":
                    if writer.can_write_eof():
                        writer.write_eof()
                    return
                for piece in self.cut(octets):
                    if self.options.rate > 0:
                        free = max(free, loop.time()) + len(piece) / (self.options.rate * 1024)
                        if free > loop.time() + 0.001:
                            await asyncio.sleep(free - loop.time())
                    if self.options.stall > 0 and self.random.randrange(STALL_EACH) == 0:
                        await asyncio.sleep(self.options.stall / 1000)
                    writer.write(piece)
                    if self.options.pieces > 0:
                        await asyncio.sleep(0)
                    await writer.drain()
            except OSError:
                reset(other)
                return

    async def carry(self, reader, writer, other):
        loop = asyncio.get_running_loop()
        queue = asyncio.Queue(16)
        delivery = asyncio.create_task(self.deliver(queue, writer, other))
        octets = None
        while octets != b"" and not delivery.done():
            try:
                octets = await reader.read(CHUNK)
            except OSError:
                reset(writer) # at once, as TCP does
                delivery.cancel()
                return
            late = self.options.delay + self.random.random() * self.options.jitter
            put = asyncio.create_task(queue.put((loop.time() + late / 1000, octets)))
            await asyncio.wait({put, delivery}, return_when=asyncio.FIRST_COMPLETED)
            put.cancel()  # nobody takes it if the delivery has ended
        await asyncio.wait({delivery})

    async def impaired(self, here, there):
        await asyncio.gather(self.carry(here[0], there[1], here[1]), self.carry(there[0], here[1], there[1]))
        here[1].close()
        there[1].close()

    async def control(self, here, there, host):
        """Passes on an agent's control connection, unimpaired; replaces the ports in it by the proxy's."""
        asked = {}

        async def requests():
            while line := await here[0].readline():
                request = json.loads(line)
                if request.get("do") == "connect":
                    request["port"] = await self.listen(request["host"], request["port"])
                    request["host"] = "127.0.0.1"
                    line = json.dumps(request).encode() + b"\n"
                asked[request.get("id")] = request.get("do")
                there[1].write(line)

        async def answers():
            while line := await there[0].readline():
                answer = json.loads(line)
                if asked.pop(answer.get("id"), None) == "listen" and answer.get("ok"):
                    answer["port"] = await self.listen(host, answer["port"])
                    line = json.dumps(answer).encode() + b"\n"
                here[1].write(line)

        async def passing(lines, writer):
            try:
                await lines
            finally:
                writer.close()

        await asyncio.gather(passing(requests(), there[1]), passing(answers(), here[1]), return_exceptions=True)


async def serve(options, host, port):
    proxy = Proxy(options)

    async def first(here, there):
        # An agent's control connection begins with a JSON object, MPA with its key.
        octets = await here[0].read(1)
        here[0]._buffer[:0] = octets  # pylint: disable=protected-access
        if octets == b"{":
            await proxy.control(here, there, host)
        else:
            await proxy.impaired(here, there)

    print("listening on 127.0.0.1:%d" % await proxy.listen(host, port, first), flush=True)
    await asyncio.Event().wait()


def reached(*command, **more):
    try:
        return harness.Peer(*command, strict=False, **more)
    except (SystemExit, OSError) as fault:
        return give_up(str(fault))


def run(programs, results, words, prefix=()):
    """Returns the cases' verdicts and reasons."""
    report = os.path.join(results, "impaired.json")
    os.makedirs(results)
    status = subprocess.run([*prefix, os.path.join(programs, "iwarp-conform"), "run", "--results", results, "--json", report,
                             *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False).returncode
    if status in (64, 70) or not os.path.exists(report):
        give_up("iwarp-conform ended with status %d" % status)
    with open(report, encoding="utf-8") as f:
        return {c["id"]: (c["verdict"], c.get("reason", "")) for c in json.load(f)["cases"]}


def netem(programs, results, how, words):
    """Runs station and target on the loopback interface of a separate kernel."""
    siw = os.path.join(os.path.dirname(os.path.realpath(__file__)), "siw")
    plain = run(programs, os.path.join(results, "plain"), words)
    with tempfile.TemporaryDirectory(prefix="iwarp-netem-") as folder:
        environment = dict(os.environ, TMPDIR=folder)

        def kernel(*command):
            return subprocess.run([siw, *command], env=environment, stdin=subprocess.DEVNULL, check=False).returncode

        if kernel("cached") or kernel("up"):
            give_up("no kernel to run in", 3)
        try:
            if kernel("exec", "tc", "qdisc", "add", "dev", "lo", "root", "netem", *(how or NETEM)):
                give_up("tc refuses: netem %s" % " ".join(how), 64)
            os.environ["TMPDIR"] = folder
            through = run(programs, os.path.join(results, "impaired"), ["--jobs", "8"] + PATIENT + words,
                          [siw, "exec", "-w", results])
        finally:
            kernel("down")
    return compare(plain, through)


def target_file(results, name, at):
    path = os.path.join(results, name + ".lua")
    with open(path, "w", encoding="utf-8") as f:
        f.write('return { class = "agent", agent = "%s", address = "127.0.0.1", station = "127.0.0.1" }\n' % at)
    return ["--target", path]


def suite(programs, results, impairing, words):
    environment = {name: value for name, value in os.environ.items() if name != "IWARP_AGENT_TOKEN"}
    with reached(os.path.join(programs, "iwarp-agent"), "--listen", "127.0.0.1:0", env=environment) as agent:
        plain = run(programs, os.path.join(results, "plain"), target_file(results, "plain", agent.address) + words)
        with reached(sys.executable, "-B", os.path.realpath(__file__), "proxy", agent.address, *impairing, stderr=None) as proxy:
            target = target_file(results, "impaired", proxy.address)
            through = run(programs, os.path.join(results, "impaired"), target + words)
            # What an impaired line is too slow for is played again with patience, which all cases would take too long with.
            again = sorted(name for name, what in through.items() if what[0] != plain.get(name, what)[0])[:AGAIN]
            if again:
                print("again, with patience: %s" % " ".join(again), flush=True)
                through.update(run(programs, os.path.join(results, "again"), target + PATIENT + again))
    return compare(plain, through)


def compare(plain, through):
    different, bad = [name for name in sorted(through) if through[name][0] != plain.get(name, ("nothing",))[0]], 0
    for name in different:
        verdict, reason = through[name]
        late = verdict == "INCONCLUSIVE" and OUT_OF_TIME in reason
        known = "an impaired line is slower" if late else DIFFERENT.get(name)
        bad += known is None
        print("%s: %s, through the proxy %s: %s%s" % (name, plain.get(name, ("nothing",))[0], verdict, reason,
                                                      " (known: %s)" % known if known else ""))
    print("%d cases, %d verdicts differ through the proxy, %d of them unexpectedly" % (len(through), len(different), bad))
    return 1 if bad or set(plain) != set(through) else 0


def main():
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    words, rest = sys.argv[1:split], sys.argv[split + 1:]
    if len(words) < 2 or words[0] not in ("suite", "netem", "proxy"):
        give_up("expected suite, netem or proxy; the head of this file says more", 64)
    command, where = words[0], words[1:]
    parser = argparse.ArgumentParser(prog="impair.py", add_help=False)
    for name in ("delay", "jitter", "rate", "stall"):
        parser.add_argument("--" + name, type=float, default=0)
    parser.add_argument("--pieces", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    options, where = parser.parse_known_args(where) if command != "netem" else (None, where)
    if command == "proxy":
        host, _, port = where[0].rpartition(":")
        if len(where) != 1 or not port.isdigit():
            give_up("expected HOST:PORT", 64)
        try:
            asyncio.run(serve(options, host, int(port)))
        except KeyboardInterrupt:
            return 0
    if len(where) < 2 or (command == "suite" and len(where) > 2):
        give_up("expected PROGRAMS RESULTS", 64)
    programs, results = (os.path.abspath(folder) for folder in where[:2])
    shutil.rmtree(results, ignore_errors=True)
    os.makedirs(results)
    if command == "netem":
        return netem(programs, results, where[2:], rest)
    return suite(programs, results, ["--%s=%s" % pair for pair in vars(options).items()], rest)


if __name__ == "__main__":
    sys.exit(main())
