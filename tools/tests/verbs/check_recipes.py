#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The recipes of proto/verbs/README.md: a job that tests an RDMA program, and MPI over libfabric.

usage: check_recipes.py IWARP-RUN REMOTE-NOTE [mpi]
"""
import os
import re
import shutil
import subprocess
import tempfile
import time

import harness

LIMIT = 300  # s; a guard
NOTE = "hello, remote memory"
# Debian's python3-mpi4py is of Debian's Python.
MPI = ["mpirun", "-np", "4", "--oversubscribe", "--mca", "pml", "cm", "--mca", "mtl", "ofi", "--mca", "btl", "self", "--mca",
       "mtl_ofi_provider_include", "verbs;ofi_rxm", "/usr/bin/python3", "-m", "mpi4py.bench"]


def job(run, program, folder, client_options):
    """The statuses of the server and of the client, and all that they printed."""
    port = harness.free_port()
    environment = dict(os.environ, TMPDIR=folder)

    def begin(*words):
        return subprocess.Popen([run, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)

    server = begin("--judge=fail", program, "127.0.0.1", str(port))
    while not harness.listens(port) and server.poll() is None:
        time.sleep(0.01)
    client = begin(*client_options, program, "127.0.0.1", str(port), NOTE)
    texts = [process.communicate(timeout=LIMIT)[0] for process in (client, server)]
    return server.returncode, client.returncode, "".join(texts)


def check_job(run, program):
    with tempfile.TemporaryDirectory() as folder:
        capture = os.path.join(folder, "run.pcapng")
        *statuses, text = job(run, program, folder, ["--judge=fail", "--capture", capture])
        harness.equal("a good peer", statuses, [0, 0])
        harness.equal("the note at both ends", text.count(NOTE), 2)
        harness.expect("a capture", os.path.getsize(capture) > 0)
        *statuses, text = job(run, program, folder, ["--violate", "ddp-msn"])
        harness.equal("a hostile client", statuses, [1, 1])
        harness.expect("its rule", "DDP-4.3-08 (MUST)" in text, text)


def check_mpi(run):
    if not shutil.which("mpirun") or subprocess.run(["/usr/bin/python3", "-c", "import mpi4py"], stderr=subprocess.DEVNULL, check=False).returncode:
        harness.skip("mpirun or python3-mpi4py is not installed")
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    for test in (["helloworld"], ["ringtest", "--loop", "5", "--size", "1000000"]):
        ran = subprocess.run([run, "--judge=fail", *MPI, *test], env=dict(os.environ, **root), capture_output=True, text=True, timeout=LIMIT, check=False)
        harness.equal(f"status of {test[0]}", ran.returncode, 0)
        summary = re.search(r"iwarp-run: (\d+) connections, findings: 0 of the peer \(0 MUST\), 0 of this side", ran.stderr)
        harness.expect(f"connections of {test[0]}, no finding", summary and int(summary[1]) > 0, ran.stderr[-300:])
        print(ran.stdout.splitlines()[-1], ran.stderr.splitlines()[-1], sep="; ")


def main(run, program, what="job"):
    if what == "mpi":
        check_mpi(run)
    else:
        check_job(run, program)
    harness.conclude()


if __name__ == "__main__":
    harness.start(main, __doc__)
