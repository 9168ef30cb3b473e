#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The action of .github: whatever it refers to is there, and its scripts do what they say, against a right peer and a bent one.
The workflows and the snippets for GitLab and Jenkins: whatever they call is there. Uploads are not tried: they are GitHub's."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import yaml

import harness
from harness import check

TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
ACTION = os.path.join(TOP, ".github", "actions", "conform")
REFERENCE = re.compile(r"\$\{\{ *(.*?) *\}\}")


def check_references(action):
    """Inputs and outputs that are named exist, and each input is used."""
    steps = action["runs"]["steps"]
    written = {step["id"]: set(re.findall(r'echo "(\w+)=', step["run"])) for step in steps if "id" in step}
    used, seen = set(), set()
    for step in steps:
        text = yaml.dump(step)
        used |= set(re.findall(r"inputs\.(\w+)", text))
        for name, output in re.findall(r"steps\.(\w+)\.outputs\.(\w+)", text):
            check(name in seen and output in written[name], f"step {step['name']}: {name} has written {output} before")
        if "run" in step:
            check(step.get("shell") == "bash", f"step {step['name']}: a composite action names its shell")
            check(not REFERENCE.search(step["run"]), f"step {step['name']}: no text of others becomes part of a script")
            for name in step.get("env", {}):
                check(f"${name}" in step["run"] or f"${{{name}" in step["run"], f"step {step['name']} uses {name}")
        else:
            check(re.fullmatch(r"[\w-]+/[\w/-]+@v\d+", step["uses"]), f"step {step['name']}: {step['uses']}")
        seen.add(step.get("id"))
    check(used == set(action["inputs"]), "each input is used, and no other one", used ^ set(action["inputs"]))
    for name, output in action["outputs"].items():
        step, value = re.fullmatch(r"\$\{\{ steps\.(\w+)\.outputs\.(\w+) \}\}", output["value"]).groups()
        check(value in written[step], f"output {name} is written")
    check(all(one.get("description", "").endswith(".") for one in [*action["inputs"].values(), *action["outputs"].values()]), "each is described")


class Runner:
    """Runs the scripts of the action, as GitHub's runner does: one after the other, each with its environment."""

    def __init__(self, action, folder, **inputs):
        self.folder = folder
        self.values = {f"inputs.{name}": one.get("default", "") for name, one in action["inputs"].items()}
        self.values.update({f"inputs.{name}": value for name, value in inputs.items()})
        self.summary = os.path.join(folder, "summary")
        for step in action["runs"]["steps"]:
            if "run" in step:
                self.status = self.step(step)
                if self.status != 0:
                    break

    def step(self, step):
        output = harness.write(os.path.join(self.folder, "output"), "")
        environment = {name: REFERENCE.sub(lambda found: self.values.get(found[1], ""), text) for name, text in step.get("env", {}).items()}
        script = harness.write(os.path.join(self.folder, "script"), step["run"])
        done = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", script], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              env={**os.environ, **environment, "GITHUB_OUTPUT": output, "GITHUB_STEP_SUMMARY": self.summary, "GITHUB_ACTION_PATH": ACTION})
        for line in harness.read(output).splitlines():
            name, value = line.split("=", 1)
            self.values[f"steps.{step['id']}.outputs.{name}"] = value
        self.said = done.stdout
        return done.returncode

    def results(self, *names):
        return os.path.join(self.folder, self.values["inputs.results"], *names)


