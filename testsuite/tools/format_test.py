#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/format: which files and which lines it gives to the formatter.

    format_test.py ROOT

In a repository made for the purpose, with a formatter that puts an X before each line that it is given.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = None
FORMATTER = """#!{python}
import re, sys
if "--version" in sys.argv: print("clang-format version {version}"); sys.exit()
spans = [tuple(map(int, a[8:].split(":"))) for a in sys.argv[1:] if a.startswith("--lines=")]
if "--dry-run" in sys.argv:
    files = [a for a in sys.argv[1:] if not a.startswith("-")]
    sys.exit(any(not line.startswith("X") for name in files for line in open(name).read().splitlines()))
path = sys.argv[-1]
lines = open(path).read().splitlines()
out = [line if line.startswith("X") or spans and not any(a <= n <= b for a, b in spans) else "X" + line
       for n, line in enumerate(lines, 1)]
text = "".join(line + "\\n" for line in out)
open(path, "w").write(text) if "-i" in sys.argv else print(text, end="")
"""


@unittest.skipUnless(shutil.which("git"), "scripts/format asks git what has changed")
class Format(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name)
        (self.tree / "scripts").mkdir()
        for name in ("format", "requirements.txt"):
            shutil.copy(ROOT / "scripts" / name, self.tree / "scripts" / name)
        version = re.search(r"^clang-format==(\S+)$", (ROOT / "scripts/requirements.txt").read_text(), re.MULTILINE)[1]
        self.formatter = self.tree / "formatter"
        self.formatter.write_text(FORMATTER.format(python=sys.executable, version=version))
        self.formatter.chmod(0o755)
        for name in ("a.cpp", "b.h", "c.cu"):
            (self.tree / name).write_text("one\ntwo\nthree\n")
        self.git("init", "-q", "-b", "main")
        self.git("add", ".")
        self.git("-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "first")

    def git(self, *arguments):
        subprocess.run(["git", *arguments], cwd=self.tree, check=True)

    def format(self, *arguments):
        return subprocess.run([self.tree / "scripts/format", *arguments], capture_output=True, text=True,
                              env={**os.environ, "CLANG_FORMAT": str(self.formatter)})

    def text(self, name):
        return (self.tree / name).read_text()

    def test_changed_lines_and_new_files(self):
        (self.tree / "a.cpp").write_text("one\n2\nthree\n")
        (self.tree / "b.h").write_text("one\nthree\n")  # a line less, none to format
        (self.tree / "c.cu").write_text("1\n")
        (self.tree / "new.cpp").write_text("one\ntwo\n")
        checked = self.format("--check")
        self.assertEqual(checked.returncode, 1, checked.stderr)
        self.assertIn("2 of 3 files differ", checked.stderr)
        self.assertEqual(self.text("a.cpp"), "one\n2\nthree\n")
        self.assertEqual(self.format().returncode, 0)
        self.assertEqual([self.text(name) for name in ("a.cpp", "b.h", "c.cu", "new.cpp")],
                         ["one\nX2\nthree\n", "one\nthree\n", "1\n", "Xone\nXtwo\n"])
        self.assertEqual(self.format("--check").returncode, 0)

    def test_against_a_revision(self):
        (self.tree / "a.cpp").write_text("one\ntwo\nthree\nfour\n")
        self.git("-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qam", "second")
        self.assertEqual(self.format("--check").returncode, 0)
        self.assertEqual(self.format("--check", "HEAD~1").returncode, 1)
        self.assertEqual(self.format("HEAD~1").returncode, 0)
        self.assertEqual(self.text("a.cpp"), "one\ntwo\nthree\nXfour\n")

    def test_all(self):
        self.assertEqual(self.format("--check", "--all").returncode, 1)
        self.assertEqual(self.format("--all").returncode, 0)
        self.assertEqual(self.text("b.h"), "Xone\nXtwo\nXthree\n")

    def test_faults(self):
        self.assertEqual(self.format("no-such-revision").returncode, 2)
        self.assertEqual(self.format("--chek").returncode, 2)


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
