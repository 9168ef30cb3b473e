#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tools/cross_version.py with programs that only say what a suite would: what differs, what is known, which revision."""
import contextlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import cross_version  # noqa: E402

# Cases of a version: verdicts against the agent of each, by the word that the agent's file holds.
CONFORM = """#!/usr/bin/env python3
import fnmatch, json, os, sys
words = sys.argv[1:]
os.makedirs(words[words.index("--results") + 1])
agent = open(words[words.index("--agent") + 1]).read().strip()
wanted = [words[i + 1] for i, word in enumerate(words) if word == "--select"]
again = "--time-scale" in words
cases = []
for name, verdicts in %r.items():
    if wanted and not any(fnmatch.fnmatch(name, w) for w in wanted):
        continue
    verdict = verdicts.get(agent + "-again" if again else agent) or verdicts.get(agent, "PASS")
    cases.append({"id": name, "verdict": verdict, "reason": None if verdict == "PASS" else "so it is"})
json.dump({"cases": cases}, open(words[words.index("--json") + 1], "w"))
sys.exit(0 if all(c["verdict"] == "PASS" for c in cases) else 1)
"""


class CrossVersion(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.top = self.folder / "clone"
        (self.top / "tools" / "results").mkdir(parents=True)
        self.git("init", "-q")
        self.first, self.second, self.third = (self.commit(text) for text in ("one", "two", "three"))
        for name, value in (("TOP", self.top), ("KNOWN", self.top / "tools" / "cross_version.csv")):
            self.addCleanup(setattr, cross_version, name, getattr(cross_version, name))
            setattr(cross_version, name, value)
        self.known("")

    def git(self, *words):
        who = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
        done = subprocess.run(["git", "-C", self.top, *who, *words], check=True, stdout=subprocess.PIPE, text=True)
        return done.stdout.strip()

    def commit(self, text):
        self.git("commit", "-q", "--allow-empty", "-m", text)
        return self.git("rev-parse", "HEAD")

    def known(self, rows):
        cross_version.KNOWN.write_text("since,station,cases,reason\n" + rows, encoding="utf-8")

    def recorded(self, name, text):
        (self.top / "tools" / "results" / name).write_text(text, encoding="utf-8")

    def version(self, name, folder, cases):
        folder.mkdir(parents=True)
        (folder / "iwarp-conform").write_text(CONFORM % cases, encoding="utf-8")
        (folder / "iwarp-agent").write_text(name, encoding="utf-8")
        for program in folder.iterdir():
            program.chmod(0o755)
        return folder

    def play(self, old, new, *words):
        """The exit status and what is printed. The other revision counts as built."""
        results = self.folder / "results"
        self.version("old", results / "base" / "build" / "bin", old)
        (results / "base" / "revision").write_text(self.first, encoding="ascii")
        programs = self.version("new", self.folder / "bin", new)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            status = cross_version.main([str(programs), str(results), "--base", self.first, "-j1", *words])
        return status, printed.getvalue()

    def test_what_is_the_same_is_no_difference(self):
        status, text = self.play({"a": {}, "b": {"old": "SKIP", "new": "SKIP"}}, {"a": {}})
        self.assertEqual(status, 0, text)
        self.assertIn("old station: 2 cases, 0 differ with the other agent, 0 of them unknown", text)
        self.assertIn("new station: 1 cases, 0 differ", text)

    def test_a_difference_in_either_direction_is_told(self):
        status, text = self.play({"a": {"new": "FAIL"}}, {"a": {}})
        self.assertEqual(status, 1)
        self.assertIn("DIFFERS old station, a\n          own agent    PASS\n          other agent  FAIL: so it is\n", text)

    def test_a_difference_of_the_new_station_is_told(self):
        status, text = self.play({"a": {}}, {"a": {}, "b": {"old": "NOTE"}})
        self.assertEqual(status, 1)
        self.assertIn("DIFFERS new station, b", text)

    def test_what_does_not_differ_again_is_none(self):
        status, text = self.play({"a": {"new": "INCONCLUSIVE", "new-again": "PASS"}}, {"a": {}})
        self.assertEqual(status, 0, text)

    def test_what_is_known_is_told_with_its_reason(self):
        self.known(f'{self.second},new,"x-* b",mended since\n')
        status, text = self.play({"a": {}}, {"b": {"old": "FAIL"}})
        self.assertEqual(status, 0, text)
        self.assertIn("known   new station, b", text)
        self.assertIn("mended since", text)

    def test_known_of_the_other_station_does_not_count(self):
        self.known(f"{self.second},old,b,mended since\n")
        status, text = self.play({"a": {}}, {"b": {"old": "FAIL"}})
        self.assertEqual(status, 1, text)
        self.assertIn("not met: old b: mended since", text)

    def test_a_change_that_the_base_has_excuses_nothing(self):
        self.known(f"{self.first},new,b,mended since\n")
        self.assertEqual(self.play({"a": {}}, {"b": {"old": "FAIL"}})[0], 1)

    def test_a_table_with_a_word_too_many_is_refused(self):
        self.known(f"{self.second},newer,b,mended since\n")
        self.assertRaises(cross_version.Bad, self.play, {}, {})

    def test_the_base_is_the_last_tag(self):
        self.git("tag", "v1", self.first)
        self.recorded("runs.csv", f"date,commit,step,verdict\n2026-01-01,{self.second},cross-version,ok\n")
        self.assertEqual(cross_version.base_revision(None), self.first)

    def test_the_base_is_that_of_the_last_comparison(self):
        self.assertIsNone(cross_version.base_revision(None))
        self.recorded("figures.csv", f"date,commit,what,figures\n2026-01-01,{self.first[:9]},x,y\n")
        self.assertEqual(cross_version.base_revision(None), self.first)
        # Later are another step, a comparison that failed, and HEAD itself.
        self.recorded("runs.csv", f"date,commit,step,verdict\n1,{self.first},cross-version,ok\n2,{self.second[:9]}-dirty,cross-version,ok\n"
                                  f"3,{self.first},msan,ok\n4,{self.first},cross-version,FAILED\n5,{self.third},cross-version,ok\n")
        self.assertEqual(cross_version.base_revision(None), self.second)
        self.assertEqual(cross_version.base_revision("HEAD"), self.third)
        self.assertIsNone(cross_version.base_revision("no-such-thing"))

    def test_the_committed_table_can_be_read(self):
        top = pathlib.Path(__file__).resolve().parent.parent
        cross_version.read_known(top / "cross_version.csv")


if __name__ == "__main__":
    os.environ.pop("GIT_DIR", None)
    unittest.main()