def check_runs(action, programs, folder):
    conform, peer = (os.path.join(programs, name) for name in ("iwarp-conform", "iwarp-peer"))
    right = Runner(action, os.path.join(folder, "right"), target="embedded", select="ddp-stag-zero ddp-stag-unknown", program=conform, arguments="-j 2")
    check(right.status == 0 and right.values["steps.run.outputs.status"] == "0", "a right peer: the job succeeds", right.said)
    check(right.values["steps.report.outputs.findings"] == "0" and "2 PASS" in harness.read(right.summary), "and has no findings")
    cases = xml.etree.ElementTree.parse(right.results("junit.xml")).findall(".//testcase")
    check(len(cases) == 2, "the two cases that were chosen are in the JUnit report")
    check("<html" in harness.read(right.results("index.html")).lower(), "there is a page")

    with harness.listening(peer, "--ignore", "ddp-stag", strict=False) as bent:
        wrong = Runner(action, os.path.join(folder, "wrong"), target=f"tcp:{bent.address}", select="ddp-stag-zero", program=conform)
    check(wrong.status == 1 and wrong.values["steps.report.outputs.findings"] == "1", "a bent peer: the job fails, one finding", wrong.said)
    found = harness.load(wrong.results("findings.sarif"))["runs"][0]
    result, rule = found["results"][0], found["tool"]["driver"]["rules"][0]
    check(result["ruleId"] == rule["id"] == "DDP-7.1-10" and result["level"] == "error", "the SARIF names the rule")
    check(rule["helpUri"] == "https://www.rfc-editor.org/rfc/rfc5041#section-7.1" and rule["help"]["text"], "and links to its section")
    place = result["locations"][0]["physicalLocation"]
    check(place["artifactLocation"]["uri"] == "conformance/cases/ddp/tagged-stag.lua" and place["region"]["startLine"] > 1, "a place that is relative to the checkout", place)
    check(re.fullmatch(r"[0-9a-f]{16}:1", result["partialFingerprints"]["primaryLocationLineHash"]), "and a fingerprint")
    check(rule["defaultConfiguration"]["level"] == "error", "a broken MUST is an error")
    check("| DDP-7.1-10 |" in harness.read(wrong.summary), "the summary of the job names it, too")

    lost = Runner(action, os.path.join(folder, "lost"), target="nosuch", program=conform)
    check(lost.status == 64, "a target that is none: the job fails with 64", lost.said)


def jobs_of(path):
    jobs = yaml.safe_load(harness.read(path))["jobs"]
    for job in jobs.values():
        check(job["runs-on"] and job["steps"] and all(("run" in step) != ("uses" in step) for step in job["steps"]), f"{os.path.basename(path)}: each step runs or uses")
    return jobs


def check_commands(text, where):
    """The programs of the checkout that a text calls are there."""
    called = set(re.findall(r"(?<![\w./-])(\.ci/run|tools/[\w-]+)(?= |$|\")", text, re.MULTILINE))
    check(called and all(os.access(os.path.join(TOP, name), os.X_OK) for name in called), f"{where} calls what is there: {' '.join(sorted(called))}")


def check_others():
    for name in sorted(os.listdir(os.path.join(TOP, ".github", "workflows"))):
        path = os.path.join(TOP, ".github", "workflows", name)
        for job, content in jobs_of(path).items():
            check_commands("\n".join(step.get("run", "") for step in content["steps"]), f"{name}: {job}")
    readme = harness.read(TOP, "tools", "packaging", "README.md")
    blocks = dict(re.findall(r"```(\w+)\n(.*?)```", readme, re.DOTALL))
    gitlab = yaml.safe_load(blocks["yaml"])
    check(all(isinstance(line, str) for job in gitlab.values() for line in job["script"]), "the snippet for GitLab has scripts")
    jenkins = blocks["groovy"]
    check(all(jenkins.count(left) == jenkins.count(right) for left, right in ("{}", "()", "[]")), "the snippet for Jenkins is closed")
    for words in re.findall(r"iwarp-conform run ([^'\n]*)", blocks["yaml"] + jenkins):
        check(set(re.findall(r"--[\w-]+", words)) <= {"--target", "--junit", "--html", "--results"}, "both use options that there are", words)


def main(programs):
    action = yaml.safe_load(harness.read(ACTION, "action.yml"))
    check_references(action)
    if shutil.which("shellcheck"):
        for step in action["runs"]["steps"]:
            if "run" in step:
                harness.run("shellcheck", "--shell=bash", "-", input=step["run"])
    with tempfile.TemporaryDirectory() as folder:
        check_runs(action, os.path.abspath(programs), folder)
    check_others()
    return 0


if __name__ == "__main__":
    sys.exit(harness.start(main, "usage: check_action.py PROGRAMS"))
