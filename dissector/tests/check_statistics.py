# SPDX-License-Identifier: GPL-2.0-or-later
"""The plugin's statistics in tshark.

usage: check_statistics.py PLUGINS VERSION LINT [--update]

What each statistic prints is the committed text in statistics/. Over all captures, what the table of connections says
is what iwarp-lint says, and the percentiles are those of the response times that the tree shows. --update writes the
texts instead.
"""

import functools
import math
import os
import pathlib

import harness
from check_captures import PCAPS, differences, home_of, run

TEXTS = pathlib.Path(__file__).resolve().parent / "statistics"
READS = "siw/siw-ib_read_bw-32K-crcon.pcap"
PING = "siw/siw-rping-64B-crcon.pcap"
VIOLATIONS = ("golden/violations/ddp-msn-gap-broken.pcapng", "golden/violations/mpa-crc-broken.pcapng",
              "golden/violations/mpa-pad-broken.pcapng", "golden/terminates/0-1-01.pcapng")
STARTUPS = ("golden/startup/rtr-read.pcapng", "golden/startup/reject.pcapng", "golden/startup/depths-open.pcapng",
            "golden/operations/rev0.pcapng", "golden/operations/rev1-nocrc-imarkers.pcapng",
            "golden/operations/rev2-plain-crc-rmarkers.pcapng", "golden/terminates/0-1-01.pcapng")
# Each text: the captures, concatenated, and the options.
RUNS = {
    "messages": ((READS,), ("-z", "iwarp,messages")),
    "messages-filtered": ((READS,), ("-z", "iwarp,messages,tcp.stream == 0")),
    "times": ((READS,), ("-z", "iwarp,times")),
    "srt": ((READS,), ("-z", "iwarp,srt")),
    "tree": ((READS,), ("-z", "iwarp,tree")),
    "conversations": ((READS,), ("-z", "conv,iwarp")),
    "endpoints": ((READS,), ("-z", "endpoints,iwarp")),
    "atomics": (("golden/operations/rev2-crc-markers.pcapng",), ("-z", "iwarp,times", "-z", "iwarp,messages", "-z", "iwarp,srt")),
    "connections": (STARTUPS, ("-z", "iwarp,connections")),
    "findings": (VIOLATIONS, ("-z", "iwarp,findings")),
    "flow": ((PING,), ("-z", "flow,iwarp,standard")),
    "flow-terminate": (("golden/terminates/0-1-01.pcapng",), ("-z", "flow,iwarp,network")),
    "flow-finding": (("golden/violations/ddp-msn-gap-broken.pcapng",), ("-z", "flow,iwarp,standard")),
    "graph": ((READS,), ("-z", "io,stat,0.1,AVG(iwarp.response_time)iwarp.response_time,"
                         "MAX(iwarp.outstanding)iwarp.outstanding,SUM(iwarp.message.length)iwarp.message.length")),
    "expert": (VIOLATIONS, ("-z", "expert")),
}


def expect(what, want, got):
    harness.equal(what, got, want)


def join(home, name, captures):
    """Concatenates files of one kind into one."""
    file = home / (name + pathlib.Path(captures[0]).suffix)
    file.write_bytes(b"".join((PCAPS / c).read_bytes() for c in captures))
    return file


def table(text):
    """The rows of one of the plugin's tables, as dictionaries of its columns."""
    lines = text.splitlines()
    head = next(k for k, line in enumerate(lines) if line.endswith("|"))
    names = [name.strip() for name in lines[head].split("|")[:-1]]
    return [dict(zip(names, map(str.strip, line.split("|")))) for line in lines[head + 1:] if line.endswith("|")]


def check_text(home, name, update):
    captures, options = RUNS[name]
    text = run(["tshark", "-n", "-q", "-r", join(home, name, captures), *options], home).splitlines()
    file = TEXTS / (name + ".txt")
    if update:
        TEXTS.mkdir(exist_ok=True)
        file.write_text("".join(line.rstrip() + "\n" for line in text), encoding="utf-8")
        return
    harness.complain(*differences(name, file.read_text(encoding="utf-8").splitlines(), [line.rstrip() for line in text], ("expected", "shown")))


def of_side(connection, side):
    s = connection[side]
    kinds = s["messages"].values()
    depths = f"{s['ird']}/{s['ord']}".replace("16383", "ULP") if "ird" in s else "-"
    return (depths, sum(k["messages"] for k in kinds),
            sum(k["octets"] for k in kinds), s["reads"]["outstanding"], s["findings"])


