# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import ast
import pathlib
import unittest

from suite import benchmarks, real_runs
from suite.pairs import Failed, Unavailable


def fake(words, _):
    if "broken" in words:
        raise Failed("exit code 1")
    if "late" in words:
        raise Unavailable("time limit")
    return {"steps_ms": [1.0, 2.0 if "streamsan" in words else 1.0, 9.0]}


def under(words, options):
    return ["streamsan", *options, *words]


class RealRuns(unittest.TestCase):
    def setUp(self):
        self.runs = real_runs.RealRuns(fake, under, ["python", "source"], pathlib.Path("/folder"))
        self.needs = real_runs.NEEDS
        real_runs.NEEDS = {name: "json" for name in ("good", "broken", "late")} | {"absent": "no_such_module"}

    def tearDown(self):
        real_runs.NEEDS = self.needs

    def test_the_table_has_the_programs_of_the_source(self):
        tree = ast.parse((benchmarks.SOURCES / "real_runs.py").read_text())
        marked = {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.decorator_list}
        self.assertEqual(marked, set(self.needs))

    def test_one_program_does_not_cost_the_others(self):
        taken = self.runs.take(list(real_runs.NEEDS))
        self.assertEqual(len(taken["good"]), real_runs.ROUNDS)
        self.assertIsInstance(taken["broken"], Failed)
        self.assertIsInstance(taken["late"], Unavailable)
        self.assertIsInstance(taken["absent"], Unavailable)

    def test_numbers_are_ratios_to_the_plain_run_beside_them(self):
        numbers = real_runs.numbers_of(self.runs.take(["good"])["good"], "step_ms")
        self.assertEqual(numbers["ratio"], 2.0)
        self.assertEqual(numbers["pairs"], real_runs.ROUNDS)
        self.assertEqual(numbers["detail"]["plain_step_ms"], [1.0] * real_runs.ROUNDS)

    def test_each_program_has_a_cache_of_its_own(self):
        seen = []
        self.runs.timed = lambda words, timeout: seen.append(words) or fake(words, timeout)
        self.runs.once("good", "cached")
        self.runs.once("good", "default")
        self.assertEqual([words[1] for words in seen], ["footprint_cache=/folder/cache-good", "footprint_cache=off"])

    def test_each_kind_is_first_once(self):
        firsts = {next(iter(self.runs.group("good", number))) for number in range(len(real_runs.KINDS))}
        self.assertEqual(firsts, set(real_runs.KINDS))
