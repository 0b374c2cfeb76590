#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/check-commits: which messages it accepts, and which commits it looks at.

    commits_test.py ROOT

In a repository made for the purpose. And the messages of this tree's own commits since CHECKED_SINCE.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = None
CHECKED_SINCE = "587c7038615c5997446360b2127228bfefaa965d"  # some commits up to this one do not keep to the rules
GOOD = "judge: one message\n\nIt says why.\n"


@unittest.skipUnless(shutil.which("git"), "scripts/check-commits asks git for the messages")
class Commits(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name)
        (self.tree / "scripts").mkdir()
        shutil.copy(ROOT / "scripts/check-commits", self.tree / "scripts/check-commits")
        self.git("init", "-q", "-b", "main")
        self.commit("first")

    def git(self, *arguments):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments], cwd=self.tree, check=True)

    def commit(self, message):
        self.git("commit", "-q", "--allow-empty", "--cleanup=verbatim", "-m", message)

    def check(self, *arguments):
        done = subprocess.run([sys.executable, self.tree / "scripts/check-commits", *arguments], capture_output=True, text=True)
        return done.returncode, [line.strip() for line in done.stdout.splitlines() if line.startswith("    ")]

    def test_good_messages(self):
        for message in (GOOD, "docs, judge: two areas\n\n" + "x" * 80 + "\n", "a/b-c: s" + "x" * 56 + "\n\nWhy.\n",
                        "build: a link\n\nhttps://" + "x" * 99 + "\n"):
            self.commit(message)
            self.assertEqual(self.check(), (0, []), message)

    def test_each_fault(self):
        for message, fault in (("one message\n\nWhy.\n", "the subject is not `area: what changed`"),
                               ("judge: " + "x" * 58 + "\n\nWhy.\n", "the subject has 65 characters, 64 are the most"),
                               ("judge: WIP\n\nWhy.\n", "the work is in progress"),
                               ("judge: it\nWhy.\n", "no empty line follows the subject"),
                               ("judge: it\n", "there is no body that says why"),
                               ("judge: it\n\n" + "word " * 16 + "x\n", "a line of the body has 81 characters, 80 are the most")):
            self.commit(message)
            self.assertEqual(self.check(), (1, [fault]), message)

    def test_which_commits(self):
        self.commit("bad")
        self.git("branch", "-q", "upstream")
        self.commit(GOOD)
        self.commit("worse: it")
        self.assertEqual(self.check("HEAD~2..HEAD~1"), (0, []))
        self.assertEqual(len(self.check("HEAD~3..HEAD")[1]), 3)
        self.assertEqual(self.check()[0], 1)
        self.commit(GOOD)
        self.assertEqual(self.check()[0], 0, "the last one alone")
        self.git("update-ref", "refs/remotes/origin/main", "upstream")
        self.assertEqual(len(self.check()[1]), 1, "all since the upstream")
        self.assertEqual(self.check("no-such-revision")[0], 2)

    def test_merges_are_left_out(self):
        self.git("checkout", "-q", "-b", "side", "main")
        self.commit(GOOD)
        self.git("checkout", "-q", "main")
        self.commit(GOOD)
        self.git("merge", "-q", "--no-ff", "-m", "Merge branch 'side'", "side")
        self.assertEqual(self.check("HEAD~1..HEAD"), (0, []))


@unittest.skipUnless(shutil.which("git"), "scripts/check-commits asks git for the messages")
class ThisTree(unittest.TestCase):
    def test_commits_keep_to_the_rules(self):
        known = subprocess.run(["git", "merge-base", "--is-ancestor", CHECKED_SINCE, "HEAD"], cwd=ROOT, capture_output=True)
        if known.returncode:
            self.skipTest(f"no history since {CHECKED_SINCE[:8]} here")
        done = subprocess.run([sys.executable, ROOT / "scripts/check-commits", f"{CHECKED_SINCE}..HEAD"],
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
