# SPDX-License-Identifier: BSD-3-Clause
"""Runs of the suite against siw in an instance of tools/siw of its own, for faults.py and mend_table.py."""
import json
import os
import shutil
import subprocess
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
SIW = os.path.join(HERE, "..", "siw")
BASELINES = os.path.join(HERE, "..", "..", "conformance", "baselines")
BASELINE = {"siw": "siw-rping", "siw-client": "siw-rping-client", "siw-agent": "siw-agent"}  # of each target
GOOD = (0, 1, 2, 3)  # exit statuses of a run that went to its end


class RunFailed(Exception):
    """A run that did not go to its end. `status`: what the program is to end with."""

    def __init__(self, text, status=70):
        super().__init__(text)
        self.status = status


def baseline(target):
    return os.path.join(BASELINES, BASELINE[target])


class Instance:
    """Has a folder for what runs; `results` is that of the runs."""

    def __init__(self, programs, results, prefix):
        self.conform = os.path.join(os.path.abspath(programs), "iwarp-conform")
        self.results = os.path.abspath(results)
        os.makedirs(self.results, exist_ok=True)
        self.folder = tempfile.mkdtemp(prefix=prefix)

    def call(self, settings, *words, **more):
        """Returns the exit status of a program; `settings`: variables of its environment, like IW_SIW_KERNEL."""
        environment = dict(os.environ, TMPDIR=self.folder, **settings)
        return subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, check=False, **more).returncode

    def run(self, settings, target, name, words):
        """Runs the suite with these words more. Returns its cases by id; the output is in results/NAME/TARGET."""
        folder = os.path.join(self.results, name, target)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        with open(os.path.join(folder, "output"), "w", encoding="utf-8") as log:
            if self.call(settings, SIW, "up", stdout=log, stderr=log):
                raise RunFailed("%s: the kernel does not start; see %s/output" % (name, folder), 3)
            status = self.call(settings, self.conform, "run", "--target", target, "--results", folder, *words, stdout=log, stderr=log)
            self.call(settings, SIW, "down", stdout=log, stderr=log)
        if status not in GOOD:
            raise RunFailed("%s, %s: iwarp-conform ended with status %d; see %s/output" % (name, target, status, folder))
        with open(os.path.join(folder, "run.json"), encoding="utf-8") as f:
            return {case["id"]: case for case in json.load(f)["cases"]}

    def close(self):
        self.call({}, SIW, "down", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        shutil.rmtree(self.folder)
