# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import math
import unittest
from itertools import count
from unittest import mock

from suite.pairs import Failed, Rule, Unavailable, take

NEVER = math.inf


class Pairs(unittest.TestCase):
    def setUp(self):
        self.order = []

    def runs(self, names):
        def run(name):
            numbers = count()
            return lambda: self.order.append(name) or next(numbers)

        return {name: run(name) for name in names}

    def test_each_is_first_as_often_as_the_others(self):
        taken = take(self.runs("abc"), lambda _: NEVER, Rule(0, fewest=3, most=3))
        self.assertEqual("".join(self.order), "abcbcacab")
        self.assertEqual(taken, {name: [0, 1, 2] for name in "abc"})

    def test_it_stops_after_a_whole_cycle_that_is_narrow(self):
        widths = iter([0.5, 0.2, 0.1])
        taken = take(self.runs("ab"), lambda _: next(widths), Rule(0.1, fewest=5, most=99))
        self.assertEqual(len(taken["a"]), 10)  # asked after 6, 8 and 10

    def test_there_is_a_most(self):
        self.assertEqual(len(take(self.runs("ab"), lambda _: NEVER, Rule(0.1, most=7))["b"]), 7)

    def test_beyond_the_fewest_it_takes_no_longer_than_it_may(self):
        self.assertEqual(len(take(self.runs("ab"), lambda _: NEVER, Rule(0.1, fewest=6, seconds=0))["a"]), 6)

    def test_a_limit_of_time_leaves_the_fewest_or_nothing(self):
        left = iter([9] * 8 + [0])
        rule = Rule(0.1, fewest=6, most=99)
        self.assertEqual(len(take(self.runs("ab"), lambda _: NEVER, rule, lambda: next(left))["a"]), 8)
        left = iter([9, 9, 9, 0])
        with self.assertRaisesRegex(Unavailable, "time limit: 3 of at least 6"):
            take(self.runs("ab"), lambda _: NEVER, rule, lambda: next(left))
        with self.assertRaisesRegex(Unavailable, "^time limit$"):
            take(self.runs("ab"), lambda _: NEVER, rule, lambda: 0)

    def test_a_slow_first_round_says_nothing_of_the_others(self):
        now = iter([0, 0, 40] + [second for start in range(40, 99) for second in (start, start + 1)])  # one a round
        with mock.patch("suite.pairs.time.monotonic", lambda: next(now)):
            rule = Rule(0.1, fewest=6, most=6)
            self.assertEqual(len(take(self.runs("ab"), lambda _: NEVER, rule, lambda: 60)["a"]), 6)

    def test_a_round_that_the_limit_cuts_does_not_count(self):
        def run():
            self.order.append("b")
            if len(self.order) > 6:
                raise Unavailable("time limit")
            return 1

        taken = take({"a": lambda: 1, "b": run}, lambda _: NEVER, Rule(0.1, fewest=6))
        self.assertEqual({name: len(values) for name, values in taken.items()}, {"a": 6, "b": 6})

    def test_a_failure_is_the_callers(self):
        def fail():
            raise Failed("bad")

        with self.assertRaises(Failed):
            take({**self.runs("ab"), "c": fail}, lambda _: 0, Rule(0.1))
