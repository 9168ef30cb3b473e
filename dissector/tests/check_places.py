# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the plugin's fields stand: at which octets of the line above them, how many octets each.

usage: check_places.py PLUGINS VERSION LINT [--update]

That is not in the text that tshark prints, but Wireshark marks these octets. Over all captures of pcaps/golden, the
places of every field are the committed text places.txt: in the order of their appearance, of many the first few and a
digest of all. --update writes the text instead.
"""

import hashlib
import xml.etree.ElementTree as ET

import harness
from check_captures import HERE, PCAPS, differences, home_of, run

TEXT = HERE / "places.txt"
FEW = 6


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
    if len(places) <= FEW:
        return text
    return f"{text} and {len(places) - FEW} more, SHA-256 {hashlib.sha256(' '.join(places).encode()).hexdigest()}"


def main(plugins, version, _lint="", update=""):
    found = {}
    with home_of(plugins, version) as home:
        file = home / "golden.pcapng"
        file.write_bytes(b"".join(c.read_bytes() for c in sorted((PCAPS / "golden").rglob("*.pcapng"))))
        shown = run(["tshark", "-n", "-2", "-r", file, "-T", "pdml", "-J", "iwarp"], home)
    for line in ET.fromstring(shown.encode()).iter("proto"):
        if line.get("name") == "iwarp":
            collect(line, found)
    lines = [print_places(field, list(places)) for field, places in sorted(found.items())]
    if update:
        TEXT.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    harness.complain(*differences("places", TEXT.read_text(encoding="utf-8").splitlines(), lines, ("expected", "shown")))
    harness.conclude(f"{len(lines)} fields: good")


if __name__ == "__main__":
    harness.start(main, __doc__)
