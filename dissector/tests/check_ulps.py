# SPDX-License-Identifier: GPL-2.0-or-later
"""What belongs to upper layers: reassembly, the dissectors that are called, Decode As, follow stream, export, and
preferences that iwarp-lint has as options, snap lengths.

usage: check_ulps.py PLUGINS VERSION LINT
"""

import os
import re

import harness
from check_captures import PCAPS, by_frame, findings_of_lint, findings_of_tree, home_of, run, tree
from check_settings import with_port
from harness import equal

ULP = PCAPS / "golden/ulp"
TCP = PCAPS / "golden/tcp"

LUA = """
local p = Proto("greeting", "Greeting")
local text = ProtoField.string("greeting.text", "Text")
p.fields = { text }
function p.dissector(tvb, pinfo, tree)
  tree:add(p, tvb()):add(text, tvb())
  return tvb:len()
end
local function guess(tvb, pinfo, tree)
  if tvb:len() < 4 or tvb(0, 4):string() ~= "ping" and tvb(0, 3):bytes():tohex() ~= "000102" then return false end
  p.dissector(tvb, pinfo, tree)
  return true
end
p:register_heuristic("iwarp.message", guess)
p:register_heuristic("iwarp.private_data", guess)
local stumble = Proto("stumble", "Stumble")
function stumble.dissector(tvb) return tvb(0, 100000):uint() end
local one = Proto("oneoctet", "One octet")
function one.dissector(tvb, pinfo, tree)
  tree:add(one, tvb(0, 1))
  return 1
end
DissectorTable.get("iwarp.port"):add_for_decode_as(one)
DissectorTable.get("iwarp.port"):add_for_decode_as(stumble)
DissectorTable.get("iwarp.private_data.port"):add_for_decode_as(p)
"""


