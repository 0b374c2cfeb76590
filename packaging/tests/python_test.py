# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python -m streamsan: what becomes of its arguments. In place of the program stands one that prints what it was given."""
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = f"#!{sys.executable}\nimport json, sys\nprint(json.dumps(sys.argv[1:]))\nsys.exit(5)\n"


class ModuleTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.package = Path(cls.folder) / "streamsan"
        shutil.copytree(ROOT / "python/streamsan", cls.package)
        sys.path.insert(0, str(ROOT))
        options = runpy.run_path(str(ROOT / "build-wheel"))["options_with_values"]()
        (cls.package / "_options.py").write_text(f"TAKE_VALUES = {options!r}\n")
        program = cls.package / "bin/streamsan"
        program.parent.mkdir()
        program.write_text(PROGRAM)
        program.chmod(0o755)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def python(self, *arguments, of_python=()):
        return subprocess.run([sys.executable, *of_python, "-m", "streamsan", *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": self.folder})

    def given(self, *arguments, of_python=()):
        """What the program was given; this Python is written as PYTHON."""
        ran = self.python(*arguments, of_python=of_python)
        self.assertEqual(ran.returncode, 5, "the exit code of the program; " + ran.stderr)
        return ["PYTHON" if word == sys.executable else word for word in json.loads(ran.stdout)]

    def test_a_script_and_its_arguments(self):
        self.assertEqual(self.given("train.py", "--json", "x"), ["run", "--", "PYTHON", "train.py", "--json", "x"])

    def test_options_come_before(self):
        self.assertEqual(self.given("--syncs", "--json=f.json", "-v", "1", "train.py", "-v"),
                         ["run", "--syncs", "--json=f.json", "-v", "1", "--", "PYTHON", "train.py", "-v"])

    def test_a_value_may_be_a_word_of_its_own(self):
        for option in ("--json", "--stack_depth", "--stack-depth"):
            self.assertEqual(self.given(option, "7", "train.py"), ["run", option, "7", "--", "PYTHON", "train.py"])
        self.assertEqual(self.given("--hints", "train.py"), ["run", "--hints", "--", "PYTHON", "train.py"])

    def test_modules_and_commands(self):
        self.assertEqual(self.given("-m", "pytest", "-q"), ["run", "--", "PYTHON", "-m", "pytest", "-q"])
        self.assertEqual(self.given("--syncs", "-c", "pass"), ["run", "--syncs", "--", "PYTHON", "-c", "pass"])
        self.assertEqual(self.given("-mpytest"), ["run", "--", "PYTHON", "-mpytest"])

    def test_behind_two_dashes_is_python(self):
        self.assertEqual(self.given("--syncs", "--", "-u", "train.py"), ["run", "--syncs", "--", "PYTHON", "-u", "train.py"])

    @unittest.skipIf(sys.version_info < (3, 10), "Python tells its own options since 3.10")
    def test_options_of_this_python_are_handed_on(self):
        self.assertEqual(self.given("train.py", of_python=("-X", "dev")), ["run", "--", "PYTHON", "-X", "dev", "train.py"])

    @unittest.skipIf(sys.version_info < (3, 10), "Python tells its own options since 3.10")
    def test_options_in_one_word_with_m_are_handed_on(self):
        ran = subprocess.run([sys.executable, "-Wmost", "-sm", "streamsan", "t.py"], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": self.folder})
        self.assertEqual(json.loads(ran.stdout), ["run", "--", sys.executable, "-Wmost", "-s", "t.py"], ran.stderr)

    def test_unknown_options_reach_the_program_which_refuses_them(self):
        self.assertEqual(self.given("--no-such", "train.py"), ["run", "--no-such", "--", "PYTHON", "train.py"])

    def test_without_a_program(self):
        self.assertEqual(self.given("--syncs"), ["run", "--syncs", "--"])
        self.assertEqual(self.given("--version"), ["--version"])
        nothing = self.python()
        self.assertEqual((nothing.returncode, nothing.stdout), (2, ""))
        self.assertIn("python -m streamsan [options] script.py", nothing.stderr)

    def test_help(self):
        helped = self.python("--help")
        self.assertEqual((helped.returncode, helped.stderr), (0, ""))
        self.assertIn("python -m streamsan [options] -m module", helped.stdout)

    def test_no_program_in_the_package(self):
        (self.package / "bin/streamsan").rename(self.package / "bin/away")
        try:
            ran = self.python("train.py")
        finally:
            (self.package / "bin/away").rename(self.package / "bin/streamsan")
        self.assertEqual(ran.returncode, 2)
        self.assertTrue(re.search("cannot run .*/bin/streamsan: No such file", ran.stderr), ran.stderr)


if __name__ == "__main__":
    unittest.main()
