# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Is what stands in the run-time suite's sources found there?"""
import re
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from suite import cases_syncs, marks

SOURCE = """// RUN: %build_ptds %s -o %t
// RUN: %all_syncs %t 2>&1 | %report
// RUN: %build_ptds -DFIXED %s -o %t.fixed
//
// CHECK-NOT: sync {{unneeded|narrower}}: cudaFree
// CHECK: sync needed: cudaStreamSynchronize ([[SYNC]]) is needed.
// CHECK-NEXT: #0 main{{.*}}[[SYNC]]
// CHECK: Fix: {{.*}} (stream 1).
// FIXED-NOT: {{unneeded|narrower}}
int main() {
  wait();  // @SYNC
}
"""


def read(text, name="a.cu"):
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text(text)
        return marks.read(path)


class Reading(unittest.TestCase):
    def test_a_source(self):
        found = read(SOURCE)
        self.assertEqual(found.syncs, (("needed", "a.cu:11"),))
        self.assertEqual(len(found.text), 2)
        self.assertRegex("x sync needed: cudaStreamSynchronize (a.cu:11) is needed.", found.text[0])
        self.assertNotRegex("sync needed: cudaStreamSynchronize (a.cu:111) is needed.", found.text[0])
        self.assertRegex("Fix: anything (stream 1).", found.text[1])
        self.assertNotRegex("Fix: anything stream 1.", found.text[1])
        self.assertRegex("sync narrower: cudaFree", found.absent[0])
        self.assertEqual((found.fixed, found.clean, found.everything), (True, True, True))
        self.assertEqual(found.flags, ("--default-stream", "per-thread"))

    def test_a_source_without_a_fix_or_options(self):
        found = read("// RUN: %build %s -o %t\n// RUN: %syncs %t\n// CHECK: sync unknown: x ([[A]])\nint a;  // @A\n")
        self.assertEqual((found.fixed, found.clean, found.everything, found.flags), (False, False, False, ()))
        self.assertEqual(found.syncs, (("unknown", "a.cu:4"),))

    def test_a_place_that_is_not_marked_is_an_error(self):
        with self.assertRaises(KeyError):
            read("// CHECK: sync needed: x ([[NOWHERE]])\n")


class TheSources(unittest.TestCase):
    """What is derived from today's sources is all that they have."""

    def test_every_program_says_something(self):
        for case in cases_syncs.SYNCS:
            if not case.name.endswith("-fixed"):
                self.assertTrue(case.expect.text, case.name)

    def test_every_marked_wait_with_a_verdict_is_found(self):
        for name in cases_syncs.names():
            text = (cases_syncs.RUNTIME / "syncs" / f"{name}.cu").read_text()
            said = re.findall(r"^// CHECK[-A-Z]*: .*(?:sync [a-z]+: .*|whether .*)\[\[SYNC\]\]", text, re.MULTILINE)
            if said and name not in cases_syncs.NOT_HERE:
                found = marks.read(cases_syncs.RUNTIME / "syncs" / f"{name}.cu")
                place = marks.places(f"{name}.cu", text)["SYNC"]
                self.assertTrue(any(re.escape(place) in pattern for pattern in found.text), name)

    def test_there_are_enough_of_each_verdict(self):
        verdicts = [verdict for case in cases_syncs.SYNCS for verdict, _ in case.expect.syncs]
        for verdict, least in (("unneeded", 12), ("narrower", 8), ("timing", 4), ("unknown", 3), ("needed", 4)):
            self.assertGreaterEqual(verdicts.count(verdict), least, verdict)
        self.assertGreaterEqual(len(cases_syncs.SYNCS), 70)

    def test_what_recommends_something_has_a_variant_that_follows(self):
        fixed = {case.name for case in cases_syncs.SYNCS if case.name.endswith("-fixed")}
        for case in cases_syncs.SYNCS:
            narrower = any(verdict == "narrower" for verdict, _ in case.expect.syncs)
            self.assertTrue(not narrower or case.name + "-fixed" in fixed, case.name)

    def test_hints_are_found(self):
        for case in cases_syncs.HINTS:
            self.assertTrue(case.name.endswith("-fixed") or case.expect.text, case.name)


if __name__ == "__main__":
    unittest.main()