def from_lint(lint, file):
    """Returns iwarp-lint's summary of each connection, in the table's words."""
    rows = harness.lines_of(harness.run(lint, "--json", "--summary", file, status=None, encoding="utf-8", timeout=300).stdout)
    out = {}
    for c in (r for r in rows if r["type"] == "connection" and r.get("agreed")):
        agreed = c["agreed"]
        markers = {(0, 0): "none", (1, 0): "initiator", (0, 1): "responder", (1, 1): "both"}
        (depths_i, n_i, octets_i, out_i, found_i) = of_side(c, "initiator")
        (depths_r, n_r, octets_r, out_r, found_r) = of_side(c, "responder")
        out[c["initiator_address"]] = (
            str(agreed["revision"]), "on" if agreed["crc"] else "off",
            markers[agreed["initiator_markers"], agreed["responder_markers"]], depths_i, depths_r, n_i, n_r, octets_i,
            octets_r, max(out_i, out_r), found_i + found_r)
    return out


def from_table(text):
    return {r["Initiator"]: (r["Rev"], r["CRC"], r["Markers"], r["I: IRD/ORD"], r["R: IRD/ORD"],
                             int(r["I: messages"]), int(r["R: messages"]), int(r["I: octets"]), int(r["R: octets"]),
                             int(r["Outstanding"]), int(r["Findings"])) for r in table(text)}


def check_connections(home, lint, name, captures):
    file = join(home, name, captures)
    shown = from_table(run(["tshark", "-n", "-2", "-q", "-r", file, "-z", "iwarp,connections"], home))
    linted = from_lint(lint, file)
    for address, row in linted.items():
        got = shown.get(address, ())
        if row[-1]: # of segments at fault, what counts as their messages differs
            row, got = row[:3] + row[-1:], got[:3] + got[-1:]
        expect(f"{name}: connection of {address}", row, got)
    expect(f"{name}: connections", True, len(linted) > len(captures) // 2)


def check_lost_responses(home):
    """rping without two of its five Read Responses, all of one STag and TO: the others must answer the same requests,
    after the same times, though they wait for octets that never come."""
    whole = PCAPS / PING
    lost = home / "lost.pcap"
    run(["editcap", whole, lost, "10", "31"], home)
    fields = ["-Y", "iwarp.response_time", "-T", "fields", "-e", "iwarp.response_time"]
    times = [run(["tshark", "-n", "-2", "-r", file, *fields], home).replace(",", "\n").split() for file in (whole, lost)]
    expect("times of the responses that are left", [times[0][k] for k in (1, 3, 4)], times[1])


def check_percentiles(home):
    file = join(home, "times", (READS,))
    listed = run(["tshark", "-n", "-r", file, "-Y", "iwarp.response_time", "-T", "fields", "-e", "iwarp.response_time"],
                 home)
    times = sorted(round(float(t) * 1e6, 3) for line in listed.split() for t in line.split(","))
    rows = table(run(["tshark", "-n", "-q", "-r", file, "-z", "iwarp,times"], home))
    row = next(r for r in rows if r["Request"] == "RDMA Read")
    want = {"Count": float(len(times)), "Minimum (us)": times[0], "Maximum": times[-1],
            "Average": round(sum(times) / len(times), 3)}
    for column, share in (("Median", 0.5), ("90 %", 0.9), ("99 %", 0.99), ("99.9 %", 0.999)):
        want[column] = times[math.ceil(share * len(times)) - 1]
    expect("percentiles", want, {k: float(row[k]) for k in want})


def main(plugins, version, lint, update=""):
    lint = os.path.abspath(lint)
    with home_of(plugins, version, 0o777) as home:
        golden = sorted(p.relative_to(PCAPS) for p in (PCAPS / "golden").rglob("*.pcapng"))
        jobs = [functools.partial(check_text, home, name, update == "--update") for name in RUNS]
        jobs += [functools.partial(check_percentiles, home), functools.partial(check_lost_responses, home),
                 functools.partial(check_connections, home, lint, "golden", golden)]
        jobs += [functools.partial(check_connections, home, lint, p.stem, (p,)) for p in sorted(PCAPS.glob("siw/*.pcap"))]
        harness.side_by_side(jobs, 2)
    harness.conclude()


if __name__ == "__main__":
    harness.start(main, __doc__)
