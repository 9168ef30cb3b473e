# SPDX-License-Identifier: BSD-3-Clause
"""What all parts of tools/dev use: the top folder and the error that ends a command with one line."""
import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Failed(Exception):
    """Ends the command; its text is the one line that says why."""


def jobs():
    """How many processes run at a time: IW_JOBS, or the processors that we may use."""
    return int(os.environ.get("IW_JOBS") or len(os.sched_getaffinity(0)))


def build_folder(preset):
    return os.path.join(ROOT, "build" if preset == "default" else f"build-{preset}")
