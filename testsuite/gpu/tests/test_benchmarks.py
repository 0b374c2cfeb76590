# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which benchmarks run, and what is written of them; the programs are functions here."""
import contextlib
import io
import itertools
import json
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

from suite.benchmarks import Benchmarks
from suite.results import Results
from suite.turns import TurnFailed

SUBJECT = {"commit": "abc", "device": "D", "driver": "580", "toolkit": "13.0"}


class Programs(Benchmarks):
    """Each program takes what `takes` says of its words, or fails if that is nothing."""

    def __init__(self, results, takes, left=lambda: 1e9, again=False, only=(), fewest=False):
        self.called = []
        self.takes = takes
        runner = SimpleNamespace(folder=results.path.parent, streamsan="streamsan", call=self.call,
                                 environment=lambda **_: {})
        super().__init__(runner, results, results.path.parent, left, again, only, fewest)

    def built(self, source, *flags):
        return Path(source).stem

    def memcheck(self, words):
        return [("memcheck", ["memcheck", *words], {})]

    def pytorch(self, steps):
        return ["python", str(steps)]

    def take_turns(self, commands, turns, *_):
        for name, words in commands.items():
            self.called.append(words)
            if self.takes(words) is None:
                raise TurnFailed(name, "bad")
        return {name: [{"ms": self.takes(words)}] * turns for name, words in commands.items()}

    def call(self, words, *_):
        self.called.append(words)
        ms = self.takes(words)
        return (1, "bad", False) if ms is None else (0, json.dumps({"ms": ms}), False)


class WhichRun(unittest.TestCase):
    NAMES = {"pytorch-step", "pytorch-step-footprints", "host-guard-read", "host-guard-4m", "host-guard-64m",
             "vadd-learned", "sgemm-learned", "vadd-first-launch", "graph-launch", "graph-instantiate", "dependent-launch"}

    def setUp(self):
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "results.json"
        quiet = contextlib.redirect_stdout(io.StringIO())
        quiet.__enter__()
        self.addCleanup(quiet.__exit__, None, None, None)

    def run_all(self, results, takes, **more):
        programs = Programs(results, takes, **more)
        programs.jobs = lambda: [job for job in Benchmarks.jobs(programs) if set(job.names) <= self.NAMES]
        programs.run(null=False)
        self.peerless = programs.run_peers()
        return programs.called

    def results(self, earlier=None):
        return Results(self.path, self.path.with_suffix(".log"), SUBJECT, earlier)

    def test_equal_times_need_the_fewest_pairs(self):
        results = self.results()
        self.run_all(results, lambda words: 4 if words[0] == "memcheck" else 2 if words[0] == "streamsan" else 1)
        numbers = {entry["name"]: entry for entry in results.document["benchmarks"]}
        self.assertEqual(set(numbers), self.NAMES)
        for entry in numbers.values():
            rounds = 8 if "pytorch" in entry["name"] else 6
            self.assertEqual((entry["ratio"], entry["interval"], entry["pairs"]), (2, [2, 2], rounds), entry["name"])
        detail = numbers["pytorch-step"]["detail"]
        self.assertEqual((detail["plain_ms"], detail["plain_slowest_by_fastest"]), ([1] * 8, 1))
        self.assertEqual(numbers["vadd-learned"]["peers"], {"memcheck": 4})
        self.assertEqual(numbers["pytorch-step-footprints"]["peers"], {"torch-cuda-sanitizer": 1, "memcheck": 4})
        detail = numbers["host-guard-read"]["detail"]
        self.assertEqual((detail["recording_alone"], detail["guards_alone"]), (2, 1))

    def test_fewest_rounds_however_wide_the_interval(self):
        for fewest in (False, True):
            times = itertools.count(1)
            results = self.results()
            self.run_all(results, lambda words: next(times) ** 2 % 7 + 1, only=("vadd-learned",), fewest=fewest)
            pairs = [entry["pairs"] for entry in results.document["benchmarks"]]
            self.assertEqual(pairs, [6] if fewest else [18])

    def test_the_most_wanted_is_first_and_the_peers_are_last(self):
        called = self.run_all(self.results(), lambda words: 1)
        self.assertEqual(called[0], ["python", "turns"])
        self.assertEqual([words[0] for words in called[-5:]], ["python", "memcheck", "memcheck", "memcheck", "memcheck"])
        self.assertNotIn("memcheck", [words[0] for words in called[:-5]])

    def test_only_some(self):
        results = self.results()
        called = self.run_all(results, lambda words: 1, only=("graph-*", "vadd-learned"))
        self.assertEqual({entry["name"] for entry in results.document["benchmarks"]},
                         {"graph-launch", "graph-instantiate", "vadd-learned"})
        self.assertNotIn(["python", "turns"], called)
        self.assertEqual(results.document["tests"], [])
        self.assertIn("memcheck", [words[0] for words in called])
        again = self.results(results.document)
        for number in again.document["benchmarks"]:
            number["peers"] = {}
        self.assertEqual(self.run_all(again, lambda words: 1, only=("graph-*",)), [], "no peer of what was not chosen")

    def test_a_run_that_goes_on_measures_what_is_missing(self):
        first = self.results()
        left = iter([1e9] * 70)
        self.run_all(first, lambda words: 1, left=lambda: next(left, 0))
        known = {entry["name"] for entry in first.document["benchmarks"]}
        self.assertEqual(len(first.out_of_time()), len(self.NAMES) - len(known))
        self.assertTrue(known and known < self.NAMES)
        self.assertEqual(self.peerless, 2)  # of pytorch-step
        second = self.results(first.document)
        called = self.run_all(second, lambda words: 1)
        self.assertEqual({entry["name"] for entry in second.document["benchmarks"]}, self.NAMES)
        self.assertEqual((second.out_of_time(), second.document["tests"], self.peerless), ([], [], 0))
        self.assertNotIn(["python", "turns"], called)
        self.assertIn(["memcheck", "python", "30"], called)
        self.assertEqual(self.run_all(self.results(second.document), lambda words: 1), [])

    def test_parts_are_beside_the_run_without_them(self):
        self.NAMES = {"torch-allocator", "python-stacks"}
        for bad in (None, "--python_stacks=0"):
            results = self.results()
            self.run_all(results, lambda words, bad=bad: None if bad in words else 1 if "--torch_blocks=0" in words else 2)
            numbers = {entry["name"]: entry["ratio"] for entry in results.document["benchmarks"]}
            self.assertEqual(numbers, {"torch-allocator": 2} if bad else {"torch-allocator": 2, "python-stacks": 1})
            self.assertEqual([test["name"] for test in results.failures()], ["benchmark-python-stacks"] if bad else [])

    def test_one_failure_costs_one_number(self):
        results = self.results()
        self.run_all(results, lambda words: None if "--footprints=measured" in words else 1)
        failed = {f"benchmark-{name}" for name in
                  ("pytorch-step-footprints", "vadd-learned", "sgemm-learned", "vadd-first-launch")}
        self.assertEqual({test["name"] for test in results.failures()}, failed)
        self.assertIsNotNone(results.number("pytorch-step"))
        again = self.results(results.document)
        self.assertFalse([words for words in self.run_all(again, lambda words: 1) if "--footprints=measured" in words])
        self.run_all(again, lambda words: 1, again=True)
        self.assertEqual(again.failures(), [])
        self.assertEqual([entry["name"] for entry in again.document["benchmarks"] if "earlier" in entry],
                         ["pytorch-step-footprints", "vadd-learned", "sgemm-learned", "vadd-first-launch"])
