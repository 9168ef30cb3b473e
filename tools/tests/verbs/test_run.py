#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The launcher: which programs it refuses, with which line, and what it passes on.

usage: test_run.py IWARP-RUN
"""
import os
import shutil
import subprocess
import tempfile

import harness

STATIC = "int main(void) { return 0; }\n"


def refused(run, *words, status=126, environment=None):
    """The one line with which the launcher refuses."""
    out = subprocess.run([run, *words], env=environment, capture_output=True, text=True, check=False)
    harness.equal(f"status of {words}", out.returncode, status)
    harness.equal(f"lines of {words}", len(out.stderr.splitlines()), 1)
    return out.stderr


def main(run):
    for words, what in ((("no-such-program",), "no such program in PATH"), (("/etc/passwd",), "Permission denied"),
                        (("/",), "is not a regular file")):
        harness.expect(f"line of {words}", what in refused(run, *words), what)
    harness.expect("line of nothing", "expected the name of a program" in refused(run, status=64))
    harness.expect("line of a wrong value", "--crc" in refused(run, "--crc", "maybe", "true", status=64))
    with tempfile.TemporaryDirectory() as folder:
        text, program = os.path.join(folder, "text"), os.path.join(folder, "static")
        harness.write(text, "neither\n")
        os.chmod(text, 0o755)
        harness.expect("line of a text", "neither an ELF program nor a script" in refused(run, text))
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler:
            harness.write(program + ".c", STATIC)
            subprocess.run([compiler, "-static", "-o", program, program + ".c"], check=True)
            harness.expect("line of a static program", "is linked statically" in refused(run, program))
    shown = subprocess.run([run, "--crc", "off", "--mulpdu=200", "-v", "printenv", "LD_PRELOAD", "IWARP_VERBS"],
                           capture_output=True, text=True, check=True).stdout.splitlines()
    harness.expect("the library is preloaded", shown[0].split(":")[0].endswith("/libibverbs.so.1"), shown)
    harness.equal("settings", shown[1], "crc=off,markers=off,rtr=on,responder_first=on,verbose=on,revision=2,mulpdu=200,spin=20")
    shown = subprocess.run([run, "--violate", "rdmap-response-past", "--ignore=MPA-8-02", "--botch", "ddp-stag=silent", "printenv", "IWARP_VERBS"],
                           capture_output=True, text=True, check=True).stdout
    harness.equal("deviations", sorted(shown.strip().split(",")[8:]), ["botch=ddp-stag=silent", "ignore=mpa-crc", "violate=rdmap-response-past"])
    harness.expect("an unknown check", "did you mean mpa-crc?" in refused(run, "--ignore", "mpa-crd", "true", status=64))
    # A list of any length is kept; ":" alone names nothing.
    long = ":" * 20000
    shown = subprocess.run([run, "printenv", "LD_PRELOAD"], env=dict(os.environ, LD_PRELOAD=long), capture_output=True, text=True,
                           check=True).stdout
    harness.expect("a long LD_PRELOAD is kept", shown.endswith(f"/libibverbs.so.1:{long}\n"), len(shown))
    # AddressSanitizer's library, known by its file's name, stays the first unless it is told not to mind. (None of these exist.)
    asan, other = "/none/libasan.so.8", "/asan/libother.so"
    for given, options, place in ((asan, "", 1), (f"{asan}:{other}", "", 1), (other, "", 0), (f"{other} {asan}", "", 2), (asan, "verify_asan_link_order=0", 0)):
        shown = subprocess.run([run, "printenv", "LD_PRELOAD"], env=dict(os.environ, LD_PRELOAD=given, ASAN_OPTIONS=options), capture_output=True, text=True,
                               check=True).stdout.strip().replace(" ", ":").split(":")
        harness.expect(f"place of the library in {given}, {options}", shown[place].endswith("/libibverbs.so.1"), shown)
        del shown[place]
        harness.equal("what was there", shown, given.replace(" ", ":").split(":"))
    longest = ":" * (131072 - len("LD_PRELOAD=") - 1)  # the kernel takes no longer string
    with_it = dict(os.environ, LD_PRELOAD=longest)
    harness.expect("one too long", "Argument list too long" in refused(run, "true", environment=with_it), run)
    with tempfile.TemporaryDirectory(prefix="a b") as folder:
        installed = os.path.join(folder, "bin", "iwarp-run")
        library = os.path.join(os.path.dirname(run), "../lib/iwarp/libibverbs.so.1")
        os.makedirs(os.path.join(folder, "lib", "iwarp"))
        os.makedirs(os.path.join(folder, "bin"))
        shutil.copy(run, installed)
        harness.expect("no library", "libibverbs.so.1 is not in" in refused(installed, "true", status=70), installed)
        shutil.copy(library, os.path.join(folder, "lib", "iwarp"))
        harness.expect("a place that cannot be preloaded", "a space or a colon" in refused(installed, "true", status=70),
                       installed)
    status = subprocess.run([run, "sh", "-c", "exit 7"], check=False).returncode
    harness.equal("the program's own status", status, 7)
    harness.conclude()


if __name__ == "__main__":
    harness.start(main, __doc__)
