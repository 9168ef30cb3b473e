#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every kind of test of iwarp-perf over sockets, with few messages, whose octets are compared.
# shellcheck source=tools/tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# local_run NAME ROWS OPTION...: ends well, with ROWS rows below the heading.
local_run() {
    local name=$1 rows=$2 status
    shift 2
    "$bin/iwarp-perf" local --count 3 --rounds 2 --verify "$@" >"$scratch/said" 2>&1
    status=$?
    same "$name: exit" 0 "$status"
    same "$name: rows" "$rows" "$(tail -n +3 "$scratch/said" | wc -l)"
    [ "$status" -eq 0 ] || cat "$scratch/said" >&2
}

# latency and bandwidth of send, write, read in two sizes, of atomics in one; two lanes
local_run "all tests" 28 --test all --baseline tcp --size 5,70000
local_run "both ways, every lane" 35 --test bw --both-ways --baseline tcp --size 1,30000 --crc both --markers both
local_run "segments, connections" 28 --test all --baseline tcp --size 3,5000 --mss 536 --connections 3 --markers on
local_run "polling" 16 --test all --baseline tcp --poll --size 64 --congestion reno --json "$scratch/report.json" --html "$scratch/report.html"
local_run "a small window" 4 --test bw --window 1 --mulpdu 128 --size 1000 --socket-buffer 8192
local_run "every size" 24 --test send-lat -a

cat >"$scratch/check.py" <<'EOP'
import html.parser, json, sys
report = json.load(open(sys.argv[1]))
assert report["schema"] == 1 and report["verified"] and report["polling"], report
assert report["congestion"] == "reno", report
assert len(report["results"]) == 16, len(report["results"])
for row in report["results"]:
    tcp = row["lane"]["transport"] == "tcp"
    assert ("ratio_to_tcp" in row) != tcp, row
    assert all(calls > 0 for calls in row["system_calls_per_message"].values()), row
    assert ("p99" in row) == row["test"].endswith("-lat"), row
    assert ("microseconds" in row) == row["test"].endswith("-lat"), row

class Page(html.parser.HTMLParser):
    """What stands open, and how often each element came."""
    def __init__(self):
        super().__init__()
        self.open, self.count = [], {}
    def handle_starttag(self, tag, attrs):
        self.count[tag] = self.count.get(tag, 0) + 1
        if tag not in ("meta", "circle"):
            self.open.append(tag)
        assert not any("nan" in (value or "") or "inf" in (value or "") for _, value in attrs), attrs
    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if self.open[-1] == tag:
            self.open.pop()
    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

page = Page()
page.feed(open(sys.argv[2]).read())
assert not page.open, page.open
# Eight tests, each with a plot of its values and one of the ratios.
assert page.count["svg"] == 16 and page.count["table"] == 8, page.count
assert page.count["circle"] == 16 + 8, page.count
EOP
python3 -B "$scratch/check.py" "$scratch/report.json" "$scratch/report.html" || failed=1

local_run "threads" 14 --test all --size 5,70000 --connections 7 --threads 3 --both-ways
perf_threads=$("$bin/iwarp-perf" local --threads 3 2>&1)
same "threads without connections" "64 iwarp-perf: --threads 3: expected at most one for each connection" "$? $perf_threads"

# More connections than the soft limit of descriptors has room for, and than the hard one.
(ulimit -S -n 64 && exec "$bin/iwarp-perf" local --count 1 --rounds 1 --size 8 --connections 100) >"$scratch/said" 2>&1
same "descriptors as far as the hard limit goes" 0 $?
(ulimit -n 64 && exec "$bin/iwarp-perf" local --count 1 --rounds 1 --size 8 --connections 100) >"$scratch/said" 2>&1
same "not enough of them" "1 1" "$? $(grep -cE "^iwarp-perf: (cannot connect|the peer says: .*): Too many open files" "$scratch/said")"

# A soak: three times everything at least, a line of each of the first two and one at the end. A sanitizer that keeps freed
# memory would be taken for a leak.
ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=0:thread_local_quarantine_size_kb=0" \
    "$bin/iwarp-perf" local --soak 1 --count 2 --test all --size 5,3000 --connections 3 --crc both --both-ways >"$scratch/said" 2>&1
