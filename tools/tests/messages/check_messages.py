#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""iwarp-msg's ping, serve and get, each end a process under iwarp-run: octets are compared, and iwarp-lint finds nothing in a capture. The same beside
plain TCP, what top shows, and servers that end, die, and are replaced.

usage: check_messages.py IWARP-RUN IWARP-MSG IWARP-LINT
"""
import json
import os
import random
import signal
import socket
import subprocess
import tempfile

import harness
from harness import check

LIMIT = 300  # s; a guard
NUMBER = "4711"
TCP = r"plain TCP at (?P<tcp>127\.0\.0\.1:\d+)"
SERVING = r"serving 4711 at (?P<host>127\.0\.0\.1):(?P<port>\d+)"


def beside_tcp(folder, files, client, tcp):
    """The same over plain TCP, in turn with the messages."""
    out = os.path.join(folder, "beside")
    for words in (("ping", "--size", "1"), ("ping", "--size", "50"), ("ping", "--size", "3000000"), ("get", "below/long", "--output", out),
                  ("get", "below/empty", "--output", out)):
        size = len(files[words[1][6:]]) if words[0] == "get" else int(words[2])
        seen = [json.loads(line) for line in client(*words, "-n", "3", "--json", "--tcp", tcp).stdout.splitlines()]
        check([one["type"] for one in seen] == [words[0], words[0] + "-tcp"], f"{words} is measured both ways", seen)
        for one in seen:
            check(one["octets"] == size and one["round_trips"] == 3 and 0 < one["us_p50"] <= one["us_most"], f"{words}: all came back", one)
            check(one["cpu_us"] > 0 and one["far_cpu_us"] > 0, f"{words}: both ends spent time", one)
    for words in (("get", "below/long"), ("get", "below/short"), ("get", "below/empty")):
        client(*words, "--output", out, "--count", "2", "--tcp", tcp)
        with open(out, "rb") as file:
            check(file.read() == files[words[1][6:]], f"{words}: what came last is what was served")
    seen = client("get", "no", "--output", out, "--count", "1", "--tcp", tcp, status=1).stderr
    check(seen == f"iwarp-msg: {NUMBER}: no: No such file or directory\n", "a file that is not there", seen)
    for words, why in ((("--tcp", tcp), "--tcp: expected --count, too"), (("--json",), "--json: expected --count, too"),
                       (("--count", "2"), "--count: expected --output, too")):
        seen = client("get", "below/short", *words, status=64).stderr
        check(seen == f"iwarp-msg: {why}\n", f"{words} alone is refused", seen)
    with socket.create_connection(("127.0.0.1", int(tcp.split(":")[1]))) as line:
        line.sendall((1 << 62).to_bytes(8, "big"))
        check(line.recv(1) == b"", "a message without end ends the connection")


def top(msg, process, address):
    """What another program sees of the server."""
    seen = json.loads(harness.run(msg, "top", "--json", str(process)).stdout)
    check(seen["type"] == "end" and seen["process"] == process and seen["program"] == "iwarp-msg" and seen["at"] == address, "top knows the server", seen)
    check(seen["services"] == 1 and seen["service_list"][0]["number"] == int(NUMBER) and seen["sent"] > 100, "top knows its service", seen)
    lines = harness.run(msg, "top", "--count", "2", "--interval", "0.1", str(process)).stdout.splitlines()
    check(lines.count("1 end of libiwarp-messages") == 2, "two tables", lines)
    rows = [line.split() for line in lines if line.split()[:1] == [str(process)]]
    check([row[1:4] for row in rows] == [["iwarp-msg", address, "1"]] * 2, "a row for each", rows)
    check(rows[0][9] == "-" and rows[1][9] == "0", "rates from the second table on", rows)
    check([NUMBER, "0", "0", "0"] in [line.split()[:4] for line in lines], "its service has a row", lines)
    check(any(line.split()[:1] == [str(process)] for line in harness.run(msg, "top").stdout.splitlines()), "without a process all are shown")
    seen = harness.run(msg, "top", str(os.getpid()), status=3).stderr
    check(seen == f"iwarp-msg: {os.getpid()}: no end of libiwarp-messages that this user may see\n", "a process without an end", seen)


def serve(run, msg, folder, *more, port=0, says=SERVING):
    return harness.Peer(run, msg, "serve", NUMBER, folder, "--listen", f"127.0.0.1:{port}", "--no-resolver", *more, says=says, stderr=None)


def dead_server(run, msg, folder, restarted):
    """The server dies, or is another one at once, while most of a file has not come yet: `get` has to say so."""
    with open(os.path.join(folder, "large"), "wb") as file:
        file.truncate(1 << 30)
    server = serve(run, msg, folder)
    client = subprocess.Popen([run, msg, "get", NUMBER, "large", "--no-resolver", "--timeout", "1000", "--at", f"{NUMBER}={server.address}"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        client.stdout.read(1)  # the rest of the first part waits for us, and so the client
        server.end(signal.SIGKILL, -signal.SIGKILL)
        if restarted:
            server = serve(run, msg, folder, port=server.port)
        _, said = client.communicate(timeout=LIMIT)
    finally:
        server.end(signal.SIGKILL, None)
        client.kill()
    check(client.returncode == 1, "a file that did not come is a failure", client.returncode)
    check(said.decode() == f"iwarp-msg: {NUMBER}: its process is gone, no answer came\n", f"the server died, restarted: {restarted}", said)


def main(run, msg, lint):
    with tempfile.TemporaryDirectory() as folder:
        files = {"empty": b"", "short": b"hello\n", "long": random.Random(1).randbytes(3000001)}
        os.mkdir(os.path.join(folder, "served"))
        os.mkdir(os.path.join(folder, "served", "below"))
        for name, octets in files.items():
            with open(os.path.join(folder, "served", "below", name), "wb") as file:
                file.write(octets)
        os.symlink("/etc/passwd", os.path.join(folder, "served", "link"))
        server = serve(run, msg, os.path.join(folder, "served"), "--tcp", "127.0.0.1:0", says=f"{TCP}\n{SERVING}")
        with server:
            place = ["--no-resolver", "--at", f"{NUMBER}={server.address}"]

            def client(*words, status=0, captured=None, number=NUMBER):
                capture = ["--capture", captured] if captured else []
                return harness.run(run, *capture, msg, words[0], number, *words[1:], *place, status=status, timeout=LIMIT)

            for size in ("1", "50", "4096", "4097", "1000000"):
                capture = os.path.join(folder, f"{size}.pcapng")
                seen = json.loads(client("ping", "--size", size, "--count", "20", "--warm-up", "0", "--json", captured=capture).stdout)
                check(seen["octets"] == int(size) and seen["round_trips"] == 20, "all came back", seen)
                check(0 < seen["us_least"] <= seen["us_p50"] <= seen["us_p99"] <= seen["us_most"], "times are in order", seen)
                harness.run(lint, capture)
            for name, octets in files.items():
                out = os.path.join(folder, name)
                capture = os.path.join(folder, f"{name}.pcapng")
                client("get", f"below/{name}", "--output", out, captured=capture)
                with open(out, "rb") as file:
                    check(file.read() == octets, f"{name} is what was served")
                harness.run(lint, capture)
            for path, why in (("no", "No such file or directory"), ("../served/below/short", "not below the folder"), ("below", "not a file"),
                              ("link", "Too many levels of symbolic links"), ("/etc/passwd", "not below the folder")):
                seen = client("get", path, status=1).stderr
                check(seen == f"iwarp-msg: {NUMBER}: {path}: {why}\n", f"{path} is refused", seen)
            beside_tcp(folder, files, client, server.said["tcp"])
            top(msg, server.process.pid, server.address)
            seen = client("ping", "--timeout", "200", status=3, number="4712").stderr
            check(seen == "iwarp-msg: 4712: nobody was found who has it\n", "a number that nobody has", seen)
            server.end(signal.SIGINT, 130)
        seen = harness.run(run, msg, "ping", NUMBER, *place, "--timeout", "500", status=3, timeout=LIMIT).stderr
        check(seen == f"iwarp-msg: {NUMBER}: nobody was found who has it\n", "nobody listens there", seen)
        serve(run, msg, folder).end()
        dead_server(run, msg, folder, False)
        dead_server(run, msg, folder, True)


harness.start(main, __doc__)
