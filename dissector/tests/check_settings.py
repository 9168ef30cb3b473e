# SPDX-License-Identifier: GPL-2.0-or-later
"""Ports that others own, Decode As, preferences, filters, statistics, the commands of README.md.

usage: check_settings.py PLUGINS VERSION
"""

import pathlib
import re
import shlex
import shutil
import struct

import harness
from check_captures import PCAPS, home_of, run
from harness import expect

OPERATIONS = PCAPS / "golden/operations/rev2-crc-markers.pcapng"
TERMINATE = PCAPS / "golden/terminates/0-1-01.pcapng"
BAD = PCAPS / "golden/violations/ddp-msn-gap-broken.pcapng"
WRONG_CRC = PCAPS / "golden/violations/mpa-crc-broken.pcapng"
PLAIN = PCAPS / "golden/tcp/aligned-nocrc.pcapng"
SIW = PCAPS / "siw/siw-ib_read_bw-32K-crcon.pcap"


def packets(data):
    """Returns the offsets of the packets of a little-endian pcapng file, with the blocks that hold them."""
    at = 0
    while at < len(data):
        kind, length = struct.unpack("<II", data[at:at + 8])
        if kind == 6:
            yield at, length, at + 28
        at += length


def with_port(data, old, new):
    """The same capture on another port; its TCP checksums are wrong now, but nobody checks them."""
    out = bytearray(data)
    for _, _, packet in packets(data):
        tcp = packet + 14 + 20
        for at in (tcp, tcp + 2):
            if struct.unpack(">H", out[at:at + 2])[0] == old:
                out[at:at + 2] = struct.pack(">H", new)
    return bytes(out)


def without(data, first):
    """The same capture without its first packets."""
    keep, last = bytearray(), 0
    for k, (at, length, _) in enumerate(packets(data)):
        keep += data[last:at] + (data[at:at + length] if k >= first else b"")
        last = at + length
    return bytes(keep + data[last:])


def with_payload(data, payload):
    """The same capture with other octets in its second Send (of 91 octets; CRCs are not in force)."""
    header = bytes.fromhex("4143 00000000 00000000 00000002 00000000")
    at = data.index(header) + len(header)
    payload = payload.ljust(91, b"\0")
    return data[:at] + payload + data[at + 91:]


def request(private):
    """A capture (pcap, link type Ethernet) of an MPA Request of revision 1 with that private data."""
    frame = b"MPA ID Req Frame" + struct.pack(">BBH", 0x40, 1, len(private)) + private
    out = struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)
    for seq, flags, data in ((0, 2, b""), (1, 0x18, frame)):
        packet = b"\2" * 12 + b"\x08\0" + struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40 + len(data), 1, 0, 64, 6, 0,
                                                      b"\x0a\0\0\1", b"\x0a\0\0\2")
        packet += struct.pack(">HHIIBBHHH", 40000, 4711, seq, seq, 0x50, flags, 65535, 0, 0) + data
        out += struct.pack("<IIII", 1, seq, len(packet), len(packet)) + packet
    return out


def try_depths(tshark):
    """IRD and ORD as private data, in either order of octets, and what only looks like them."""
    for private, want in ((struct.pack(">II", 16, 8), "16\t8\t\n"), (struct.pack("<II", 16, 8), "16\t8\tTrue\n"),
                          (struct.pack(">II", 16, 0), ""), (struct.pack(">II", 16, 16383), ""),
                          (struct.pack(">III", 16, 8, 1), "")):
        found = tshark(request(private), "-Y", "iwarp.mpa.smbd", "-T", "fields", "-e", "iwarp.mpa.smbd.ird",
                       "-e", "iwarp.mpa.smbd.ord", "-e", "iwarp.mpa.smbd.little_endian")
        expect(f"depths in private data {private.hex()}", found.replace("\t1\n", "\tTrue\n") == want, found)


def try_preferences(home):
    """The preferences and their defaults, as Wireshark saves them."""
    found = re.findall(r"^#(iwarp\..*)$", run(["tshark", "-G", "currentprefs"], home), re.MULTILINE)
    expect("preferences", found == ["iwarp.ports: 445,860,3260,4420,5445,9009", "iwarp.built_in: FALSE", "iwarp.keep: 1", "iwarp.mss: 0",
                                    "iwarp.default_config: FALSE", "iwarp.intact: FALSE", "iwarp.quirks: TRUE"], found)


