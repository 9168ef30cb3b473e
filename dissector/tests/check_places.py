# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tree in tshark's text does not show: at which octets the plugin's fields stand, and the columns.

usage: check_places.py PLUGINS VERSION LINT [--update]

Over all captures of pcaps/golden, read as one:

places.txt: where every field stands, from the beginning of the line above it, and how many octets it has, which
Wireshark marks; in the order of their appearance, of many the first few and a digest of all.
columns.txt: each packet's line in the list of packets, with # for numbers, how often; and a digest of all lines.

--update writes the texts instead.
"""

import collections
import functools
import hashlib
import re
import xml.etree.ElementTree as ET

import harness
from check_captures import HERE, PCAPS, differences, home_of, run

FEW = 6


def digest(lines):
    return "SHA-256 " + hashlib.sha256("\n".join(lines).encode()).hexdigest()


def collect(line, found):
    """Adds the places of the fields below a line, each with how far it is from the line's beginning."""
    for field in line:
        name = field.get("name") or ""
        if name.startswith("iwarp") and line.get("name") != "_ws.expert":
            place = f"{int(field.get('pos')) - int(line.get('pos'))}:{field.get('size')}"
            found.setdefault(f"{name} in {line.get('name')}", {})[place] = None
        collect(field, found)


def print_places(field, places):
    """One line for a field."""
    text = f"{field} at {' '.join(places[:FEW])}"
    return text if len(places) <= FEW else f"{text} and {len(places) - FEW} more, {digest(places)}"


def show_places(file, home):
    shown, found = run(["tshark", "-n", "-2", "-r", file, "-T", "pdml", "-J", "iwarp"], home), {}
    for line in ET.fromstring(shown.encode()).iter("proto"):
        if line.get("name") == "iwarp":
            collect(line, found)
    return [print_places(field, list(places)) for field, places in sorted(found.items())]


def show_columns(file, home):
    shown = run(["tshark", "-n", "-2", "-r", file, "-o", 'gui.column.format:"Protocol","%p","Info","%i"'], home)
    lines = [line.strip() for line in shown.splitlines() if line.strip().startswith("iWARP")]
    kinds = collections.Counter(re.sub(r"[0-9a-f]*\d[0-9a-f]*", "#", line) for line in lines)
    return [f"{count} {kind}" for kind, count in sorted(kinds.items())] + [digest(lines)]


def main(plugins, version, _lint="", update=""):
    with home_of(plugins, version) as home:
        file = home / "golden.pcapng"
        file.write_bytes(b"".join(c.read_bytes() for c in sorted((PCAPS / "golden").rglob("*.pcapng"))))
        shown = harness.side_by_side([functools.partial(show, file, home) for show in (show_places, show_columns)], 2)
    for name, lines in zip(("places", "columns"), shown):
        text = HERE / f"{name}.txt"
        if update:
            text.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        harness.complain(*differences(name, text.read_text(encoding="utf-8").splitlines(), lines, ("expected", "shown")))
    harness.conclude(f"{len(shown[0])} fields, {len(shown[1]) - 1} kinds of lines: good")


if __name__ == "__main__":
    harness.start(main, __doc__)
