# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import unittest

from suite import measure


class Measure(unittest.TestCase):
    def test_last_json(self):
        self.assertEqual(measure.last_json('{"a": 1}\n{"ms": 2.5}\nbye'), {"ms": 2.5})
        self.assertEqual(measure.last_json('{"ms": 2.5}\n{broken'), {"ms": 2.5})
        self.assertIsNone(measure.last_json("nothing"))

    def test_added_is_the_median_of_the_pairs(self):
        plain = [{"wait": 100, "launch": 3000}, {"wait": 110, "launch": 9000}, {"wait": 90, "launch": 3000}]
        ours = [{"wait": 160, "launch": 3100}, {"wait": 150, "launch": 3050}, {"wait": 145, "launch": 3110}]
        self.assertEqual(measure.added(plain, ours), {"wait": 55, "launch": 100})

    def test_a_drift_cancels(self):
        self.assertEqual(measure.ratio([1.0, 2.0, 3.0], [1.1, 2.2, 3.3]), 1.1)

    def test_turns_are_compared_with_those_beside_them(self):
        plain = [[1.0, 3.0], [2.0, 6.0], [9.0, 9.0]]  # two copies, three turns, the last of which was disturbed
        ours = [[2.2, 2.2], [4.0, 4.8], [9.0, 9.0]]
        self.assertAlmostEqual(measure.ratio_of_turns(plain, ours), 1.1)
        self.assertEqual(measure.medians_of_turns(plain), [2.0, 6.0])

    def test_mean_of_the_named_kinds(self):
        self.assertEqual(measure.mean_of({"record": 50, "wait": 70, "query": 1000}, ("record", "wait")), 60)

    def test_a_peer_against_the_median_plain_run(self):
        self.assertEqual(measure.against([1.0, 2.0, 50.0], 24.0), 12.0)

    def test_the_interval_of_a_median(self):
        """The ranks of the sign test, as tables have them."""
        self.assertIsNone(measure.interval([1, 2, 3, 4, 5]))
        for size, ends in ((6, (1, 6)), (8, (1, 8)), (9, (2, 8)), (15, (4, 12)), (21, (6, 16)), (25, (8, 18))):
            self.assertEqual(measure.interval(list(range(size, 0, -1))), ends, size)

    def test_width_is_of_the_spread_only(self):
        pairs = [1.0, 1.01, 1.02, 1.03, 1.04, 1.05]
        self.assertAlmostEqual(measure.relative_width(pairs), 0.05)
        self.assertAlmostEqual(measure.relative_width([7 * value for value in pairs]), 0.05)
        self.assertEqual(measure.width([-5, -4, 0, 1, 2, 3]), 8)
        self.assertEqual((measure.width([1]), measure.relative_width([1])), (float("inf"),) * 2)
