#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests check_tidy.py, which decides over every test of the analyzer, on a stand-in for streamsan-tidy.

The stand-in prints, for each line `// SAYS text` of the file that it is given, that line's place and text; with --fix it
replaces BAD by GOOD and then says nothing of it.
"""
import os
import subprocess
import sys
import tempfile
import unittest

here = os.path.dirname(os.path.abspath(__file__))

STAND_IN = """#!{python}
import re, sys
source = next(a for a in sys.argv if a.endswith(".cu"))
text = open(source).read()
if "--fix" in sys.argv:
    open(source, "w").write(text.replace("BAD", "GOOD"))
found = 0
for number, line in enumerate(text.splitlines(), 1):
    if said := re.search("// SAYS (.*?)(?:  //.*)?$", line):
        if "GOOD" in line or "CHECK-" in line or "-DFIXED" in sys.argv:
            continue
        print(f"{{source}}:{{number}}:3: {{said[1]}}")
        found = 1
print("1 findings;", re.search("// COUNTS (.*)|$", text)[1] or "2 of 2 functions analysed", file=sys.stderr)
sys.exit(int(re.search(r"// EXIT (.*)|$", text)[1] or found))
"""


class OnAStandIn(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.tidy = os.path.join(self.folder.name, "tidy")
        with open(self.tidy, "w", encoding="utf-8") as out:
            out.write(STAND_IN.format(python=sys.executable))
        os.chmod(self.tidy, 0o755)

    def run_on(self, text, *arguments):
        source = os.path.join(self.folder.name, "a.cu")
        with open(source, "w", encoding="utf-8") as out:
            out.write(text)
        command = [sys.executable, os.path.join(here, "check_tidy.py"), self.tidy, "id", source, *arguments]
        return subprocess.run(command, capture_output=True, text=True)

    def passes(self, text, *arguments):
        done = self.run_on(text, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)

    def fails(self, why, text, *arguments):
        done = self.run_on(text, *arguments)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(why, done.stderr)

    SAID = "x; // SAYS warning: words [streamsan-id]\n"
    EXPECTED = "// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: words [streamsan-id]\n"


class CheckTidy(OnAStandIn):
    def test_expected_warning(self):
        self.passes(self.SAID + self.EXPECTED)

    def test_missing_warning(self):
        self.fails("missing warning", "x;\n" + self.EXPECTED)

    def test_wrong_line(self):
        self.fails("warning 1 is", self.SAID + "\n" + self.EXPECTED)

    def test_wrong_words(self):
        self.fails("warning 1 is", self.SAID.replace("words", "other words") + self.EXPECTED)

    def test_unexpected_warning(self):
        self.fails("unexpected warning", self.SAID + self.EXPECTED + self.SAID)

    def test_unexpected_warning_where_none_is_expected(self):
        self.fails("unexpected warning", self.SAID)

    def test_silent_file(self):
        self.passes("x;\n")

    def test_silence_without_looking(self):
        self.fails("the test shows nothing", "// COUNTS 0 of 0 functions analysed\n")

    def test_silence_without_counts(self):
        self.fails("the test shows nothing", "// COUNTS nothing said\n")

    def test_silence_after_looking_away(self):
        self.fails("1 functions were not analysed", "// COUNTS 1 of 2 functions analysed\n")
        self.passes("// NOT-ANALYSED: 1\n// COUNTS 1 of 2 functions analysed\n")

    def test_silent_failure(self):
        self.fails("could not run", "// EXIT 2\n")
        self.fails("exit code is not 0", "// EXIT 1\n")

    def test_notes_count_only_where_one_is_expected(self):
        note = "y; // SAYS note: here\n"
        expected = "// CHECK-NOTES: :[[@LINE-1]]:3: note: here\n"
        self.passes(self.SAID + self.EXPECTED + note)
        self.passes(self.SAID + self.EXPECTED + note + expected)
        self.fails("unexpected note", self.SAID + self.EXPECTED + note + expected + note)
        self.fails("missing note", self.SAID + self.EXPECTED + note + expected + "\n" + expected)

    def test_compiler_error_is_unexpected(self):
        self.fails("unexpected warning", "x; // SAYS error: no such thing [clang-diagnostic-error]\n")

    def test_fixed_twin_is_silent(self):
        self.passes(self.SAID + self.EXPECTED, "--", "-DFIXED")

    def test_suffix(self):
        expected = self.EXPECTED.replace("MESSAGES", "MESSAGES-TWO")
        self.passes(self.SAID + expected, "--suffix=TWO")
        self.fails("unexpected warning", "// RUN: %check id %s --suffix=TWO\n" + self.SAID + expected)

    def test_a_file_that_says_not_what_it_shows(self):
        self.fails("TO WRITE: one sentence", "// TO WRITE: one sentence\n" + self.SAID + self.EXPECTED)

    def test_words_that_nothing_looks_at(self):
        self.fails("nothing looks at CHECK-MESSAGES-TWO:", self.SAID + self.EXPECTED.replace("MESSAGES", "MESSAGES-TWO"))
        silent_twin = ("--", "-DFIXED")
        for word in ("CHECK-FIXES-NEXT:", "CHECK-NOT:", "CHECK-MESSAGE:", "CHECK-NOTES"):
            self.fails(f"nothing looks at {word}", f"x;\n// {word} text\n")
            self.fails(f"nothing looks at {word}", f"x;\n// {word} text\n", *silent_twin)
        self.passes("x;\n// CHECKED: text that CHECK-NOT is in\n")

    def test_fires(self):
        marked = "x; // FIRES: id // SAYS warning: any words [streamsan-id]\n"
        self.passes(marked)
        self.fails("fires at", marked.replace("FIRES: id", "FIRES: other"))
        self.fails("fires at", marked + self.SAID)
        self.fails("either settled or not", marked + self.EXPECTED)

    def test_fix(self):
        text = "  BAD; // SAYS warning: words [streamsan-id]\n" + self.EXPECTED
        fixed = "// CHECK-FIXES: GOOD; // SAYS warning: words [streamsan-id]\n"
        self.passes(text + fixed, "--fix")
        self.fails("after --fix", text + fixed.replace("GOOD;", "BETTER;"), "--fix")
        self.fails("needs CHECK-FIXES", text, "--fix")

    def test_fix_that_does_not_silence(self):
        text = self.SAID + self.EXPECTED + "BAD;\n// CHECK-FIXES: GOOD;\n"
        self.fails("not silent", text, "--fix")


class UpdateChecks(OnAStandIn):
    """update_checks.py: words may change, findings may not."""

    RUN = "// RUN: %check id %s\n"

    def update(self, text):
        source = os.path.join(self.folder.name, "a.cu")
        with open(source, "w", encoding="utf-8") as out:
            out.write(text)
        command = [sys.executable, os.path.join(here, "update_checks.py"), self.tidy, source]
        done = subprocess.run(command, capture_output=True, text=True)
        with open(source, encoding="utf-8") as result:
            return done.returncode, result.read()

    def test_marker_becomes_words(self):
        said = "// FIRES: id\nx; // SAYS warning: words [streamsan-id]\n"
        self.assertEqual(self.update(self.RUN + said), (1, self.RUN + said))
        said = "x;  /* SAYS */\n"
        self.assertEqual(self.update(self.RUN + self.SAID + self.EXPECTED)[0], 0)

    def test_words_are_replaced_and_what_is_written_passes(self):
        old = self.EXPECTED.replace("words", "other words")
        code, text = self.update(self.RUN + self.SAID + old + "y;\n")
        self.assertEqual((code, text), (0, self.RUN + self.SAID + self.EXPECTED + "y;\n"))
        self.passes(text)
        self.assertEqual(self.update(text), (0, text))

    def test_a_finding_that_is_gone_or_new_is_left_alone(self):
        for text in (self.RUN + "x;  // FIRES: id\n", self.RUN + self.SAID):
            self.assertEqual(self.update(text), (1, text))


unittest.main()