def try_intact(tshark):
    """A wrong CRC is looked through only where the octets are as they were sent."""
    data = bytearray(WRONG_CRC.read_bytes())
    data[data.index(bytes.fromhex("4143 00000000 00000000 00000001")) + 22] ^= 1  # the one before is wrong, too
    for intact in ("FALSE", "TRUE"):
        shown = tshark(bytes(data), "-o", f"iwarp.intact:{intact}")
        expect(f"intact {intact}", ("no CRC is right, and framing is in order without it" in shown) == (intact == "TRUE"), shown)


def try_profile(home):
    """The configuration profile: its columns are shown, its filters are filters."""
    folder = home / ".config/wireshark/profiles/iWARP"
    shutil.copytree(pathlib.Path(__file__).resolve().parent.parent / "profile", folder)
    rows = run(["tshark", "-n", "-C", "iWARP", "-r", SIW, "-Y", "frame.number == 86"], home)
    expect("columns", re.fullmatch(r" *86 +\S+ +10.9.0.1 \S+ 10.9.0.2 +iWARP +1 0.030165000 read-response L .*\n", rows),
           rows)
    colours = [line.split("@")[2] for line in (folder / "colorfilters").read_text("utf-8").splitlines() if line[0] == "@"]
    buttons = [line.split('","')[2].replace("\\x22", '"') for line in (folder / "dfilter_buttons").read_text("utf-8")
               .splitlines() if line[0] == '"']
    expect("rules of the profile", len(colours) > 5 and len(buttons) > 5, (colours, buttons))
    run(["tshark", "-n", "-r", TERMINATE, "-Y", " || ".join(f"({f})" for f in colours + buttons)], home)


# Of the built-in dissectors of Wireshark 4.6, but not of 4.0.
LATER = set("""iwarp_mpa.enhanced_flag iwarp_mpa.enhanced iwarp_mpa.enhanced.a iwarp_mpa.enhanced.b iwarp_mpa.enhanced.c
    iwarp_mpa.enhanced.D iwarp_mpa.enhanced.ird iwarp_mpa.enhanced.ord iwarp_mpa.legacy iwarp_mpa.legacy.ird
    iwarp_mpa.legacy.ord iwarp_mpa.broken_le_legacy""".split())


def try_mapping(home, page):
    """Every field of the built-in dissectors has its row, and the command of its group shows ours."""
    part = page[page.index("## What the built-in dissectors have\n"):page.index("## What the built-in dissectors lack")]
    known = {line.split("\t")[2] for line in run(["tshark", "-G", "fields"], home).splitlines() if line[0] in "PF"}
    theirs = {name for name in known if re.match(r"iwarp_(mpa|ddp|rdma)", name)} | LATER
    rows = [(re.findall("`([^` ]+)`", row.split("|")[1]), re.findall("`([^` ]+)`", row.split("|")[2]))
            for row in part.splitlines() if row.startswith("|")]
    listed = {name for left, _ in rows for name in left}
    expect("built-in fields without a row", theirs <= listed, sorted(theirs - listed))
    for group in re.split(r"\n(?=[A-Z][a-z]+: `tshark )", part)[1:]:
        command = shlex.split(re.search("`(tshark .*)`", group)[1])
        names = list(dict.fromkeys(name for row in group.split("The rest:")[0].splitlines() if row.startswith("|")
                                   for name in re.findall("`(iwarp[^` ]*)`", row.split("|")[2])))
        options = command[1:command.index("-V")] + ["-n", "-Y", "iwarp", "-T", "fields"]
        shown = run(["tshark", *options, *(o for name in names for o in ("-e", name))], home)
        columns = list(zip(*(line.split("\t") for line in shown.splitlines())))
        expect(group.splitlines()[0], len(columns) == len(names) > 5, len(columns))
        for name, column in zip(names, columns):
            expect(f"{command[-4]}: {name}", any(column), "not shown")


CALLER = """
local caller, iwarp = Proto("caller", "Caller"), Dissector.get("iwarp")
function caller.dissector(tvb, pinfo, tree)
    tree:add(caller, tvb(), "taken: " .. iwarp:call(tvb, pinfo, tree) .. " of " .. tvb:len())
end
register_postdissector(caller)
"""


def try_without_tcp(home):
    """A script may call the dissector without what TCP knows of the segment: it takes nothing, and all is shown as data."""
    if "with Lua" not in run(["tshark", "-v"], home):
        return
    (home / "caller.lua").write_text(CALLER, encoding="utf-8")
    shown = run(["tshark", "-n", "-X", f"lua_script:{home / 'caller.lua'}", "-r", TERMINATE, "-V"], home)
    found = re.findall(r"taken: (\d+) of (\d+)", shown)
    expect("called without TCP", len(found) > 5 and all(int(length) > 1 and taken == length for taken, length in found), found)


