# SPDX-License-Identifier: BSD-3-Clause
"""What benchmarks inside the user-mode kernel of tools/siw share: the kernel, perftest, and rounds that are kept for later runs."""
import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SIW = os.path.join(HERE, "siw")
TRIES = 3  # of perftest, which crashes or stands still at times


def perftest(program, size, count, crc, *how):
    """Runs a program of perftest. Returns what siw.d/rate.py prints: octets per second that TCP carries, or what `how` asks for."""
    words = ["/usr/bin/python3", "-IS", os.path.join(HERE, "siw.d/rate.py"), program, str(size), str(count), "Y" if crc == "on" else "N", *how]
    for left in reversed(range(TRIES)):
        ran = subprocess.run([SIW, "exec", *words], check=False, capture_output=True, text=True)
        if ran.returncode == 0:
            return ran.stdout
        print("%s: %s: status %d: %s%s" % (os.path.basename(sys.argv[0]), " ".join(words), ran.returncode, ran.stderr.strip(), "; once more" if left else ""),
              file=sys.stderr)
    sys.exit(1)


def kept(path):
    """The rounds in the file, of which each line is one."""
    with open(path, encoding="utf-8") as file:
        return [{tuple(key): value for key, value in json.loads(line)} for line in file]


def more_rounds(work, measured, count, one_round):
    """Adds `count` rounds to those in the folder `work` that have the same file `measured`. Returns all of them."""
    with open(measured, "rb") as file:
        path = os.path.join(work, "rounds-%s.jsonl" % hashlib.sha256(file.read()).hexdigest()[:12])
    with open(path, "a", encoding="utf-8") as file:
        for _ in range(count):
            print(json.dumps(list(one_round().items())), file=file, flush=True)
    return kept(path)


@contextlib.contextmanager
def kernel(work, programs):
    """The kernel of the folder `work`, built if there is none. However it ends, it does not stay."""
    missing = [name for name in programs if not shutil.which(name)]
    if missing:
        sys.exit("%s: there is no %s (tools/dev setup record installs perftest and strace)" % (os.path.basename(sys.argv[0]), ", no ".join(missing)))
    subprocess.run([os.path.join(HERE, "siw.d/settings-kernel.sh"), work], check=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(TMPDIR=folder, IW_SIW_KERNEL=os.path.join(work, "linux"))
        try:
            subprocess.run([SIW, "up"], check=True, stdout=subprocess.DEVNULL)
            yield
        finally:
            subprocess.run([SIW, "down"], check=False)