class Tests:
    def __init__(self, home, lint):
        self.home, self.lint = home, lint
        self.lua = home / "greeting.lua"
        self.lua.write_text(LUA, encoding="utf-8")

    def tshark(self, capture, *options):
        return run(["tshark", "-n", "-r", capture, *options], self.home)

    def fields(self, capture, shown, *names, options=()):
        """Returns these fields of the frames that `shown` selects."""
        columns = [word for name in names for word in ("-e", name)]
        return self.tshark(capture, "-Y", shown, "-T", "fields", *columns, *options).split("\n")[:-1]

    def moved(self, capture, port):
        file = self.home / "moved.pcapng"
        file.write_bytes(with_port(capture.read_bytes(), port, 4711))
        return file

    def try_reassembly(self):
        kept = [len(self.fields(ULP / f"{name}.pcapng", "iwarp.message.data", "frame.number", options=("-o", "iwarp.keep:0")))
                for name in ("nvme", "iser", "rpc-over-rdma")]
        equal("kept for ULPs", kept, [4, 0, 0])
        capture = TCP / "aligned-crc.pcapng"
        names = ("iwarp.ddp.stag", "iwarp.message.segments", "iwarp.message.data")
        octets = bytes(range(256)) * 4
        shown = self.fields(capture, "iwarp.message.data && iwarp.rdmap.opcode == 0", *names)
        equal("Writes of several segments", shown,
                    [f"0x00004711\t{k}\t{octets[:n].hex()}" for k, n in ((2, 400), (2, 600), (3, 800))])
        equal("their octets", re.findall(r"^iWARP message \(.*\):$", self.tshark(capture, "-x"), re.MULTILINE),
                    [f"iWARP message ({n} bytes):" for n in (400, 600, 800)])
        for options, words in (((), []), (("-o", "iwarp.keep:0"), ["the preference iwarp.keep is used up"] * 7)):
            equal(f"kept with {options}", self.fields(capture, "iwarp.message.not_reassembled",
                                                            "iwarp.message.not_reassembled", options=options), words)
        for name in ("out-of-order-crc", "reversed-markers", "late-nocrc", "repacked-markers", "unaligned-markers-nocrc"):
            found = self.fields(TCP / f"{name}.pcapng", "iwarp.message.data", "iwarp.message.data")
            equal(name, sorted(",".join(found).split(",")), sorted(octets[:n].hex() for n in (400, 600, 800)))
        why = "not all its octets came"
        file = self.home / "written" / "capture.pcapng"
        for what, options, frames in (("frame 13", (capture, file, "13"), {12}), ("a snap length", ("-s", "300", capture, file), {12, 13, 16, 17, 20, 21, 22})):
            run(["editcap", *options], self.home)
            found = self.fields(file, f'iwarp.message.not_reassembled == "{why}"', "frame.number", options=("-2",))
            equal(f"octets lost by {what}", {int(n) for n in found}, frames)

    def try_built_in(self):
        nvme, iser, smb = ULP / "nvme.pcapng", ULP / "iser.pcapng", ULP / "smb-direct.pcapng"
        rpc = ULP / "rpc-over-rdma.pcapng"
        commands = ["7f\t\t0x0000", "7f\t\t0x0001", "0x06\t0x0000", "0x02\t0x0001"]
        names = ("nvme.cmd.opc", "nvme-rdma.cmd.qid")
        for options, file in (((), nvme), (("-d", "iwarp.port==4711,iwarp_nvme"), self.moved(nvme, 4420))):
            found = self.fields(file, "iwarp && (nvme.cmd.opc || nvme.fabrics.cmd.opc)", "nvme.fabrics.cmd.opc", *names,
                                options=options)
            equal(f"NVMe commands with {options}", [line.strip() for line in found], commands)
        found = self.fields(nvme, "nvme-rdma.read_from_host_resp", "nvme-rdma.read_from_host_resp")
        equal("NVMe data of Connect", [len(octets) for octets in found], [2 * 1024] * 2)
        equal("NVMe's private data", self.fields(nvme, "nvme-rdma.cm.req.qid", "nvme-rdma.cm.req.qid"), ["0", "1"])
        found = self.fields(iser, "scsi.spc.opcode || scsi_sbc.opcode", "scsi.spc.opcode", "scsi_sbc.opcode", "iser.read_stag")
        equal("iSER commands", [line.split() for line in found], [["0x12", "0x00003301"], ["0x12", "0x00000000"], ["0x28", "0x00003302"], ["0x28", "0x00000000"]])
        file = self.moved(iser, 3260)
        found = self.fields(file, "iser", "iscsi.opcode", options=("-d", "iwarp.port==4711,iwarp_iser"))
        equal("iSER, Decode As", found, ["0x03", "0x23", "0x01", "0x21", "0x01", "0x21"])
        equal("SMB Direct", self.fields(smb, "smb_direct", "smb2.cmd"), ["", "", "0"])
        found = self.fields(rpc, "nfs", "rpc.msgtyp", "nfs.procedure_v3")
        equal("NFS", found, ["0\t0", "1\t0", "0\t7", "1\t7", "0\t6", "1,1\t6,6"])
        found = self.fields(rpc, "nfs.data", "frame.number", options=("-2",))
        equal("NFS, data of chunks", len(found), 2)

    def try_lists(self):
        lua = ("-X", f"lua_script:{self.lua}")
        capture = PCAPS / "golden/startup/streaming.pcapng"
        equal("iwarp.message", self.fields(capture, "greeting", "greeting.text", options=lua), ["ping"])
        capture = PCAPS / "golden/startup/private-both.pcapng"
        equal("iwarp.private_data", len(self.fields(capture, "greeting", "frame.number", options=lua)), 4)
        capture = PCAPS / "golden/startup/reject-private.pcapng"
        found = self.fields(capture, "greeting", "greeting.text",
                            options=(*lua, "-d", "iwarp.private_data.port==4711,greeting"))
        equal("private data, Decode As", found, ["no room"])
        capture = TCP / "packed-crc.pcapng"
        found = self.fields(capture, "iwarp", "iwarp.mpa.ulpdu_length")
        again = self.fields(capture, "iwarp", "iwarp.mpa.ulpdu_length", options=(*lua, "-d", "iwarp.port==4711,stumble"))
        equal("after a ULP that throws", again, found)
        capture = PCAPS / "golden/startup/streaming.pcapng"
        taken = self.fields(capture, "oneoctet", "frame.number", options=(*lua, "-d", "iwarp.port==4711,oneoctet"))
        guessed = self.fields(capture, "greeting", "frame.number", options=(*lua, "-d", "iwarp.port==4711,oneoctet"))
        equal("a ULP that takes one octet of each message", (len(taken), guessed), (2, []))

    def try_stream(self):
        capture = PCAPS / "golden/startup/streaming.pcapng"
        text = self.tshark(capture, "-q", "-z", "follow,iwarp,ascii,0")
        equal("follow", re.findall(r"^(Node .: .*:\d+|\t?\d+\n.*)$", text, re.MULTILINE)[2:], ["4\nping", "\t4\npong"])
        text = self.tshark(TCP / "packed-markers.pcapng", "-q", "-z", "follow,iwarp,raw,0")
        sent = "".join(re.findall(r"^[0-9a-f]+$", text, re.MULTILINE))
        octets = bytes(range(256)) * 4
        wanted = b"before" + b"".join(octets[:n * 91] + octets[:n * 200] for n in range(1, 5)) + b"behind"
        equal("Markers are no octets of the ULP", sent, wanted.hex())

    def try_export(self):
        """An STag's object must equal what iwarp-lint extracts."""
        for name in ("out-of-order-markers", "overlapping-crc", "lost-unaligned-nocrc", "snap-length-markers"):
            folder = self.home / "written" / name
            folder.mkdir()
            folder.chmod(0o777)
            self.tshark(TCP / f"{name}.pcapng", "-q", "-2", "--export-objects", f"iwarp,{folder}")
            objects = sorted(folder.glob("*-stag-0x00004711-*"))
            extracted = folder / "extracted"
            done = harness.run(self.lint, "--extract", "0x4711", "--into", extracted, TCP / f"{name}.pcapng", status=None, timeout=60)
            wanted = [extracted.read_bytes()] if done.returncode == 0 else []
            equal(f"objects of {name}", [o.read_bytes() for o in objects], wanted)
            equal(f"{name} has Writes", bool(wanted), not name.startswith("snap"))

    def try_context(self):
        """With the same preferences, the plugin must judge captures that need options as iwarp-lint does."""
        tried = 0
        for entry in harness.load(PCAPS / "golden/manifest.json")["captures"]:
            options = entry.get("lint", [])
            if options[:1] not in (["--mss"], ["--assume"]):
                continue
            capture = PCAPS / "golden" / entry["file"]
            preference = f"iwarp.mss:{options[1]}" if options[0] == "--mss" else "iwarp.default_config:TRUE"
            wanted = findings_of_lint(self.lint, capture, *options)
            shown = by_frame(tree(self.tshark(capture, "-2", "-V", "-O", "iwarp", "-o", preference)))
            equal(f"{capture.name} with {preference}", findings_of_tree(shown), wanted)
            tried += len(wanted) > len(findings_of_lint(self.lint, capture))
        equal("preferences make a difference", tried, 5)

    def try_snap_lengths(self):
        for name in ("operations/rev2-crc-markers", "startup/private-both", "terminates/0-1-01"):
            for length in (54, 58, 66, 74, 75, 79, 85, 93, 107, 121):
                file = self.home / "written" / "capture.pcapng"
                run(["editcap", "-s", str(length), PCAPS / f"golden/{name}.pcapng", file], self.home)
                text = self.tshark(file, "-2", "-V", "-O", "iwarp")
                equal(f"{name}, snap length {length}", re.findall(".*(?:Malformed Packet|Dissector bug).*", text), [])


def main(plugins, version, lint):
    with home_of(plugins, version) as home:
        (home / "written").mkdir()
        (home / "written").chmod(0o777)
        tests = Tests(home, os.path.abspath(lint))
        for test in (tests.try_reassembly, tests.try_built_in, tests.try_lists, tests.try_stream, tests.try_export,
                     tests.try_context, tests.try_snap_lengths):
            test()
    harness.conclude()


if __name__ == "__main__":
    harness.start(main, __doc__)