same "soak: exit" 0 $?
same "soak: lines" 1 "$(($(wc -l <"$scratch/said") >= 4))"
same "soak: the content of each line" 0 "$(tail -n +2 "$scratch/said" | grep -cvE '^ *[0-9.]+( +[1-9][0-9]*){3}$')"

# Server and client apart; the server goes on to the next client.
exec {out}< <(exec "$bin/iwarp-perf" server 127.0.0.1:0 2>"$scratch/server")
pids+=("$!")
read -r -t 60 line <&"$out" || line=""
at=${line#listening on }
for _ in 1 2; do
    "$bin/iwarp-perf" client "$at" --count 2 --rounds 1 --verify --test write-lat,read-bw --baseline tcp >"$scratch/said" 2>&1
    same "client: exit" 0 $?
    same "client: rows" 4 "$(tail -n +3 "$scratch/said" | wc -l)"
done
# A lane that no endpoint can be made for: its connection is closed with it.
cat >"$scratch/refused.py" <<'EOP'
import json, os, socket, sys
host, port = sys.argv[1].rsplit(":", 1)

def descriptors():
    return len(os.listdir(f"/proc/{sys.argv[2]}/fd"))

def session(**more):
    with socket.create_connection((host, int(port)), 60) as control, control.makefile("rw") as lines:
        def say(**message):
            print(json.dumps(message), file=lines, flush=True)
            return json.loads(lines.readline())
        say(**{"iwarp-perf": 4, "port": control.getsockname()[1]})
        say(**{**dict(command="open", tcp=False, crc=True, markers=False, poll=False, connections=1, mss=0, mulpdu=1, window=1,
                      threads=1, socket_buffer=0, size_max=8, sink=1, source=2, counter=3), **more})
        with socket.create_connection((host, int(port)), 60) as one:
            print(json.dumps({"port": one.getsockname()[1]}), file=lines, flush=True)
            answer = json.loads(lines.readline())["error"]
        assert lines.read() == ""
        return answer

session()
before = descriptors()
session()
assert "congestion control" in session(mulpdu=0, congestion="none")
assert descriptors() == before, (descriptors(), before)
EOP
python3 -B "$scratch/refused.py" "$at" "${pids[-1]}"
same "descriptors after a lane that was refused" 0 $?
# A client that comes while a lane's connections are expected is no part of it, but the next client; if the wait is long, a
# line says so.
cat >"$scratch/stranger.py" <<'EOP'
import json, socket, subprocess, sys
host, port = sys.argv[1].rsplit(":", 1)

def connect():
    return socket.create_connection((host, int(port)), 60)

with connect() as control, control.makefile("rw") as lines:
    def say(**message):
        print(json.dumps(message), file=lines, flush=True)
    def hear():
        return json.loads(lines.readline())
    say(**{"iwarp-perf": 4, "port": control.getsockname()[1]})
    hear()
    say(command="open", tcp=True, crc=False, markers=False, poll=False, connections=20, mss=0, mulpdu=0, window=1, threads=1,
        socket_buffer=0, size_max=8, sink=0, source=0, counter=0)
    hear()
    ours = [connect()]
    # Their connections come to the server before the others of ours.
    others = [subprocess.Popen([sys.argv[2], "client", sys.argv[1], "--count", "2", "--rounds", "1"], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True) for _ in range(2)]
    warnings = [other.stderr.readline() for other in others]
    ours += [connect() for _ in range(19)]
    # Each is the one whose port was sent, in whatever order they came.
    ours.reverse()
    for one in ours:
        say(port=one.getsockname()[1])
    assert hear() == {"attached": True}
    assert hear() == {"ready": True}
    say(command="run", lane=0, test=4, size=8, count=1, both=False, verify=True, seed=0)
    hear()
    octets = lambda number: bytes(((i + seed) * 167 + (i >> 8) * 59 + (seed >> 8)) & 255
                                  for seed in (1 + number * 7919,) for i in range(8))
    for number, one in enumerate(ours):
        one.sendall(octets(number))
    answer = hear()
    assert "calls" in answer, answer
    say(command="end")
for text in warnings:
    assert text.endswith("no answer yet; it may be busy with another client\n"), warnings
for other in others:
    assert (other.communicate()[1], other.returncode) == ("", 0)
EOP
python3 -B "$scratch/stranger.py" "$at" "$bin/iwarp-perf"
same "strangers at the door" 0 $?
# Who only knocks is no client, not even the one that --once is for.
exec {knocked}< <(exec "$bin/iwarp-perf" server 127.0.0.1:0 --once 2>"$scratch/once")
pids+=("$!")
read -r -t 60 line <&"$knocked" || line=""
at_once=${line#listening on }
exec {knock}<>"/dev/tcp/${at_once%:*}/${at_once##*:}"
exec {knock}<&-
"$bin/iwarp-perf" client "$at_once" --count 1 --rounds 1 >"$scratch/said" 2>&1
same "client after a knock" 0 $?
wait "${pids[-1]}"
same "the server's words of the knock" "0 " "$? $(cat "$scratch/once")"
exec {knocked}<&-
# A server with too few descriptors: it reports the reason, at whichever connection it comes.
exec {few}< <(ulimit -n 30 && exec "$bin/iwarp-perf" server 127.0.0.1:0 2>/dev/null)
pids+=("$!")
read -r -t 60 line <&"$few" || line=""
for baseline in "" "--baseline tcp"; do
    # shellcheck disable=SC2086
    "$bin/iwarp-perf" client "${line#listening on }" --connections 60 --count 2 --rounds 1 $baseline >"$scratch/said" 2>&1
    same "its reason" "1 iwarp-perf: the peer says: a connection of the lane cannot be accepted: Too many open files" "$? $(tail -n 1 "$scratch/said")"
done
exec {few}<&-
# A report for who waits at a pipe, and one where a link points to nothing yet.
mkfifo "$scratch/pipe"
cat "$scratch/pipe" >"$scratch/piped" &
reader=$!
ln -s "$scratch/linked" "$scratch/link"
"$bin/iwarp-perf" local --count 2 --rounds 1 --json "$scratch/pipe" --html "$scratch/link" >"$scratch/said" 2>&1
same "reports into a pipe and through a link" 0 $?
wait "$reader"
same "each has come" "2 2" "$(wc -l "$scratch/piped" "$scratch/linked" | awk '$1 > 5 {n++} END {print n - 1, NR - 1}')"
# Who says nothing has some seconds.
exec {silent}<>"/dev/tcp/${at%:*}/${at##*:}"
"$bin/iwarp-perf" client "$at" --count 2 --rounds 1 >"$scratch/said" 2>&1
same "client after a silent stranger" 0 $?
exec {silent}<&-
same "server's words of the silent" "iwarp-perf: server: control connection: nothing came for 10 seconds" "$(tail -n 1 "$scratch/server")"
# What does not speak the same language is sent away, and the server goes on.
printf 'GET / HTTP/1.0\n' >"/dev/tcp/${at%:*}/${at##*:}"
"$bin/iwarp-perf" client "$at" --count 2 --rounds 1 --json - >"$scratch/said" 2>"$scratch/table"
same "client after a stranger" 0 $?
same "JSON and nothing else" 1 "$(python3 -c 'import json, sys; print(len(json.load(sys.stdin)["results"]))' <"$scratch/said")"
same "the table is beside it" 3 "$(grep -cv "no answer yet" "$scratch/table")"
same "server's words" "iwarp-perf: server: the peer does not speak as iwarp-perf does" "$(tail -n 1 "$scratch/server")"
exec {out}<&-

perf() {
    refuses "$1" "iwarp-perf: $2" iwarp-perf "${@:3}"
}
perf 64 "no command: expected local, client, server or loop (see --help)"
perf 64 "--size 64,0: expected 1..8388608, or a list" local --size 64,0
perf 64 "--test ping: expected a list of send-lat, write-lat, read-lat, atomic-lat, send-bw, write-bw, read-bw, atomic-bw, lat, bw and all" local --test ping
perf 64 "--crc maybe: expected on, off or both" local --crc maybe
perf 64 "--mss 100: expected a number from 140 to 32767" local --mss 100
perf 64 "--baseline udp: expected tcp" local --baseline udp
perf 64 "--rounds 0: expected a number from 1 to 1000" local --rounds 0
perf 64 "--congestion none: expected what TCP has here: $(cat /proc/sys/net/ipv4/tcp_available_congestion_control)" local --congestion none
perf 64 "--congestion \"\": expected what TCP has here: $(cat /proc/sys/net/ipv4/tcp_available_congestion_control)" local --congestion ""
perf 64 "--soak 0: expected a number from 1 to 1000000" local --soak 0
perf 64 "--min-ratio and --max-ratio: expected --baseline tcp, too" local --min-ratio 0.5
perf 64 "200 connections of 8388608 octets: expected at most 1 GiB in all" local --connections 200 --size 8388608
perf 64 "1000 connections with a window of 4096: expected at most 2097152 in all" local --connections 1000 --window 4096
perf 64 "--min-ratio: expected a test of bandwidth, too" local --baseline tcp --test lat --min-ratio 0.5
perf 64 "--max-ratio: expected a test of latency, too" local --baseline tcp --test bw --max-ratio 2
perf 64 "--soak: did not expect --json, --html, --rounds, --slice or a ratio with it" local --soak 1 --json "$scratch/none"
perf 64 "--soak: did not expect --json, --html, --rounds, --slice or a ratio with it" local --soak 1 --slice 1
perf 64 "--count 20001: expected at most 20000 latencies of a connection in each of 1000 rounds" \
    local --test send-lat --count 20001 --rounds 1000
perf 64 "--cpu 1023: expected the number of a CPU here, or two" local --cpu 1023
perf 64 "--cpu: expected one number, as the server is not started here" client 127.0.0.1:1 --cpu 0,0
most=$(cat /proc/sys/net/core/wmem_max)
perf 64 "--socket-buffer $((most + 1)): expected at most $most (net.core.wmem_max)" local --socket-buffer $((most + 1))
perf 73 "$scratch: cannot be written: Is a directory" local --html "$scratch"
perf 64 "--html $scratch/both: is the file of --json" local --json "$scratch/both" --html "$scratch/both"
perf 73 "$scratch/no/file: cannot be written: No such file or directory" local --json "$scratch/no/file"
perf 64 "expected HOST:PORT" client
perf 64 "x: unexpected argument; see --help" local x
perf 64 'bad address "nowhere": expected HOST:PORT' client nowhere
perf 3 "127.0.0.1:1: cannot connect: Connection refused" client 127.0.0.1:1
perf 64 "--size 00000000000000000000000000000641: expected 1..8388608, or a list" local --size 00000000000000000000000000000641
perf 64 "--once: unknown option; see --help" local --once
perf 64 "--mss 32768: expected a number from 140 to 32767" local --mss 32768
"$bin/iwarp-perf" local --count 1 --rounds 1 --mss 32767 >/dev/null
same "the longest segments" 0 $?
# Results that are lost, each by itself, and standard output, whether full or closed.
"$bin/iwarp-perf" local --count 1 --rounds 1 --json /dev/full --html "$scratch/page" >/dev/null 2>"$scratch/said"
same "no room for the figures" "73 iwarp-perf: /dev/full: cannot be written: No space left on device" "$? $(cat "$scratch/said")"
same "the page is there" "</html>" "$(tail -n 1 "$scratch/page")"
for run in "local --count 1 --rounds 1" "local --count 1 --rounds 1 --json -" "loop --total 65536" "loop --pcap $scratch/capture --total 1000" --help; do
    # shellcheck disable=SC2086
    "$bin/iwarp-perf" $run >/dev/full 2>"$scratch/said"
    same "$run into what is full" "73 iwarp-perf: cannot write to standard output" "$? $(tail -n 1 "$scratch/said" | cut -d: -f1,2)"
    # shellcheck disable=SC2086
    "$bin/iwarp-perf" $run >&- 2>"$scratch/said"
    same "$run into nothing" "73 iwarp-perf: cannot write to standard output" "$? $(tail -n 1 "$scratch/said" | cut -d: -f1,2)"
done
# A limit that no stack can meet.
"$bin/iwarp-perf" local --count 1 --rounds 1 --baseline tcp --min-ratio 1000000 >"$scratch/said"
same "a missed limit: exit" 1 $?
exit "$failed"
