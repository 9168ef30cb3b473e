# SPDX-License-Identifier: BSD-3-Clause
"""check_tshark.py LINT TSHARK MERGECAP [--write]: for every capture, recorded or synthetic, the messages that the observer
lists (iwarp-lint --messages) against those of Wireshark's built-in dissector. Each difference has a line in tshark.csv,
which says by a key of tshark-why.csv whose it is and why; a line without a difference is one too many. A line whose counts
are * stands for all directions of the files that match it and for any number: captures that lack octets. --write renews
the counts in tshark.csv and leaves the key of a new line empty."""
import csv
import difflib
import fnmatch
import json
import os
import re
import sys
import tempfile

import golden
import harness

VERSION = "4.0."  # of tshark, that the lists were made with
WHOSE = ("theirs", "ours", "scope")
OPCODES = ("write", "read-request", "read-response", "send", "send-invalidate", "send-se", "send-se-invalidate", "terminate",
           "immediate", "immediate-se", "atomic-request", "atomic-response")


def number(text):
    return int(text, 0)


def name(opcode):
    return OPCODES[opcode] if opcode < len(OPCODES) else f"opcode-{opcode:x}"


# ---- theirs ----

def fields_of(tree, out):
    """All fields below a layer, the first value of each."""
    for key, value in tree:
        if isinstance(value, list):
            fields_of(value, out)
        elif key.startswith("iwarp_"):
            out.setdefault(key, value)
    return out


def segment(f):
    """The message that this segment ends, as a text; None if it ends none."""
    if "iwarp_rdma.opcode" not in f or f.get("iwarp_ddp.last_flag") != "1":
        return None
    opcode = number(f["iwarp_rdma.opcode"])
    if opcode == 7:
        codes = [next((number(v) for k, v in f.items() if k.startswith("iwarp_rdma.term_" + x)), 0) for x in ("layer", "etype", "errcode")]
        return "terminate {:x}/{:x}/{:02x}".format(*codes)
    if f["iwarp_ddp.tagged_flag"] == "1":
        names = ("stag", "iwarp_ddp.stag", "08x"), ("to", "iwarp_ddp.tagged_offset", "x")
    else:
        names = ("msn", "iwarp_ddp.msn", "d"), ("mo", "iwarp_ddp.mo", "d")
    return name(opcode) + "".join(f" {word} {format(number(f[field]), how)}" for word, field, how in names if field in f)


def layers(tree):
    """Texts of the layers of one frame in their order."""
    for key, value in tree:
        if key == "iwarp_ddp_rdmap" and isinstance(value, list):
            text = segment(fields_of(value, {}))
            if text:
                yield text
        elif key == "iwarp_mpa" and isinstance(value, list):
            f = fields_of(value, {})
            for which, field in ("request", "iwarp_mpa.key.req"), ("reply", "iwarp_mpa.key.rep"):
                if field in f:
                    yield f'mpa {which} rev {number(f["iwarp_mpa.rev"])}'


def value(tree, *path):
    for key in path:
        tree = next(v for k, v in tree if k == key)
    return tree


def theirs(tshark, mergecap, paths, counts):
    """By file and sender, what tshark lists. One run for all files."""
    with tempfile.TemporaryDirectory() as folder:
        merged = os.path.join(folder, "all.pcapng")
        harness.run(mergecap, "-a", "-w", merged, *paths)
        # The ports are some other protocol's in some version of tshark; only iWARP is wanted here.
        done = harness.run(tshark, "-n", "-r", merged, "-o", "tcp.try_heuristic_first:TRUE", "-o", "tcp.reassemble_out_of_order:TRUE",
                           "-T", "json", "-J", "frame ip ipv6 tcp iwarp_mpa iwarp_ddp_rdmap", text=False)
    frames = json.loads(done.stdout, object_pairs_hook=list)
    listed, at = {}, 0
    for path, count in zip(paths, counts):
        by_sender = listed.setdefault(path, {})
        for frame in frames[at:at + count]:
            tree = value(frame, "_source", "layers")
            ip = [(k, v) for k, v in tree if k in ("ip", "ipv6")]
            if not ip or not any(k == "tcp" for k, _ in tree):
                continue
            address = value(ip[0][1], ip[0][0] + ".src")
            sender = f'{address}:{value(tree, "tcp", "tcp.srcport")}'
            by_sender.setdefault(sender, []).extend(layers(tree))
        at += count
    if at != len(frames):
        sys.exit(f"tshark shows {len(frames)} frames, not {at}")
    return listed


# ---- ours ----

