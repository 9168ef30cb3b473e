# SPDX-License-Identifier: GPL-2.0-or-later
"""The plugin on captures of which octets were changed (editcap -E), cut off (-s), or taken out whole.

usage: check_mutated.py PLUGINS VERSION FRAMES [SEED]

FRAMES is how many frames to try, at least: all captures of pcaps/ in one file, which is mutated as often as it takes,
each time otherwise; SEED is that of the first time (1). tshark must survive (under ASan, UBSan and LeakSanitizer if
IW_PRELOAD names their library), no exception may be thrown by the plugin's own code, and a second pass must show the
same as the first, but for what only a second can know. What fails is kept in the folder mutated-SEED beside PLUGINS.
"""

import difflib
import functools
import itertools
import pathlib
import random
import re
import shutil

import harness
from check_captures import PCAPS, by_frame, first_pass, frames, home_of, run, tree

BATCH = 100_000  # frames that tshark reads at a time
# What tshark prints for an exception, or a fault in a dissector, if it is the plugin's.
FAULT = re.compile(r"\[(?:Malformed|Packet size limited|Unreassembled|Reassembly error)[^]\n]*: iWARP.*|"
                   r"Dissector bug, protocol iWARP.*")
# One of how many octets is changed, and from which on in the frame: the whole, after Ethernet, after IPv4, TCP's
# payload, its payload after DDP's and RDMAP's headers.
KINDS = [(share, offset) for offset in (54, 14, 54, 34, 54, 0, 70) for share in ("0.02", "0.005", "0.001", "0.0002")]


def gather(home):
    """All captures in one file."""
    parts = []
    for k, capture in enumerate(sorted(PCAPS.rglob("*.pcap*"))):
        if capture.suffix == ".pcap":
            run(["editcap", "-F", "pcapng", capture, home / f"{k}.pcapng"], home)
            capture = home / f"{k}.pcapng"
        parts.append(capture.read_bytes())
    (home / "all.pcapng").write_bytes(b"".join(parts))
    return home / "all.pcapng"


def mutate(file, seed, home):
    """Variants of the file: octets changed in each, in some frames cut off or out as well."""
    chance = random.Random(seed)
    share, offset = KINDS[seed % len(KINDS)]
    snap = ["-s", str(chance.randrange(54, 160))] if chance.random() < 0.2 else []
    every = chance.randrange(5, 200)
    out = [str(n) for n in range(every, 9000, every)] if chance.random() < 0.3 else []
    run(["editcap", "-F", "pcapng", "--seed", str(seed), "-E", share, "-o", str(offset), *snap, file,
         home / "mutated.pcapng", *out], home)
    return (home / "mutated.pcapng").read_bytes()


def check(capture, home):
    """Returns what is wrong in tshark's output for a file."""
    command = ["tshark", "-n", "-r", capture, "-V", "-O", "iwarp"]
    try:
        once, twice = harness.side_by_side([functools.partial(run, [*command, *passes], home) for passes in ((), ("-2",))], 2)
    except SystemExit as fault:
        return [str(fault)]
    wrong = [line for text in (once, twice) for line in FAULT.findall(text)]
    once, twice = (first_pass(by_frame(tree(text))) for text in (once, twice))
    if once != twice:
        wrong += itertools.islice(difflib.unified_diff(once, twice, "one pass", "two passes", lineterm="", n=2), 40)
    if len(once) < 1000:
        wrong.append("the plugin shows next to nothing")
    return wrong


def main(plugins, version, wanted, seed=1):
    wanted, seed, done, wrong = int(wanted), int(seed), 0, []
    with home_of(plugins, version, 0o777) as home:
        file = gather(home)
        while done < wanted and not wrong:
            first, batch, number = seed, home / "batch.pcapng", 0
            with batch.open("wb") as out:
                while number < min(BATCH, wanted - done):
                    out.write(mutate(file, seed, home))
                    number += frames(home / "mutated.pcapng")
                    seed += 1
            wrong = check(batch, home)
            done += number
            if wrong:
                keep = pathlib.Path(plugins).parent / f"mutated-{first}.pcapng"
                shutil.copy(batch, keep)
                wrong.append(f"the capture: {keep}")
    harness.complain(*wrong)
    harness.conclude(f"{done} frames, seeds up to {seed - 1}: good")


if __name__ == "__main__":
    harness.start(main, __doc__)
