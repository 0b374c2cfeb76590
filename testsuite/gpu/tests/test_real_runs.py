# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import ast
import collections
import pathlib
import threading
import time
import unittest

from suite import benchmarks, machine, real_runs
from suite.pairs import Failed, Unavailable


def fake(words, _timeout, **_environment):
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
        self.gpus = machine.gpus
        machine.gpus = lambda: ["3", "5"]

    def tearDown(self):
        real_runs.NEEDS = self.needs
        machine.gpus = self.gpus

    def test_the_table_has_the_programs_of_the_source(self):
        tree = ast.parse((benchmarks.SOURCES / "real_runs.py").read_text())
        marked = {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.decorator_list}
        self.assertEqual(marked, set(self.needs))

    def test_one_program_does_not_cost_the_others(self):
        taken = self.runs.take(list(real_runs.NEEDS))
        self.assertEqual(len(taken["good"]), real_runs.MOST)
        self.assertIsInstance(taken["broken"], Failed)
        self.assertIsInstance(taken["late"], Unavailable)
        self.assertIsInstance(taken["absent"], Unavailable)

    def test_numbers_are_ratios_to_the_plain_run_beside_them(self):
        numbers = real_runs.numbers_of(self.runs.take(["good"])["good"], "step_ms")
        self.assertEqual(numbers["ratio"], 2.0)
        self.assertEqual(numbers["interval"], [2.0, 2.0])
        self.assertEqual(numbers["pairs"], real_runs.MOST)
        self.assertEqual(numbers["detail"]["plain_step_ms"], [1.0] * real_runs.MOST)

    def test_long_programs_have_the_fewest_rounds_and_no_interval(self):
        share, real_runs.SHARE = real_runs.SHARE, 0
        rounds = self.runs.rounds("good", {})
        real_runs.SHARE = share
        self.assertEqual(len(rounds), real_runs.FEWEST)
        self.assertNotIn("interval", real_runs.numbers_of(rounds, "step_ms"))

    def test_rounds_that_were_taken_in_time_count(self):
        calls = []

        def until_late(words, timeout, **environment):
            calls.append(words)
            if len(calls) > 2 + 2 * len(real_runs.KINDS):
                raise Unavailable("time limit")
            return fake(words, timeout, **environment)

        self.runs.timed = until_late
        self.assertEqual(len(self.runs.rounds("good", {})), 2)

    def test_a_gpu_has_no_more_programs_than_it_may(self):
        running, most, lock = collections.Counter(), collections.Counter(), threading.Lock()

        def counted(words, timeout, CUDA_VISIBLE_DEVICES):
            with lock:
                running[CUDA_VISIBLE_DEVICES] += 1
                most[CUDA_VISIBLE_DEVICES] = max(most[CUDA_VISIBLE_DEVICES], running[CUDA_VISIBLE_DEVICES])
            time.sleep(0.002)
            with lock:
                running[CUDA_VISIBLE_DEVICES] -= 1
            return fake(words, timeout)

        self.runs.timed = counted
        real_runs.NEEDS = {f"good{number}": "json" for number in range(9)}
        self.runs.take(list(real_runs.NEEDS))
        self.assertEqual(most, {"3": real_runs.PER_GPU, "5": real_runs.PER_GPU})

    def test_each_program_has_a_cache_of_its_own(self):
        seen = []
        self.runs.timed = lambda words, timeout: seen.append(words) or fake(words, timeout)
        self.runs.once("good", "cached", {})
        self.runs.once("good", "default", {})
        self.assertEqual([words[1] for words in seen], ["footprint_cache=/folder/cache-good", "footprint_cache=off"])

    def test_each_kind_is_first_once(self):
        firsts = {next(iter(self.runs.group("good", number, {}))) for number in range(len(real_runs.KINDS))}
        self.assertEqual(firsts, set(real_runs.KINDS))
