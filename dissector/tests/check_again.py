# SPDX-License-Identifier: GPL-2.0-or-later
"""The same result each time: in a second pass, filtered, and when files are opened one after the other and again; on
captures with many connections that begin late, lack packets or octets, or have the ports the other way round.

usage: check_again.py PLUGINS VERSION IWARP-LINT

iwarp-perf, which makes the captures, lies beside iwarp-lint; sharkd opens one file after the other. (It leaves 11 MB of
its own each time; that the plugin leaves nothing is seen by fuzz_dissector under LeakSanitizer.)
"""

import json
import os
import pathlib
import shutil
import subprocess

import harness
from check_captures import NOBODY, PCAPS, by_frame, first_pass, home_of, run, tree
from harness import expect

CONNECTIONS = 400


def make(perf, home):
    """(name, capture, options): many connections at the same time, each of a Write and a Read of some segments."""
    options = ["--size", "4000", "--total", str(8000 * CONNECTIONS), "--connections", str(CONNECTIONS)]
    for name, port in (("whole", "4711"), ("swapped", "65000")):
        harness.run(perf, "loop", "--pcap", home / f"{name}.pcapng", "--port", port, *options)
    opening = 6 * CONNECTIONS  # SYNs, start-up frames and their ACKs
    whole, out = home / "whole.pcapng", []
    for name, words in (("late", [f"1-{opening + 500}"]), ("gaps", [str(n) for n in range(opening + 1, opening + 8000, 23)]),
                        ("snap", [])):
        run(["editcap", *(["-s", "90"] if name == "snap" else []), whole, home / f"{name}.pcapng", *words], home)
        out.append((name, home / f"{name}.pcapng", ["-d", "tcp.port==4711,iwarp"]))
    return [("whole", whole, []), ("swapped", home / "swapped.pcapng", []), *out]


def check_many(perf, home):
    for name, capture, options in make(perf, home):
        command = ["tshark", "-n", "-r", capture, "-V", "-O", "iwarp", *options]
        once, twice, filtered = (by_frame(tree(run([*command, *more], home)))
                                 for more in ((), ("-2",), ("-2", "-Y", "iwarp")))
        expect(f"{name}: the plugin shows too little", len(once) > 20 * CONNECTIONS, len(once))
        expect(f"{name}: two passes show something else than one", first_pass(once) == first_pass(twice))
        expect(f"{name}: a filter changes what is shown", twice == filtered)


def check_halves(home):
    """rping with all packets of the initiator before those of the responder: its FPDUs are understood once the Reply has
    come, and link to that frame."""
    ping = PCAPS / "siw/siw-rping-64B-crcon.pcap"
    ends = run(["tshark", "-n", "-r", ping, "-T", "fields", "-e", "ip.src"], home).split()
    halves = [home / "initiator.pcap", home / "responder.pcap"]
    for half, other in zip(halves, (True, False)):
        run(["editcap", ping, half, *(str(n) for n, end in enumerate(ends, 1) if (end != ends[0]) == other)], home)
    both = home / "halves.pcap"
    run(["mergecap", "-a", "-w", both, *halves], home)
    command = ["tshark", "-n", "-2", "-r", both, "-T", "fields"]
    reply = run([*command, "-e", "frame.number", "-Y", "iwarp.mpa.reply"], home).strip()
    links = run([*command, "-e", "iwarp.completed_in", "-Y", "iwarp.completed_in"], home).split()
    expect("halves: FPDUs that came before the Reply", links == 15 * [reply], (reply, links))


def check_fragments(home):
    """TCP does not know the length of an IP fragment and leaves its sequence numbers as they are; the plugin shows the same."""
    ping = (PCAPS / "siw/siw-rping-64B-crcon.pcap").read_bytes()
    marked, at, number = bytearray(ping), 24, 0
    while at < len(ping):
        number += 1
        if number > 6 and number % 3 == 0:  # after the start-up, some
            marked[at + 16 + 14 + 6] |= 0x20  # after pcap's and Ethernet's header, MF
        at += 16 + int.from_bytes(ping[at + 8:at + 12], "little")
    shown = []
    for name, octets in (("unmarked", ping), ("marked", marked)):
        (home / f"{name}.pcap").write_bytes(octets)
        shown.append(by_frame(tree(run(["tshark", "-n", "-2", "-r", home / f"{name}.pcap", "-V", "-O", "iwarp", "-o",
                                        "ip.defragment:FALSE"], home))))
    expect("fragments: something else is shown", shown[0] == shown[1] and len(shown[0]) > 20, shown)


def check_base(home):
    """A SYN where another segment ended makes that one's next number 0 in a second pass; cut off, it counts as a fragment."""
    ping = (PCAPS / "siw/siw-rping-64B-crcon.pcap").read_bytes()
    syn, at = bytearray(ping), 24
    for _ in range(32):
        at += 16 + int.from_bytes(ping[at + 8:at + 12], "little")
    syn[at + 16 + 14 + 20 + 13] |= 0x02  # of frame 33; 31 ends where it begins
    (home / "syn.pcap").write_bytes(syn)
    run(["editcap", "-F", "pcap", "-s", "110", home / "syn.pcap", home / "cut.pcap"], home)
    shown = [by_frame(tree(run(["tshark", "-n", "-r", home / "cut.pcap", "-V", "-O", "iwarp", *passes], home)))
             for passes in ((), ("-2",))]
    expect("base: a second pass shows something else", first_pass(shown[0]) == first_pass(shown[1]) and "Frame 31" in shown[1],
           shown)


class Sharkd:
    def __init__(self, home):
        drop = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        env = {"PATH": os.environ["PATH"], "HOME": str(home), "WIRESHARK_PLUGIN_DIR": str(home / "plugins")}
        self.process = subprocess.Popen(["sharkd", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, env=env, cwd=home, encoding="utf-8", **drop)

    def ask(self, method, **params):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.strip():
                return json.loads(line)["result"]
        raise SystemExit("sharkd ended")

    def show(self, capture):
        """Returns the list and the frames' trees, the last first, that it shows for a file."""
        self.ask("load", file=str(capture))
        shown = self.ask("frames", filter="iwarp")
        return [shown] + [self.ask("frame", frame=row["num"], proto=True)["tree"][4:] for row in reversed(shown)]

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def check_reload(home):
    """The captures have connections between the same addresses and ports."""
    captures = [home / "golden" / name for name in ("operations/rev2-crc-markers.pcapng", "tcp/out-of-order-markers.pcapng",
                                                     "violations/ddp-msn-gap-broken.pcapng", "tcp/snap-length-crc.pcapng")]
    sharkd = Sharkd(home)
    first = {capture: sharkd.show(capture) for capture in captures}
    for capture in (*captures, *reversed(captures)):
        expect(f"{capture.name}, opened again: something else is shown", sharkd.show(capture) == first[capture])
    expect("sharkd shows too little", all(len(shown) > 5 for shown in first.values()))
    sharkd.end()


def main(plugins, version, lint):
    perf = pathlib.Path(lint).resolve().with_name("iwarp-perf")
    with home_of(plugins, version, 0o777) as home:
        shutil.copytree(PCAPS / "golden", home / "golden")
        check_many(perf, home)
        check_halves(home)
        check_fragments(home)
        check_base(home)
        if shutil.which("sharkd"):
            check_reload(home)
    harness.conclude()


if __name__ == "__main__":
    harness.start(main, __doc__)
