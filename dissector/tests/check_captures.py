# SPDX-License-Identifier: GPL-2.0-or-later
"""The plugin in tshark, over every capture of pcaps/.

usage: check_captures.py PLUGINS VERSION LINT [--update]

PLUGINS is the build's folder of plugins (VERSION/epan/iwarp.so lies in it), LINT is iwarp-lint. For each capture:
the plugin's part of `tshark -2 -V` is the committed text in expected/; the findings are those of iwarp-lint, at the
same octets; one pass gives the same but for what only a second can know, and the findings are the same when TCP puts
segments in order first. --update writes the texts instead; a capture without a text is reported, but is no failure.
"""

import contextlib
import difflib
import functools
import hashlib
import os
import pathlib
import re
import shutil
import struct
import tempfile

import harness

HERE = pathlib.Path(__file__).resolve().parent
PCAPS = HERE.parent.parent / "pcaps"
EXPECTED = HERE / "expected"
NOBODY = 65534  # Wireshark looks for no plugins but the system's when it is run by root
WHOLE = 16_000  # characters of a text that are committed; the rest becomes a digest

GROUP = 100  # captures that are read as one

# Fields that name a frame.
FRAME = re.compile(r"^( *\[[^\]:]*frame: )(\d+)\]$")
# Fields that depend on later frames: only the second pass knows them.
LATER = re.compile(r"^ *\[(Completed in frame|Reassembled in frame|Not put together|Response in frame|Reply in frame|STag last used in frame|"
                   r"STag invalidated in frame|Segments and requests with it|Lowest TO used|Highest TO used): ")
# Differences between versions of Wireshark: 4.4 shows more octets, 4.6 times in other units.
VOLATILE = re.compile(r"^ *\[(Severity level|Group|Message): ")
OCTETS = re.compile(r"^( *[^:]*?)(?: \[…\])?: ([0-9a-f]{72})(?:[0-9a-f]+…?|…)$")
SMALL = re.compile(r"(\d+\.\d+) (milli|micro|nano)seconds\]$")


def lent(word, home):
    """Returns the word, or a copy of the capture that it names: NOBODY may not reach a source tree in a private folder."""
    if not str(word).startswith(f"{PCAPS}/"):
        return word
    copy = home / "lent" / pathlib.Path(word).relative_to(PCAPS)
    if not copy.exists():
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(word, copy)
        copy.chmod(0o644)
    return copy


def run(command, home):
    drop = {}
    if os.geteuid() == 0:
        drop = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        command = [lent(word, home) for word in command]
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "WIRESHARK_PLUGIN_DIR": str(home / "plugins"),
           "LC_ALL": "C.UTF-8"}
    if command[0] == "tshark" and os.environ.get("IW_PRELOAD"):
        # The plugin is built with sanitizers: their library has to come first. tshark's statistics and exports
        # leak, and the programs with which it looks for interfaces do not start.
        env |= {"LD_PRELOAD": os.environ["IW_PRELOAD"], "UBSAN_OPTIONS": "print_stacktrace=1",
                "ASAN_OPTIONS": f"detect_leaks={int('-q' not in command)}", "WIRESHARK_EXTCAP_DIR": "/nonexistent"}
    return harness.run(*command, env=env, cwd=home, encoding="utf-8", timeout=300, **drop).stdout


@contextlib.contextmanager
def home_of(plugins, version, mode=0o755):
    """A folder with the plugin, that NOBODY may read."""
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder)
        home.chmod(mode)
        shutil.copytree(pathlib.Path(plugins, version), home / "plugins" / version)
        yield home


def tree(text):
    """The plugin's part of what -V printed: each frame's number, and what is below "iWARP" lines."""
    out, ours, number = [], False, None
    for line in text.splitlines():
        if not line.startswith((" ", "\t")):
            ours = line.startswith("iWARP (")
            frame = re.match(r"Frame (\d+):", line)
            number = int(frame[1]) if frame else number
            if ours and (not out or out[-1] != ""):
                out.append("")
                out.append(f"Frame {number}")
        if ours and line and not VOLATILE.match(line):
            out.append(plain(line.rstrip()))
    return out


def plain(line):
    """As Wireshark 4.0 shows it."""
    if SMALL.search(line):
        line = SMALL.sub(lambda m: f"{float(m[1]) / {'milli': 1e3, 'micro': 1e6, 'nano': 1e9}[m[2]]:.9f} seconds]", line)
    return OCTETS.sub(r"\1: \2…", line) if len(line) > 76 else line


def by_frame(lines):
    """One heading for each frame, one empty line between frames."""
    out, last = [], None
    for line in lines:
        if line == "":
            continue
        if re.match(r"Frame \d+$", line):
            if line == last:
                continue
            last = line
            if out:
                out.append("")
        out.append(line)
    return out


def shorten(lines):
    """Returns the committed form of a long text: its beginning and a digest of all."""
    text = "\n".join(lines) + "\n"
    if len(text) <= WHOLE:
        return lines
    cut = text[:WHOLE].count("\n")
    return lines[:cut] + ["", f"and {len(lines) - cut} lines more, {len(text)} characters in all, SHA-256 "
                          + hashlib.sha256(text.encode()).hexdigest()]


def first_pass(lines):
    """Returns what one pass can show: no links to later frames, and nothing that depends on the end of the capture."""
    out, ended = [], False
    for line in lines:
        if line.startswith("Frame "):
            ended = False
        ended = ended or line == "iWARP (MPA, DDP, RDMAP), understood at the end of the capture only:"
        if line and not ended and not LATER.match(line):
            out.append(line)
    return [line for line, following in zip(out, out[1:] + [""])
            if not line.startswith("Frame ") or following and not following.startswith("Frame ")]


