#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The images that tools/container makes: small, valid for skopeo and umoci, and their commands work. Needs root, mmdebstrap, umoci,
skopeo and Debian's archive."""
import json
import os
import shutil
import sys

import harness
from harness import check

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = os.path.abspath(os.path.join(HERE, "..", ".."))
MOST = {"toolkit": 60_000_000, "agent": 15_000_000}  # octets of the archive, whose layers are compressed


def inside(root, *words, **more):
    """Runs a program of an image."""
    return harness.run(os.path.join(TOOLS, "debian-root.sh"), "run", root, *words, **more).stdout


def unpacked(name, folder):
    """Makes an image. Returns its root, with the devices that an engine of containers adds, its configuration and size."""
    archive = os.path.join(folder, f"{name}.tar")
    print(harness.run(os.path.join(TOOLS, "container"), name, archive).stdout, end="")
    size = os.path.getsize(archive)
    check(size < MOST[name], f"{name}: less than {MOST[name] // 1000000} MB", size)
    image = json.loads(harness.run("skopeo", "inspect", "--config", f"oci-archive:{archive}").stdout)
    layers = json.loads(harness.run("skopeo", "inspect", f"oci-archive:{archive}").stdout)["Layers"]
    check(image["os"] == "linux" and len(layers) == len(image["rootfs"]["diff_ids"]) == 1, f"{name}: skopeo reads it", image)
    harness.run("skopeo", "copy", "--quiet", f"oci-archive:{archive}", f"oci:{folder}/{name}.layout:now")
    harness.run("umoci", "unpack", "--image", f"{folder}/{name}.layout:now", os.path.join(folder, f"{name}.bundle"))
    root = os.path.join(folder, f"{name}.bundle", "rootfs")
    os.makedirs(os.path.join(root, "proc"), exist_ok=True)
    for device, minor in (("null", 3), ("urandom", 9)):
        path = os.path.join(root, "dev", device)
        if not os.path.exists(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.mknod(path, 0o20666, os.makedev(1, minor))
    return root, image["config"], size


def main(folder):
    if os.geteuid() != 0 or not all(map(shutil.which, ("mmdebstrap", "skopeo", "umoci", "dpkg-scanpackages"))):
        harness.skip("needs root, mmdebstrap, skopeo, umoci and dpkg-dev (tools/dev setup packages)")
    folder = os.path.abspath(folder)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    try:
        agent, configuration, agent_size = unpacked("agent", folder)
        check(not os.path.exists(os.path.join(agent, "bin", "sh")), "agent: no shell")
        check("iwarp-agent" in inside(agent, "iwarp-agent", "--version"), "agent: its program starts")
        toolkit, _, toolkit_size = unpacked("toolkit", folder)
        check(inside(toolkit, "sh", "-c", "command -v gcc cc clang tcc || true") == "", "toolkit: no compiler")
        for program in ("iwarp-conform", "iwarp-lint", "iwarp-peer", "iwarp-fuzz", "iwarp-perf", "iwarp-run", "iwarp-agent"):
            check(program in inside(toolkit, program, "--version"), f"toolkit: {program} starts")
        check(inside(toolkit, "iwarp-conform", "list").count("\n") > 2000, "toolkit: iwarp-conform finds its cases")
        inside(toolkit, "iwarp-conform", "run", "--results", "/tmp/own", "--select", "level:must")
        check(harness.load(toolkit, "tmp", "own", "run.json")["summary"]["PASS"] > 1000, "toolkit: the suite runs")

        # The agent as its image starts it, but on a port of this machine's that is free; the toolkit tests it.
        port = harness.free_port("127.0.0.1")
        words = [*configuration["Entrypoint"], *configuration["Cmd"]]
        check(words == ["/usr/bin/iwarp-agent", "--listen", "0.0.0.0:7472"], "agent: it listens on the port that the image names", words)
        harness.write(os.path.join(toolkit, "tmp", "token"), "a-token-of-the-test\n")
        harness.run("chroot", agent, *words, status=64, env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin"})
        with harness.Peer("chroot", agent, words[0], "--listen", f"0.0.0.0:{port}", strict=False, env={**os.environ, "IWARP_AGENT_TOKEN": "a-token-of-the-test"}):
            harness.write(os.path.join(toolkit, "tmp", "target.lua"), f'return {{ class = "agent", agent = "127.0.0.1:{port}", token_file = "/tmp/token", address = "127.0.0.1", station = "127.0.0.1" }}\n')
            inside(toolkit, "iwarp-conform", "run", "--target", "/tmp/target.lua", "--results", "/tmp/other", "--select", "ddp-stag-*")
        check(harness.load(toolkit, "tmp", "other", "run.json")["summary"]["PASS"] > 10, "the toolkit's image tests the agent's")
        print(f"toolkit {toolkit_size / 1e6:.1f} MB, agent {agent_size / 1e6:.1f} MB: good")
    finally:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(harness.start(main, "usage: check_containers.py FOLDER"))