def message(text):
    """Returns iwarp-lint's line, without the parts that only one of the two shows."""
    words = text.split()
    if words[0] == "mpa":
        return f"mpa {words[1]} rev {words[3]}"
    if words[0] == "terminate":
        return "terminate " + next((w for w in words if w.count("/") == 2), "?")
    kind, f = words[0], dict(zip(words[1:], words[2:]))
    if "stag" in f and "to" in f and "msn" not in f:
        return f'{kind} stag {f["stag"]} to {f["to"]}'
    return f'{kind} msn {f.get("msn", "?")} mo {f.get("mo", "0")}'


def ours(lint, path, options):
    by_sender, frames = {}, 0
    for line in golden.lint(lint, path, "--messages", "--no-quirks", *options):
        if line["type"] == "message" and line["text"] not in ("fin", "reset"):
            by_sender.setdefault(line["from"].replace("[", "").replace("]", ""), []).append(message(line["text"]))
        frames = line.get("frames", frames)
    return by_sender, frames


# ---- both ----

def difference(mine, yours):
    """How many of ours they lack, and of theirs we lack; and the first of each."""
    lacking, more = [], []
    for op, a, b, c, d in difflib.SequenceMatcher(None, mine, yours, autojunk=False).get_opcodes():
        if op != "equal":
            lacking += mine[a:b]
            more += yours[c:d]
    return lacking, more


def captures():
    recorded = harness.load(golden.PCAPS, "manifest.json")["captures"]
    return [(c["file"], []) for c in recorded] + [("golden/" + c["file"], c.get("lint", [])) for c in golden.manifest()["captures"]]


def differences(lint, tshark, mergecap):
    """By (file, sender) that both do not list the same for: messages that they lack, and more that they have."""
    found, paths, counts, mine = {}, [], [], {}
    for file, options in captures():
        path = os.path.join(golden.PCAPS, file)
        mine[path], frames = ours(lint, path, options)
        paths.append(path)
        counts.append(frames)
    for path, yours in theirs(tshark, mergecap, paths, counts).items():
        for sender in sorted({*mine[path], *yours}):
            lacking, more = difference(mine[path].get(sender, []), yours.get(sender, []))
            if lacking or more:
                found[os.path.relpath(path, golden.PCAPS), sender] = (lacking, more)
    return found


COLUMNS = ["file", "sender", "lacking", "more", "why"]


def table(*path):
    with open(os.path.join(golden.PCAPS, *path), encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f))


def write(found, known):
    with open(os.path.join(golden.PCAPS, "tshark.csv"), "w", encoding="utf-8", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(COLUMNS)
        out.writerows([r[c] for c in COLUMNS] for _, r in sorted(known.items()) if r["lacking"] == "*")
        for (file, sender), (lacking, more) in sorted(found.items()):
            out.writerow([file, sender, len(lacking), len(more), known.get((file, sender), {}).get("why", "")])


def main(lint, tshark, mergecap, how=None):
    shown = harness.run(tshark, "--version").stdout
    if not re.search(r"TShark \(Wireshark\) " + re.escape(VERSION), shown):
        harness.skip(f"the list is that of tshark {VERSION}x, this is {shown.splitlines()[0]}")
    known = {(r["file"], r["sender"]): r for r in table("tshark.csv")}
    anything = [r["file"] for r in known.values() if r["lacking"] == "*"]
    found = {k: v for k, v in differences(lint, tshark, mergecap).items() if not any(fnmatch.fnmatch(k[0], a) for a in anything)}
    why = {r["key"]: r for r in table("tshark-why.csv")}
    if how == "--write":
        write(found, known)
        for (file, sender), (lacking, more) in sorted(found.items()):
            if not known.get((file, sender), {}).get("why"):
                print(f"{file} {sender}:\n  lacking {lacking[:4]}\n  more {more[:4]}")
        return 0
    harness.complain(*(f'tshark-why.csv: {k}: expected one of {", ".join(WHOSE)} and a text' for k, r in why.items()
                       if r["whose"] not in WHOSE or not r["text"]))
    harness.complain(*(f"tshark-why.csv: {k}: nothing has this reason" for k in why if k not in {r["why"] for r in known.values()}))
    for key in sorted({*found, *(k for k, r in known.items() if r["lacking"] != "*")}):
        got = tuple(str(len(x)) for x in found.get(key, ([], [])))
        row = known.get(key)
        if not row or got != (row["lacking"], row["more"]):
            want = f'{row["lacking"]} and {row["more"]}' if row else "no difference"
            harness.complain(f'{" ".join(key)}: they lack {got[0]} and have {got[1]} more, expected {want}: {found.get(key)}')
        elif row["why"] not in why:
            harness.complain(f'{" ".join(key)}: tshark.csv does not say why')
    harness.conclude(f"{len(captures())} captures, {len(found)} directions differ, all explained")


if __name__ == "__main__":
    harness.start(main, __doc__)
