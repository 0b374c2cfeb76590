# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables themselves: what they name exists, and no racy program is without a silent one."""
import re
import unittest

from suite import build, cases, cases_computed, cases_footprints, execute, machine
from suite.case import COMPUTED, INFERRED, MEASURED
from suite.cases_exam import FIXED_WITH_AN_ERROR
from suite.every import CASES
from suite.expect import site_line


class Tables(unittest.TestCase):
    def test_names_are_unique(self):
        names = [case.name for case in CASES]
        self.assertEqual(sorted(set(names)), sorted(names))

    def test_sources_and_sites_exist(self):
        for case in CASES:
            with self.subTest(case.name):
                for target in (case.target, *(target for _, target in case.others)):
                    self.assertTrue(target is None or (build.PROGRAMS / target.source).exists())
                for word in case.command:
                    if word.startswith("{programs}/"):
                        self.assertTrue((build.PROGRAMS / word.removeprefix("{programs}/")).exists())
                for name in case.expect.sites:
                    site_line(build.PROGRAMS / (case.site_source or case.target.source), name)

    def test_every_racy_case_has_a_silent_twin(self):
        silent = {case.name for case in CASES if not any(f.severity == "error" for f in case.expect.findings)}
        # Kept as their authors repaired them, with another mistake.
        silent |= {f"exam-{name}-fixed" for name in FIXED_WITH_AN_ERROR}
        for case in CASES:
            if case.name not in silent:
                self.assertIn(case.name + "-fixed", silent)

    def test_every_program_is_used(self):
        used = {target.source for case in CASES
                for target in (case.target, *(target for _, target in case.others)) if target}
        used |= {word.removeprefix("{programs}/") for case in CASES for word in case.command}
        for path in build.PROGRAMS.rglob("*"):
            if path.suffix in (".cu", ".cpp", ".py") and path.name not in ("measured_end.py", "pairs.py", "truth.py"):
                self.assertIn(str(path.relative_to(build.PROGRAMS)), used)

    def test_what_is_measured_says_so_and_needs_a_gpu(self):
        self.assertTrue(all(case.options == INFERRED for case in cases.CASES))
        for case in CASES:
            if case.name.startswith(("measured-", "truth-")) or case in cases_footprints.CASES:
                self.assertIn(case.options[:1], (MEASURED, cases_footprints.AUTO), case.name)
                self.assertFalse(case.null, case.name)

    def test_what_is_computed_says_so_and_needs_no_gpu(self):
        for case in CASES:
            self.assertEqual(case.name.startswith("computed-"), case.options == COMPUTED, case.name)
        self.assertTrue(all(case.null and not case.record for case in cases_computed.CASES))

    def test_every_shape_of_the_truth_table_is_used(self):
        source = (build.PROGRAMS / "footprints" / "elements.cu").read_text()
        shapes = set(re.findall(r'^    \{"([a-z-]+)", ', source, re.MULTILINE))
        self.assertEqual({case.command[1] for case in cases_footprints.TRUTH
                          if case.target and case.target.source == "footprints/elements.cu"}, shapes)

    def test_modes_and_needs_are_known(self):
        for case in CASES:
            self.assertTrue(hasattr(execute.Runner, "mode_" + case.mode), case.name)
            for need in case.needs:
                self.assertIn(need.split(":")[0], ("module", "header", "file", "tool", "capability", "devices"))

    def test_racy_and_fixed_are_different_programs(self):
        for case in CASES:
            if case.target and case.name + "-fixed" in {other.name for other in CASES}:
                twin = next(other for other in CASES if other.name == case.name + "-fixed")
                racy, fixed = ({build.output_path("x", target) for target in (one.target, *dict(one.others).values())}
                               for one in (case, twin))
                self.assertNotEqual(racy, fixed, case.name)


class Commands(unittest.TestCase):
    def words(self, name, null=None):
        case = next(case for case in cases.CASES if case.name == name)
        return build.command(case.target, "out", null)

    @unittest.skipUnless(machine.toolkit(), "no CUDA toolkit")
    def test_a_gpu_build_is_what_a_user_types(self):
        source = str(build.PROGRAMS / "pipeline.cu")
        self.assertEqual(self.words("pipeline")[1:], ["-g", source, "-o", "out"])
        self.assertEqual(self.words("pipeline-no-debug-info")[1:], [source, "-o", "out"])
        self.assertIn("per-thread", self.words("pipeline-per-thread"))

    @unittest.skipUnless(machine.toolkit(), "no CUDA toolkit")
    def test_a_null_build_is_linked_with_the_null_runtime(self):
        words = self.words("pipeline", null="/null")
        self.assertEqual(words[words.index("-cudart") + 1], "none")
        self.assertIn("/null/libnullcudart.a", words)
        self.assertIn("-DNULL_DRIVER", words)
