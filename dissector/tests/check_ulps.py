# SPDX-License-Identifier: GPL-2.0-or-later
"""What belongs to upper layers: reassembly, the dissectors that are called, Decode As, follow stream, export, and
preferences that iwarp-lint has as options, snap lengths.

usage: check_ulps.py PLUGINS VERSION LINT
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from check_captures import PCAPS, findings_of_lint, findings_of_tree, run, by_frame, tree
from check_settings import with_port

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
DissectorTable.get("iwarp.port"):add_for_decode_as(stumble)
DissectorTable.get("iwarp.private_data.port"):add_for_decode_as(p)
"""


class Tests:
    def __init__(self, home, lint):
        self.home, self.lint, self.wrong = home, lint, []
        self.lua = home / "greeting.lua"
        self.lua.write_text(LUA, encoding="utf-8")

    def expect(self, what, seen, wanted):
        if seen != wanted:
            self.wrong.append(f"{what}: {seen!r} instead of {wanted!r}")

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
        self.expect("kept for ULPs", kept, [4, 0, 0])
        capture = TCP / "aligned-crc.pcapng"
        names = ("iwarp.ddp.stag", "iwarp.message.segments", "iwarp.message.data")
        octets = bytes(range(256)) * 4
        shown = self.fields(capture, "iwarp.message.data && iwarp.rdmap.opcode == 0", *names)
        self.expect("Writes of several segments", shown,
                    [f"0x00004711\t{k}\t{octets[:n].hex()}" for k, n in ((2, 400), (2, 600), (3, 800))])
        self.expect("their octets", re.findall(r"^iWARP message \(.*\):$", self.tshark(capture, "-x"), re.MULTILINE),
                    [f"iWARP message ({n} bytes):" for n in (400, 600, 800)])
        for options, words in (((), []), (("-o", "iwarp.keep:0"), ["the preference iwarp.keep is used up"] * 7)):
            self.expect(f"kept with {options}", self.fields(capture, "iwarp.message.not_reassembled",
                                                            "iwarp.message.not_reassembled", options=options), words)
        for name in ("out-of-order-crc", "reversed-markers", "late-nocrc", "repacked-markers", "unaligned-markers-nocrc"):
            found = self.fields(TCP / f"{name}.pcapng", "iwarp.message.data", "iwarp.message.data")
            self.expect(name, sorted(",".join(found).split(",")), sorted(octets[:n].hex() for n in (400, 600, 800)))
        why = "not all its octets came"
        file = self.home / "written" / "capture.pcapng"
        for what, options, frames in (("frame 13", (capture, file, "13"), {12}), ("a snap length", ("-s", "300", capture, file), {12, 13, 16, 17, 20, 21, 22})):
            run(["editcap", *options], self.home)
            found = self.fields(file, f'iwarp.message.not_reassembled == "{why}"', "frame.number", options=("-2",))
            self.expect(f"octets lost by {what}", {int(n) for n in found}, frames)

    def try_built_in(self):
        nvme, iser, smb = ULP / "nvme.pcapng", ULP / "iser.pcapng", ULP / "smb-direct.pcapng"
        rpc = ULP / "rpc-over-rdma.pcapng"
        commands = ["7f\t\t0x0000", "7f\t\t0x0001", "0x06\t0x0000", "0x02\t0x0001"]
        names = ("nvme.cmd.opc", "nvme-rdma.cmd.qid")
        for options, file in (((), nvme), (("-d", "iwarp.port==4711,iwarp_nvme"), self.moved(nvme, 4420))):
            found = self.fields(file, "iwarp && (nvme.cmd.opc || nvme.fabrics.cmd.opc)", "nvme.fabrics.cmd.opc", *names,
                                options=options)
            self.expect(f"NVMe commands with {options}", [line.strip() for line in found], commands)
        found = self.fields(nvme, "nvme-rdma.read_from_host_resp", "nvme-rdma.read_from_host_resp")
        self.expect("NVMe data of Connect", [len(octets) for octets in found], [2 * 1024] * 2)
        self.expect("NVMe's private data", self.fields(nvme, "nvme-rdma.cm.req.qid", "nvme-rdma.cm.req.qid"), ["0", "1"])
        found = self.fields(iser, "scsi.spc.opcode || scsi_sbc.opcode", "scsi.spc.opcode", "scsi_sbc.opcode", "iser.read_stag")
        self.expect("iSER commands", [line.split() for line in found], [["0x12", "0x00003301"], ["0x12", "0x00000000"], ["0x28", "0x00003302"], ["0x28", "0x00000000"]])
        file = self.moved(iser, 3260)
        found = self.fields(file, "iser", "iscsi.opcode", options=("-d", "iwarp.port==4711,iwarp_iser"))
        self.expect("iSER, Decode As", found, ["0x03", "0x23", "0x01", "0x21", "0x01", "0x21"])
        self.expect("SMB Direct", self.fields(smb, "smb_direct", "smb2.cmd"), ["", "", "0"])
        found = self.fields(rpc, "nfs", "rpc.msgtyp", "nfs.procedure_v3")
        self.expect("NFS", found, ["0\t0", "1\t0", "0\t7", "1\t7", "0\t6", "1,1\t6,6"])
        found = self.fields(rpc, "nfs.data", "frame.number", options=("-2",))
        self.expect("NFS, data of chunks", len(found), 2)

    def try_lists(self):
        lua = ("-X", f"lua_script:{self.lua}")
        capture = PCAPS / "golden/startup/streaming.pcapng"
        self.expect("iwarp.message", self.fields(capture, "greeting", "greeting.text", options=lua), ["ping"])
        capture = PCAPS / "golden/startup/private-both.pcapng"
        self.expect("iwarp.private_data", len(self.fields(capture, "greeting", "frame.number", options=lua)), 4)
        capture = PCAPS / "golden/startup/reject-private.pcapng"
        found = self.fields(capture, "greeting", "greeting.text",
                            options=(*lua, "-d", "iwarp.private_data.port==4711,greeting"))
        self.expect("private data, Decode As", found, ["no room"])
        capture = TCP / "packed-crc.pcapng"
        found = self.fields(capture, "iwarp", "iwarp.mpa.ulpdu_length")
        again = self.fields(capture, "iwarp", "iwarp.mpa.ulpdu_length", options=(*lua, "-d", "iwarp.port==4711,stumble"))
        self.expect("after a ULP that throws", again, found)

    def try_stream(self):
        capture = PCAPS / "golden/startup/streaming.pcapng"
        text = self.tshark(capture, "-q", "-z", "follow,iwarp,ascii,0")
        self.expect("follow", re.findall(r"^(Node .: .*:\d+|\t?\d+\n.*)$", text, re.MULTILINE)[2:], ["4\nping", "\t4\npong"])
        text = self.tshark(TCP / "packed-markers.pcapng", "-q", "-z", "follow,iwarp,raw,0")
        sent = "".join(re.findall(r"^[0-9a-f]+$", text, re.MULTILINE))
        octets = bytes(range(256)) * 4
        wanted = b"before" + b"".join(octets[:n * 91] + octets[:n * 200] for n in range(1, 5)) + b"behind"
        self.expect("Markers are no octets of the ULP", sent, wanted.hex())

    def try_export(self):
        """An STag's object must equal what iwarp-lint extracts."""
        for name in ("out-of-order-markers", "overlapping-crc", "lost-unaligned-nocrc", "snap-length-markers"):
            folder = self.home / "written" / name
            folder.mkdir()
            folder.chmod(0o777)
            self.tshark(TCP / f"{name}.pcapng", "-q", "-2", "--export-objects", f"iwarp,{folder}")
            objects = sorted(folder.glob("*-stag-0x00004711-*"))
            extracted = folder / "extracted"
            done = subprocess.run([self.lint, "--extract", "0x4711", "--into", extracted, TCP / f"{name}.pcapng"],
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
            wanted = [extracted.read_bytes()] if done.returncode == 0 else []
            self.expect(f"objects of {name}", [o.read_bytes() for o in objects], wanted)
            self.expect(f"{name} has Writes", bool(wanted), not name.startswith("snap"))

    def try_context(self):
        """With the same preferences, the plugin must judge captures that need options as iwarp-lint does."""
        entries = json.loads((PCAPS / "golden/manifest.json").read_text(encoding="utf-8"))["captures"]
        tried = 0
        for entry in entries:
            options = entry.get("lint", [])
            if options[:1] not in (["--mss"], ["--assume"]):
                continue
            capture = PCAPS / "golden" / entry["file"]
            preference = f"iwarp.mss:{options[1]}" if options[0] == "--mss" else "iwarp.default_config:TRUE"
            wanted = findings_of_lint(self.lint, capture, *options)
            shown = by_frame(tree(self.tshark(capture, "-2", "-V", "-O", "iwarp", "-o", preference)))
            self.expect(f"{capture.name} with {preference}", findings_of_tree(shown), wanted)
            tried += len(wanted) > len(findings_of_lint(self.lint, capture))
        self.expect("preferences make a difference", tried, 5)

    def try_snap_lengths(self):
        for name in ("operations/rev2-crc-markers", "startup/private-both", "terminates/0-1-01"):
            for length in (54, 58, 66, 74, 75, 79, 85, 93, 107, 121):
                file = self.home / "written" / "capture.pcapng"
                run(["editcap", "-s", str(length), PCAPS / f"golden/{name}.pcapng", file], self.home)
                text = self.tshark(file, "-2", "-V", "-O", "iwarp")
                self.expect(f"{name}, snap length {length}", re.findall(".*(?:Malformed Packet|Dissector bug).*", text), [])


def main():
    plugins, version, lint = pathlib.Path(sys.argv[1]), sys.argv[2], os.path.abspath(sys.argv[3])
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder)
        home.chmod(0o755)
        (home / "written").mkdir()
        (home / "written").chmod(0o777)
        shutil.copytree(plugins / version, home / "plugins" / version)
        tests = Tests(home, lint)
        for test in (tests.try_reassembly, tests.try_built_in, tests.try_lists, tests.try_stream, tests.try_export,
                     tests.try_context, tests.try_snap_lengths):
            test()
    print("\n".join(tests.wrong) if tests.wrong else "good")
    sys.exit(1 if tests.wrong else 0)


if __name__ == "__main__":
    main()
