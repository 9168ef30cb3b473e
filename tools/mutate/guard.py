# SPDX-License-Identifier: BSD-3-Clause
"""Runs a command and all that it starts, and ends it when it hangs, computes or grows without end.

No guard asks how fast the machine is: one counts processor time, one the time in which every process of the command slept,
one memory. The one on the clock is there for what none of them sees.
"""

import ctypes
import dataclasses
import os
import resource
import signal
import subprocess
import time

TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
PR_SET_CHILD_SUBREAPER = 36
POLL = 0.1
MEMORY = 3 << 30
FILE_SIZE = 1 << 42  # files with holes are large: iwarp-lint --extract writes beyond 2^40


@dataclasses.dataclass
class Limits:
    cpu: float = 600.0  # seconds of processor time, of all its processes
    idle: float = 300.0  # seconds in which all its processes sleep, added up
    wall: float = 1800.0
    memory: int = MEMORY  # octets that its processes have resident


@dataclasses.dataclass
class Outcome:
    status: int | None  # as of subprocess; None if it was ended by a guard
    why: str
    output: bytes
    cpu: float
    idle: float
    wall: float


def adopt():
    """Makes this process the parent of what its children leave: so it can be found and ended."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _stat(pid):
    """Parent, state, processor time in ticks, resident pages; None if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return int(fields[1]), fields[0], sum(int(f) for f in fields[11:15]), int(fields[21])


def descendants():
    """All living processes that come from this one: pid to _stat."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (stat := _stat(name)):
            children.setdefault(stat[0], []).append((int(name), stat))
    found = {}
    left = [os.getpid()]
    while left:
        for pid, stat in children.get(left.pop(), ()):
            found[pid] = stat
            left.append(pid)
    return found


def _reap():
    """Takes the dead that are not waited for by anybody else."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def sweep():
    """Ends all that comes from this process."""
    for _ in range(200):
        left = [pid for pid, stat in descendants().items() if stat[1] != b"Z"]
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        _reap()
        if not left:
            return
        time.sleep(0.01)


def _spent():
    """The processor time of all children that have been waited for, and of theirs."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _threads_asleep(pid):
    """True if no thread of the process runs or waits for a disk."""
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            stat = _stat(f"{pid}/task/{task}")
            if stat and stat[1] in (b"R", b"D"):
                return False
    except OSError:
        return False
    return True


def run(command, output, limits, cwd=None, env=None, until=None):
    """Runs a command, its output into the file `output`; `until(path)` true ends it early.

    Only for a process that has called adopt() and has no other child."""

    def prepare():
        os.setsid()
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)  # nohup and background shells have them ignored
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_SIZE, FILE_SIZE))

    began = time.monotonic()
    before = _spent()
    with open(output, "wb") as file:
        child = subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=file,
                                 stderr=subprocess.STDOUT, preexec_fn=prepare)
    ticks = idle = 0
    last = began
    why = ""
    pause = 0.002
    while (status := child.poll()) is None:
        now = time.monotonic()
        alive = descendants()
        spent = sum(stat[2] for stat in alive.values())
        resident = sum(stat[3] for stat in alive.values()) * PAGE
        if all(_threads_asleep(pid) for pid, stat in alive.items() if stat[1] != b"Z"):
            idle += min(now - last, 2 * POLL)  # what was not looked at does not count
        last = now
        ticks = max(ticks, spent)
        if ticks / TICK > limits.cpu:
            why = f"more than {limits.cpu:.0f} s of processor time"
        elif idle > limits.idle:
            why = f"asleep for more than {limits.idle:.0f} s"
        elif now - began > limits.wall:
            why = f"longer than {limits.wall:.0f} s"
        elif resident > limits.memory:
            why = f"more than {limits.memory >> 20} MiB"
        elif until and until(output):
            why = "enough"
        if why:
            break
        time.sleep(pause)
        pause = min(POLL, pause * 1.5)
    sweep()
    if status is None:
        child.returncode = -signal.SIGKILL  # swept
    with open(output, "rb") as file:
        text = file.read(4 << 20)
    return Outcome(None if why else status, why, text, _spent() - before, idle, time.monotonic() - began)
