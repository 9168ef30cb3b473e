#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The command channel between the host and the user-mode kernel of tools/siw.

usage: channel.py serve N                              inside: serves the serial lines ttyS0 .. ttyS(N-1)
       channel.py exec STATE [-w DIR]... COMMAND...    outside: runs a command inside, with its output and exit status

A serial line of the kernel is a pair of FIFOs in STATE, N.in and N.out; it carries one command at a time.
Frames: a letter, the length of the rest (32 bits), the rest. To the kernel: H a nonce, by which both ends
begin afresh; R a part of the request (JSON); G its end; S a signal's number. From it: h the nonce; o and e
standard output and error; x the exit status. Frames are small enough for writes to FIFOs to be atomic.
"""
import contextlib
import ctypes
import fcntl
import glob
import json
import os
import secrets
import select
import signal
import struct
import subprocess
import sys

PART = 2048  # octets of a frame; a line holds several
HEAD = struct.Struct(">cI")
PATIENCE = 300  # seconds after which a kernel that does not answer hangs
FAILED = 125  # exit status: the command could not be run inside
GONE = 3  # exit status: there is no kernel, or no longer one (iwarp-conform: the target was never reached)


def frame(kind, rest=b""):
    return HEAD.pack(kind, len(rest)) + rest


def frames(kind, data):
    return b"".join(frame(kind, data[i:i + PART]) for i in range(0, len(data), PART))


def write_all(fd, data):
    while data:
        data = data[os.write(fd, data[:PART]):]


class Frames:
    """Takes octets as they come and returns whole frames."""

    def __init__(self):
        self.data = b""

    def take(self, data):
        self.data += data
        while len(self.data) >= HEAD.size:
            kind, length = HEAD.unpack_from(self.data)
            rest = self.data[HEAD.size:HEAD.size + length]
            if len(rest) < length:
                return
            self.data = self.data[HEAD.size + length:]
            yield kind, rest


# ---- inside ----

def call(function, *arguments, path=None):
    """Calls a function of libc that returns 0 if all is well."""
    if function(*arguments):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)


def enter(request):
    """Gives a command that is to begin mounts of its own, and its folder; they end with its last process."""
    clone_newns, ms_rec, ms_private = 0x20000, 0x4000, 1 << 18
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        call(libc.unshare, clone_newns)
        call(libc.mount, b"none", b"/", None, ms_rec | ms_private, None)
        for folder in request["writable"]:  # a second, writable hostfs over the read-only root
            name = os.fsencode(folder)
            call(libc.mount, b"none", name, b"hostfs", 0, name, path=folder)
        os.chdir(request["cwd"])
        os.execvpe(request["argv"][0], request["argv"], request["env"])
    except OSError as why:
        name = os.fsdecode(why.filename) if why.filename else request["argv"][0]
        os.write(2, ("siw exec: %s: %s\n" % (name, why.strerror)).encode())
    finally:
        os._exit(FAILED)


class Job:
    """A running command, which leads a process group: its process and its output."""

    def __init__(self, request):
        path = request["env"].get("PATH", os.defpath) + ":" + os.path.dirname(os.path.realpath(__file__))
        request["env"].update(PATH=path, TMPDIR="/dev/shm")
        self.process = subprocess.Popen(request["argv"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        start_new_session=True, preexec_fn=lambda: enter(request))
        self.streams = {self.process.stdout.fileno(): b"o", self.process.stderr.fileno(): b"e"}
        self.pidfd = os.pidfd_open(self.process.pid)

    def signal(self, number):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def end(self):
        """Ends the rest of its group as well. Returns the exit status as a shell gives it."""
        status = self.process.wait()
        self.signal(signal.SIGKILL)
        os.close(self.pidfd)
        self.process.stdout.close()
        self.process.stderr.close()
        return status if status >= 0 else 128 - status


def pass_output(line, job, fds):
    for fd in fds:
        data = os.read(fd, PART)
        if data:
            write_all(line, frame(job.streams[fd], data))
        else:
            del job.streams[fd]


def finish(line, job):
    """Finishes a command that has ended: passes on what it had written, and no more than that."""
    while ready := select.select(list(job.streams), [], [], 0)[0]:
        pass_output(line, job, ready)
    write_all(line, frame(b"x", b"%d" % job.end()))


def serve_line(path):
    line = os.open(path, os.O_RDWR | os.O_NOCTTY)
    incoming, request, job = Frames(), b"", None
    while True:
        watched = [line] + (list(job.streams) + [job.pidfd] if job else [])
        ready = select.select(watched, [], [])[0]
        if line in ready:
            for kind, rest in incoming.take(os.read(line, PART)):
                if kind == b"H":
                    if job:
                        job.signal(signal.SIGKILL)
                        job.end()
                    request, job = b"", None
                    write_all(line, frame(b"h", rest))
                elif kind == b"R":
                    request += rest
                elif kind == b"G":
                    job = Job(json.loads(request))
                elif kind == b"S" and job:
                    job.signal(int(rest))
        elif job and job.pidfd in ready:
            finish(line, job)
            job, request = None, b""
        elif job:
            pass_output(line, job, ready)


def serve(count):
    import termios
    import tty
    for n in range(count):
        path = "/dev/ttyS%d" % n
        fd = os.open(path, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(fd, termios.TCSANOW)
        if os.fork() == 0:  # inherits the open line, so that its settings stay
            serve_line(path)
    print("siw: serving", flush=True)
    os.wait()  # none of them ever ends
    sys.exit("siw: a command channel has ended")


# ---- outside ----

def die(text):
    print("siw exec: " + text, file=sys.stderr)
    sys.exit(GONE)


def free_line(state):
    """Returns the first unused serial line: its two descriptors and the lock that goes with them."""
    names = sorted(glob.glob(os.path.join(glob.escape(state), "*.in")))
    for name in names:
        lock = os.open(name + ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return os.open(name, os.O_RDWR), os.open(name[:-2] + "out", os.O_RDWR), lock
        os.close(lock)
    return die("all %d command channels are in use" % len(names) if names else "siw is not up")


def begin(to, source, kernel):
    """Synchronises both ends: skips what an earlier client left unread."""
    nonce = secrets.token_bytes(16)
    hello, seen = frame(b"h", nonce), b""
    write_all(to, frame(b"H", nonce))
    while True:
        ready = select.select([source, kernel], [], [], PATIENCE)[0]
        if source in ready:
            seen += os.read(source, 65536)
            if hello in seen:
                return seen[seen.index(hello) + len(hello):]
            seen = seen[-len(hello):]
        elif kernel in ready:
            die("the kernel has ended; its last words: tools/siw console")
        else:
            die("the kernel does not answer; its console: tools/siw console")


def wake_by_signals(numbers):
    """Returns a descriptor from which the numbers of signals can be read. A handler in Python would run only after the
    select() that a signal comes just before."""
    receives, sends = os.pipe()
    os.set_blocking(sends, False)
    signal.set_wakeup_fd(sends)
    for number in numbers:
        signal.signal(number, lambda *_: None)
    return receives


def execute(state, pid, writable, argv):
    try:
        kernel = os.pidfd_open(pid)
    except OSError:
        die("siw is not up (tools/siw up)")
    to, source, lock = free_line(state)
    rest = begin(to, source, kernel)
    request = {"argv": argv, "cwd": os.getcwd(), "env": dict(os.environ), "writable": writable}
    # A signal before the request would find no command to end.
    passed_on = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    signal.pthread_sigmask(signal.SIG_BLOCK, passed_on)
    signals = wake_by_signals(passed_on)
    write_all(to, frames(b"R", json.dumps(request).encode()) + frame(b"G"))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, passed_on)
    incoming, outputs = Frames(), {b"o": 1, b"e": 2}
    while True:
        for kind, data in incoming.take(rest):
            if kind == b"x":
                os.close(lock)
                return int(data)
            write_all(outputs[kind], data)
        rest = b""
        ready = select.select([source, kernel, signals], [], [])[0]
        if signals in ready:
            for number in os.read(signals, PART):
                write_all(to, frame(b"S", b"%d" % number))
        if source in ready:
            rest = os.read(source, 65536)
        elif kernel in ready:
            die("the kernel has ended under the command; its last words: tools/siw console")


def main(arguments):
    if arguments[0] == "serve":
        serve(int(arguments[1]))
    state, pid, arguments, writable = arguments[1], int(arguments[2]), arguments[3:], []
    while arguments[:1] == ["-w"]:
        writable += [os.path.realpath(folder) for folder in arguments[1].split(":") if folder]
        arguments = arguments[2:]
    for folder in writable:
        if not os.path.isdir(folder):
            sys.exit("siw exec: -w %s: there is no such folder" % folder)
    sys.exit(execute(state, pid, writable, arguments))


if __name__ == "__main__":
    main(sys.argv[1:])