def try_page(home):
    """Every command of the page shows something."""
    shutil.copytree(PCAPS, home / "pcaps", ignore=shutil.ignore_patterns("builder", "scripts", "tests"))
    page = (pathlib.Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^\|.*\| `(tshark .*)` \|$", page, re.MULTILINE)
    expect("README.md", len(commands) > 20, commands)
    try_mapping(home, page)
    for command in commands:
        expect(command, run(shlex.split(command) + ["-n"], home).strip(), "nothing is shown")


def main(plugins, version, _lint=""):
    with home_of(plugins, version) as home:
        original = OPERATIONS.read_bytes()

        def tshark(data, *options):
            file = home / "capture"
            file.write_bytes(data)
            return run(["tshark", "-n", "-r", file, *options], home)

        def lines(data, *options):
            return tshark(data, "-Y", "iwarp", "-T", "fields", "-e", "iwarp.mpa.crc.status", *options).splitlines()

        whole = lines(original)
        expect("FPDUs", len(whole) > 40 and set(whole) <= {"", "1", "1,1"}, whole)
        for port in (445, 4420, 5445, 9009):
            moved = with_port(original, 4711, port)
            expect(f"port {port}", lines(moved) == whole, lines(moved))
            if port != 4420 or version < "4.6":  # whose owner there leaves iWARP alone
                expect(f"port {port} is its owner's again", lines(moved, "-o", "iwarp.ports:") == [])

        joined = lines(without(original, 20), "-d", "tcp.port==4711,iwarp")
        expect("Decode As in mid-stream", joined == [s for s in whole if s][-len(joined):] and len(joined) > 30, joined)
        expect("no Decode As", lines(without(original, 20)) == [])

        built_in = tshark(original, "-o", "iwarp.built_in:TRUE", "-Y", "iwarp_mpa", "-T", "fields", "-e", "frame.number")
        expect("the built-in dissector on demand", len(built_in.splitlines()) > 10, built_in)
        expect("and not otherwise", tshark(original, "-Y", "iwarp_mpa") == "")
        expect("without relative sequence numbers",
               lines(original, "-o", "tcp.relative_sequence_numbers:FALSE") == whole)
        expect("without TCP's analysis", lines(original, "-o", "tcp.analyze_sequence_numbers:FALSE") == whole)
        expect("without TCP's reassembly", lines(original, "-o", "tcp.desegment_tcp_streams:FALSE") == whole)

        found = tshark(BAD.read_bytes(), "-Y", 'iwarp.check.ddp_msn && iwarp.rule == "DDP-4.3-08"', "-T", "fields",
                       "-e", "iwarp.ddp.msn", "-e", "iwarp.ddp.msn.expected")
        expect("a finding by its rule", len(found.split()) == 2, found)
        found = tshark(TERMINATE.read_bytes(), "-Y", "iwarp.rdmap.terminate", "-T", "fields",
                       "-e", "iwarp.rdmap.terminate.cause", "-e", "iwarp.rdmap.terminate.text")
        expect("a Terminate and its cause", found == "6\tbase or bounds violation\n", found)

        message = struct.pack("<HHHHIIII", 1, 1, 0, 0, 0, 24, 67, 0)
        found = tshark(with_payload(PLAIN.read_bytes(), message), "-Y", "smb_direct", "-T", "fields",
                       "-e", "smb_direct.data_length", "-e", "iwarp.ddp.msn")
        expect("a Send is handed to SMB Direct", found == "67\t2\n", found)

        tree = tshark(SIW.read_bytes(), "-q", "-z", "iwarp,tree")
        expect("-z iwarp,tree", " RDMA Read Response                   460 " in tree and " good   " in tree, tree)
        times = tshark(SIW.read_bytes(), "-q", "-z", "iwarp,srt")
        expect("-z iwarp,srt", "RDMA Read                  20   0.009326   0.058876   0.026544" in times, times)
        expert = tshark(SIW.read_bytes(), "-q", "-z", "expert")
        expect("-z expert", "MPA-4.1-02" in expert, expert)
        try_depths(tshark)
        try_preferences(home)
        try_intact(tshark)
        try_without_tcp(home)
        try_profile(home)
        try_page(home)
    harness.conclude()


if __name__ == "__main__":
    harness.start(main, __doc__)
