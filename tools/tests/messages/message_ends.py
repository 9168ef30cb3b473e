# SPDX-License-Identifier: BSD-3-Clause
"""Ends under load (message_load.c) as processes, and what has to hold of their journals. For the tests beside it."""
import collections
import errno
import os
import re
import struct
import subprocess

import harness

LIMIT = 120  # s; a guard
RECORD = struct.Struct("=sBHIQ")
LOST = (errno.ECONNRESET,)  # reports that leave open whether the message was taken


class Journal:
    """What one end has written: its own messages by number, and those that it took, by the run that sent them, in order."""

    def __init__(self, octets):
        self.sent, self.delivered, self.undelivered = set(), collections.Counter(), {}
        self.taken = collections.defaultdict(list)
        self.again = []  # messages with two fates
        for what, error, _, run, message in RECORD.iter_unpack(octets[:len(octets) // RECORD.size * RECORD.size]):
            if what == b"S":
                self.sent.add(message)
            elif what == b"T":
                self.taken[run].append(message)
            else:
                if message in self.delivered or message in self.undelivered:
                    self.again.append(message)
                if what == b"D":
                    self.delivered[message] += 1
                else:
                    self.undelivered[message] = error


def judge(sender, run, receivers, died):
    """What is wrong with a sender that has ended well, and those that took its messages, in the order in which they lived. `died`: those
    of them that were killed, each perhaps between taking a message and writing that down. Returns texts."""
    wrong = [f"message {message} has two fates" for message in sender.again]
    fates = set(sender.delivered) | set(sender.undelivered)
    wrong += [f"message {message} has no fate" for message in sorted(sender.sent - fates)]
    wrong += [f"message {message} has a fate and was not sent" for message in sorted(fates - sender.sent)]
    taken = [receiver.taken[run] for receiver in receivers]
    for numbers in taken:
        if numbers != sorted(set(numbers)):
            wrong.append("messages came twice or in another order")
    count = collections.Counter(message for numbers in taken for message in numbers)
    wrong += [f"message {message} was taken {times} times" for message, times in count.items() if times > 1]
    unwritten = sorted(set(sender.delivered) - set(count))
    if len(unwritten) > len(died):
        wrong.append(f"delivered and not taken: {unwritten}, of {len(died)} killed")
    wrong += [f"message {message} was taken and reported with {errno.errorcode[error]}"
              for message, error in sender.undelivered.items() if message in count and error not in LOST]
    wrong += [f"message {message} was taken and not sent" for message in sorted(set(count) - sender.sent)]
    return wrong


def judge_dead(sender, run, receiver):
    """The same for a sender that was killed: what the survivor took came once, in order and without a gap."""
    taken = receiver.taken[run]
    first_gap = next((i for i, message in enumerate(taken) if message != i), None)
    wrong = [] if first_gap is None else [f"the {first_gap}th message that came is {taken[first_gap]}"]
    if len(taken) > len(sender.sent) + 1:  # perhaps killed before it wrote the last one down
        wrong.append(f"{len(taken)} messages were taken, {len(sender.sent)} were sent")
    wrong += [f"message {message} is delivered and was not taken" for message in sorted(set(sender.delivered) - set(taken))]
    return wrong


class End:
    """A process of message_load; `where` are the words before it. `run` numbers it."""

    def __init__(self, where, load, folder, number, run, listen="127.0.0.1:0", words=(), environment=None):
        self.run, self.path = run, os.path.join(folder, f"journal.{run}")
        self.said = os.path.join(folder, f"said.{run}")
        with open(self.said, "wb") as said:
            self.process = subprocess.Popen(
                [*where, load, "--number", str(number), "--run", str(run), "--listen", listen, "--journal", self.path, *words],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True, start_new_session=True, env=environment)
        self.at = None

    def await_open(self):
        """Waits for its address, HOST:PORT."""
        line = self.process.stdout.readline()
        found = re.fullmatch(r"at (\S+)\n", line)
        harness.expect("an end opens", found, line + harness.read(self.said))
        self.at = found[1] if found else None
        return self.at

    @property
    def port(self):
        return int(self.at.rsplit(":", 1)[1])

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """It sends no more."""
        self.process.stdin.close()

    def await_end(self, seconds, what):
        """Complains unless it ends well in so many seconds."""
        try:
            status = self.process.wait(seconds)
            harness.expect(f"{what} ends well", status == 0, f"status {status}: {harness.read(self.said)}")
        except subprocess.TimeoutExpired:
            harness.complain(f"{what} has not ended after {seconds} s")

    def journal(self):
        return Journal(harness.octets(self.path) if os.path.exists(self.path) else b"")

    def remove(self):
        """Ends it if it is still there, and removes its files. Returns what was still there."""
        left = harness.end_groups([self.process])
        for stream in (self.process.stdin, self.process.stdout):
            stream.close()
        for path in (self.path, self.said):
            if os.path.exists(path):
                os.unlink(path)
        return left
