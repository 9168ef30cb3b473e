#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What check_pyverbs.py makes of tests that pass, fail, skip, die and are gone, and of the rows about them.

usage: test_pyverbs.py
"""
import os
import sys
import tempfile

import harness

HERE = os.path.dirname(os.path.abspath(__file__))
# As little as the script expects of rdma-core's.
FILES = {
    "__init__.py": "",
    "args_parser.py": "class parser:\n    parse_args = staticmethod(lambda: None)\n",
    "utils.py": "_poll_cq = None\n",
    "base.py": "class RDMATestCase: pass\nclass RCResources: pass\nclass RDMACMBaseTest:\n    two_nodes_rdmacm_traffic = None\n",
    "test_mlx5_none.py": "import nothing\n",
    "test_some.py": """import os, signal, unittest
class Some(unittest.TestCase):
    def test_dies(self): os.kill(os.getpid(), signal.SIGKILL)
    def test_fails(self): self.assertEqual(1, 2)
    def test_passes(self): pass
    def test_skips(self): self.skipTest("for a reason of its own")
""",
}
HEAD = "test,outcome,reason\n"
GOOD = "test_some.*.test_dies,fail,it may\ntest_some.Some.test_fail*,fail,one is not two\ntest_some.Some.test_skips,skip,it says so\n"


class Bench(harness.Bench):
    def __init__(self, folder):
        super().__init__(sys.executable, folder)
        for name, text in FILES.items():
            self.write(f"source/tests/{name}", text)

    def check(self, rows, *words):
        """Status and lines for a table of these rows. env stands for iwarp-run: it runs what follows."""
        table = self.write("table.csv", HEAD + rows)
        done = self.run(None, "-B", os.path.join(HERE, "check_pyverbs.py"), "/usr/bin/env", "--table", table, "--source", self.at("source"), *words)
        return done.returncode, done.stdout.splitlines(), done.stderr

    def problem(self, what, rows, text, *words):
        status, lines, _ = self.check(rows, *words)
        harness.equal(f"status: {what}", status, 1)
        harness.equal(f"lines: {what}", len(lines), 2)
        harness.expect(what, text in lines[0], lines)


def main():
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        harness.equal("each has its row", bench.check(GOOD), (0, ["1 pass, 1 skip, 2 fail, 0 problems"], ""))
        harness.equal("either", bench.check("*passes,either,who knows\n*fails,either,who knows\n", "*passes", "*fails")[0], 0)
        bench.problem("either, but it skips", "*skips,either,who knows\n", "test_skips: skip, but the table says either", "*skips")
        bench.problem("a failure without a row", GOOD.replace("test_fail*", "test_failing", 1), "test_some.Some.test_fails: fail without a reason", "*fails")
        bench.problem("a skip without a row", "", "test_skips: skip without a reason in the table: skipped: for a reason of its own", "*skips")
        bench.problem("a death without a row", "", "test_dies: fail without a reason in the table: ended by signal 9", "*dies")
        bench.problem("a row whose test passes", GOOD + "test_some.Some.test_passes,fail,not so\n", "test_passes: pass, but the table says fail (not so)")
        bench.problem("a row whose test ends otherwise", "*skips,fail,not so\n", "test_skips: skip, but the table says fail (not so)", "*skips")
        bench.problem("a row without a test", GOOD + "test_some.Some.test_gone,fail,gone\n", "test_gone: no test has this name")
        status, _, said = bench.check("*skips,skip,\n")
        harness.expect("a row without a reason", status == 1 and "needs an outcome, skip, fail, either, and a reason" in said, said)
        bench.write("source/tests/test_other.py", "import nothing\n")
        status, _, said = bench.check(GOOD)
        harness.expect("a module that cannot be imported", status == 1 and "test_other cannot be imported" in said, said)
    harness.conclude()


if __name__ == "__main__":
    harness.start(main, __doc__)