def values(finding):
    """Returns what was found and what was expected, which differ; twice -1 where there are no such values."""
    got, want = (int(finding.get(name, "-1"), 16) for name in ("got", "want"))
    if (got == want) != ("got" not in finding and "want" not in finding):
        raise ValueError(f"{finding}: found and expected are the same, or one of them is missing")
    return got, want


def findings_of_tree(lines):
    names = {"Check": "check", "At stream octet": "octet", "That octet is in frame": "frame", "Sender at fault": "side",
             "Found": "got", "Expected": "want", "Rule": "rule"}
    found, current = [], None
    for line in lines:
        field = re.match(r" *\[([^:\]]+): (.*)\]$", line)
        if field and field[1] == "Rule":
            current = {}
            found.append(current)
        if field and current is not None and field[1] in names:
            current[names[field[1]]] = field[2]
    return sorted((int(f["frame"]), f["side"].split()[0], int(f["octet"]), f["rule"], f["check"], *values(f)) for f in found)


def findings_of_lint(lint, capture, *options):
    rows = harness.lines_of(harness.run(lint, "--json", *options, capture, status=None, encoding="utf-8", timeout=300).stdout)
    return sorted((r["frame"], r["side"], r["octet"], r["rule"], r["check"], *values(r)) for r in rows if r["type"] == "finding")


def differences(name, want, got, labels):
    return [f"{name}: " + line for line in difflib.unified_diff(want, got, *labels, lineterm="", n=2)][:40]


def frames(capture):
    """Counts the packets of a pcapng file."""
    data, at, count, order = capture.read_bytes(), 0, 0, "<"
    while at < len(data):
        kind = data[at:at + 4]
        if kind == b"\x0a\x0d\x0d\x0a":
            order = "<" if data[at + 8:at + 12] == b"\x4d\x3c\x2b\x1a" else ">"
        count += struct.unpack(order + "I", kind)[0] in (2, 3, 6)
        at += struct.unpack(order + "I", data[at + 4:at + 8])[0]
    return count


def split(lines, captures, counts):
    """Returns the text of each capture of a file that concatenates them."""
    texts, first, k = {c: [] for c in captures}, 0, 0
    for line in lines:
        heading = re.match(r"Frame (\d+)$", line)
        while heading and int(heading[1]) > first + counts[k]:
            first += counts[k]
            k += 1
        if heading:
            line = f"Frame {int(heading[1]) - first}"
        else:
            line = FRAME.sub(lambda m, first=first: f"{m[1]}{int(m[2]) - first}]", line)
        texts[captures[k]].append(line)
    for text in texts.values():
        while text and text[-1] == "":
            text.pop()
    return texts


def show(file, captures, counts, home, *options):
    command = ["tshark", "-n", "-r", file, "-V", "-O", "iwarp", *options]
    return split(by_frame(tree(run(command, home))), captures, counts)


def check_group(number, captures, home, lint, update):
    """Captures of one kind of file: pcapng files can be concatenated and read as one, which is
    much faster than starting tshark for each."""
    file = home / "captures" / f"{number}{captures[0].suffix}"
    file.write_bytes(b"".join(c.read_bytes() for c in captures))
    counts = [frames(c) for c in captures] if len(captures) > 1 else [1 << 32]
    twice = show(file, captures, counts, home, "-2")
    once = show(file, captures, counts, home)
    ordered = show(file, captures, counts, home, "-2", "-o", "tcp.reassemble_out_of_order:TRUE")
    return [line for c in captures for line in check(c, twice[c], once[c], ordered[c], lint, update)]


def check(capture, twice, once, ordered, lint, update):
    name = str(capture.relative_to(PCAPS))
    linted = [str(f) for f in findings_of_lint(lint, capture)]
    wrong = differences(name, linted, [str(f) for f in findings_of_tree(twice)], ("iwarp-lint", "plugin"))
    wrong += differences(name, first_pass(twice), first_pass(once), ("two passes", "one pass"))
    wrong += differences(name, linted, [str(f) for f in findings_of_tree(ordered)], ("iwarp-lint", "in order"))
    file = EXPECTED / (name + ".txt")
    text = shorten(twice)
    if update:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(line + "\n" for line in text), encoding="utf-8")
    elif not file.exists():
        wrong.append(f"{name}: no {file.relative_to(HERE)} yet: look at what the plugin shows, and run this with --update")
    else:
        wrong += differences(name, file.read_text(encoding="utf-8").splitlines(), text, ("expected", "shown"))
    return wrong


def main(plugins, version, lint, update=""):
    lint = os.path.abspath(lint)
    captures = sorted(p for p in PCAPS.rglob("*") if p.suffix in (".pcap", ".pcapng"))
    chains = [c for c in captures if c.suffix == ".pcapng"]
    groups = [[c] for c in captures if c.suffix == ".pcap"] + [chains[k:k + GROUP] for k in range(0, len(chains), GROUP)]
    with home_of(plugins, version) as home:
        (home / "captures").mkdir()
        if "iwarp.so" not in run(["tshark", "-G", "plugins"], home):
            raise SystemExit("tshark does not load the plugin")
        calls = [functools.partial(check_group, k, group, home, lint, update == "--update") for k, group in enumerate(groups)]
        found = harness.side_by_side(calls, 2)
    harness.complain(*(line for wrong in found for line in wrong))
    harness.expect("captures", captures, "none")
    texts = {p.relative_to(EXPECTED).as_posix() for p in EXPECTED.rglob("*.txt")}
    gone = texts - {c.relative_to(PCAPS).as_posix() + ".txt" for c in captures}
    harness.complain(*(f"expected/{name}: there is no such capture any more" for name in sorted(gone)))
    harness.conclude(f"{len(captures)} captures: good")


if __name__ == "__main__":
    harness.start(main, __doc__)
