#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/new-rule and scripts/new-check, on a copy of the tree: what they begin compiles, and fails until it is written.

    scaffold_test.py ROOT CXX
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = CXX = None
FOLDERS = ["scripts", "docs", "ordering", "analyzer/analysis", "analyzer/ir", "report/common",
           "testsuite/analyzer"]


class Scaffold(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name)
        for name in FOLDERS:
            shutil.copytree(ROOT / name, self.tree / name, ignore=shutil.ignore_patterns("*.png", "build*"))

    def run_script(self, *arguments):
        return subprocess.run([sys.executable, *arguments], cwd=self.tree, capture_output=True, text=True, timeout=60)

    def refuses(self, *arguments):
        before = {path: path.read_bytes() for path in self.tree.rglob("*") if path.is_file() and path.suffix != ".pyc"}
        done = self.run_script(*arguments)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertTrue(done.stderr)
        after = {path: path.read_bytes() for path in self.tree.rglob("*") if path.is_file()}
        self.assertEqual(before, {path: text for path, text in after.items() if path.suffix != ".pyc"})

    def compile(self, *sources, flags):
        done = subprocess.run([CXX, "-std=c++20", f"-I{self.tree}", "-Wall", "-Wextra", "-Werror", *flags,
                               *(str(self.tree / source) for source in sources)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def text(self, name):
        return (self.tree / name).read_text()

    def test_a_rule_that_the_catalog_knew(self):
        self.assertIn('SS_CATALOG("R-EVT-06"', self.text("ordering/rule_catalog.def"))
        done = self.run_script("scripts/new-rule", "R-EVT-06", "documented", "A wait may cross devices.", 'cuda.h, "waits"')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, "the row of R-EVT-06 is gone; it said: [A-Z]")  # which may be another rule
        self.assertNotIn("R-EVT-06", self.text("ordering/rule_catalog.def"))
        self.assertRegex(self.text("ordering/rules.def"),
                         r'"R-EVT-05".*\nSS_RULE\(EVT_06, "R-EVT-06", Documented, "A wait may cross devices.", .*\nSS_RULE\(EVT_08')
        tests = re.findall(r"^TEST_F\(Event, R_EVT_06_\w+\) \{\n  ADD_FAILURE", self.text("ordering/tests/event_rules_test.cpp"),
                           re.MULTILINE)
        self.assertEqual(len(tests), 2)
        self.assertIn("where the rule orders it; expect silent()", self.text("ordering/tests/event_rules_test.cpp"))
        page = self.tree / "page"
        self.compile("ordering/rules.cpp", "ordering/rule_catalog.cpp", "ordering/print_rules.cpp", flags=["-o", str(page)])
        self.assertIn("| R-EVT-06 | A wait may cross devices. | modelled, documented | cuda.h, \"waits\" |",
                      subprocess.run([page], capture_output=True, text=True, check=True).stdout)
        ids = self.run_script("ordering/tests/rule_ids_test.py", str(self.tree), "RuleIds.test_an_id_that_is_no_rule_is_found")
        self.assertEqual(ids.returncode, 0, ids.stderr)

    def test_a_rule_that_nobody_knew(self):
        done = self.run_script("scripts/new-rule", "R-" "GRF-99", "assumed", "cuGraphLaunch is quick.", "measured")
        self.assertEqual(done.returncode, 0, done.stderr)
        tests = self.text("ordering/tests/graph_rules_test.cpp")
        self.assertIn("R_GRF_99_WithItItIsLatent", tests)
        self.assertIn("expect one_latent(kind, Rule::GRF_99)", tests)
        self.compile("ordering/rules.cpp", flags=["-fsyntax-only"])

    def test_rules_that_cannot_be(self):
        rule = "scripts/new-rule"
        self.refuses(rule, "R-EVT-05", "policy", "It is there already.", "cuda.h")
        self.refuses(rule, "R-" "FOO-01", "policy", "The area is unknown.", "cuda.h")
        self.refuses(rule, "EVT-6", "policy", "The id has no form.", "cuda.h")
        self.refuses(rule, "R-" "EVT-99", "policy", "no sentence", "cuda.h")
        self.refuses(rule, "R-" "EVT-99", "perhaps", "The status is unknown.", "cuda.h")
        self.refuses(rule, "R-" "EXT-99", "policy", "No test file has this area.", "cuda.h")

    def test_a_check_of_each_group(self):
        for group, check in [("Correctness", "one-thing"), ("Performance", "two-things"), ("Policy", "three-things")]:
            done = self.run_script("scripts/new-check", check, group, f"something of {group.lower()} is off")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"# streamsan-{check}\n", self.text(f"docs/checks/{check}.md"))
            self.assertIn(f"FIRES: {check}\n", self.text(f"testsuite/analyzer/{check}/fires.cu"))
            words = "handles" if group == "Correctness" else "advice"
            self.assertEqual(self.text(f"analyzer/analysis/wording_{words}.cpp").count(
                f"void words_of<Check::{check.title().replace('-', '')}>(Draft& draft) {{\n"), 1)
            self.assertRegex(self.text("docs/streamsan-tidy.md"), rf"\| {group.lower()} \| .*, {check} \| (on|off) \|")
        # The test of the pages reads the same rows: a row it does not find in the table would be a complaint.
        row = re.compile(r'^SS_CHECK\(\w+, "([\w-]+)", (\w+), "(.*)"\)$', re.MULTILINE)
        for check, group, summary in row.findall(self.text("analyzer/analysis/checks.def")):
            self.assertRegex(self.text("docs/checks/README.md"),
                             rf"\| \[{check}\]\({check}\.md\) \| {group} \| (yes|no) \| {re.escape(summary)} \|")
        pages = self.run_script("testsuite/analyzer/pages/check_pages.py", str(self.tree),
                                "testsuite/analyzer/pages/inputs/parrot")
        left = re.findall(r"^check_pages: ([\w.-]+): is to be written: \w", pages.stdout, re.MULTILINE)
        self.assertEqual({page: left.count(page) for page in left},
                         {"checks.def": 3, "one-thing.md": 5, "two-things.md": 5, "three-things.md": 5})
        self.compile("analyzer/analysis/wording.cpp", "analyzer/analysis/wording_handles.cpp",
                     "analyzer/analysis/wording_advice.cpp", "analyzer/analysis/checks.cpp", flags=["-fsyntax-only"])

    def test_checks_that_cannot_be(self):
        check = "scripts/new-check"
        self.refuses(check, "self-wait", "Performance", "it is there already")
        self.refuses(check, "Self_Wait", "Performance", "the id has no form")
        self.refuses(check, "new-thing", "Speed", "the group is unknown")
        self.refuses(check, "new-thing", "Policy", "It is a sentence.")


if __name__ == "__main__":
    ROOT, CXX = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    del sys.argv[1:3]
    unittest.main()
