# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import json
import random
import unittest

from suite import truth


def launch(kernel="_Z3addPf", known="measured", complete=True, **pieces):
    """pieces: mode=[(address, width), ...]; a third member True: widened."""
    return {"launch": 0, "kernel": kernel, "demangled": "add(float*)", "known": known, "complete": complete, "pieces": [
        {"mode": mode, "address": piece[0], "width": piece[1], "rows": 1, "pitch": 0, "slices": 1, "slice_pitch": 0,
         "widened": len(piece) > 2 and piece[2]} for mode, some in pieces.items() for piece in some]}


def said(mode, *pieces, kernel="add", launch=0, what="truth", **more):
    return {"what": what, "kernel": kernel, "launch": launch, "mode": mode, **more,
            "pieces": [[*piece, *(1, 0, 1, 0)[len(piece) - 2:]] for piece in pieces]}


class Sets(unittest.TestCase):
    def test_runs_of_a_piece(self):
        self.assertEqual(list(truth.runs([[100, 4, 3, 10, 1, 0]])), [(100, 104), (110, 114), (120, 124)])
        self.assertEqual(list(truth.runs([[0, 2, 2, 8, 2, 100]])), [(0, 2), (8, 10), (100, 102), (108, 110)])
        self.assertEqual(list(truth.runs([[0, 8, 1000, 8, 1, 0]])), [(0, 8000)])

    def test_union_joins_what_touches_and_drops_what_is_empty(self):
        self.assertEqual(truth.union([(8, 12), (0, 4), (4, 8), (20, 20), (30, 31)]), [(0, 12), (30, 31)])
        self.assertEqual(truth.union([(0, 10), (2, 4)]), [(0, 10)])

    def test_difference_agrees_with_sets_of_numbers(self):
        numbers = random.Random(1)
        for _ in range(500):
            left, right = (truth.union((begin, begin + numbers.randrange(9)) for begin in numbers.sample(range(60), 6))
                           for _ in range(2))
            expected = {x for b, e in left for x in range(b, e)} - {x for b, e in right for x in range(b, e)}
            out = truth.minus(left, right)
            self.assertEqual({x for b, e in out for x in range(b, e)}, expected)
            self.assertEqual(out, truth.union(out))
            self.assertEqual(truth.size(out), len(expected))


class Exact(unittest.TestCase):
    def complaints(self, stated, *launches):
        return truth.compare(stated, list(launches))[0]

    def test_equal_sets_however_they_are_cut(self):
        self.assertEqual(self.complaints([said("read", (0, 4, 3, 4))], launch(read=[(8, 4), (0, 8)])), [])

    def test_a_byte_too_few_or_too_many(self):
        self.assertIn("missing: 1 bytes (0x7+1)", self.complaints([said("read", (0, 8))], launch(read=[(0, 7)]))[0])
        self.assertIn("too many: 1 bytes (0x8+1)", self.complaints([said("read", (0, 8))], launch(read=[(0, 9)]))[0])

    def test_a_mode_that_is_not_named_is_empty(self):
        found = self.complaints([said("read", (0, 8))], launch(read=[(0, 8)], write=[(0, 1)]))
        self.assertEqual(len(found), 1)
        self.assertIn("write: too many", found[0])

    def test_the_wrong_mode_is_missing_and_too_many(self):
        self.assertEqual(len(self.complaints([said("atomic", (0, 8))], launch(write=[(0, 8)]))), 2)

    def test_only_measured_and_complete_footprints_count(self):
        stated = [said("read", (0, 8))]
        for other in ({"known": "inferred"}, {"known": "learned"}, {"complete": False}):
            self.assertEqual(len(self.complaints(stated, launch(read=[(0, 8)], **other))), 1)
        self.assertIn("upper bound", self.complaints(stated, launch(read=[(0, 8, True)]))[0])

    def test_a_mode_that_is_none(self):
        self.assertEqual(self.complaints([said("read", (0, 8))], launch(read=[(0, 8)], unknown=[(9, 1)])),
                         ["launch 0 of 'add': a piece of mode 'unknown'"])

    def test_what_is_allowed_may_be_there_or_not(self):
        stated = [said("read", (0, 8)), said("read", (100, 50), what="allowed", why="the workspace")]
        self.assertEqual(self.complaints(stated, launch(read=[(0, 8), (120, 4)])), [])
        self.assertEqual(self.complaints(stated, launch(read=[(0, 8)])), [])
        self.assertEqual(len(self.complaints(stated, launch(read=[(0, 8), (149, 2)]))), 1)
        self.assertIn("4 allowed besides", truth.compare(stated, [launch(read=[(0, 8), (120, 4)])])[1][0])

    def test_launches_are_counted_for_each_kernel(self):
        launches = [launch("_Z4fillPf", write=[(0, 4)]), launch(read=[(0, 4)]), launch(read=[(4, 4)])]
        launches[0]["demangled"] = "fill(float*)"
        self.assertEqual(self.complaints([said("read", (4, 4), launch=1)], *launches), [])
        self.assertEqual(self.complaints([said("read", (0, 8), launch="all")], *launches), [])
        self.assertEqual(self.complaints([said("write", (0, 4), kernel="fill")], *launches), [])
        self.assertEqual(self.complaints([said("read", (4, 4), launch=2)], *launches),
                         ["launch 2 of 'add' is not in the trace"])

    def test_no_statement_is_no_success(self):
        self.assertEqual(self.complaints([], launch()), ["the program states no truth"])


class Honest(unittest.TestCase):
    def complaints(self, *launches):
        return truth.compare([said("read", (0, 8), honest=True)], list(launches))[0]

    def test_exact(self):
        self.assertEqual(self.complaints(launch(read=[(0, 8)])), [])
        self.assertEqual(len(self.complaints(launch(read=[(0, 9)]))), 1)
        self.assertEqual(len(self.complaints(launch(read=[(0, 7)]))), 1)

    def test_an_upper_bound_holds_everything(self):
        self.assertEqual(self.complaints(launch(read=[(0, 100, True)])), [])
        self.assertEqual(len(self.complaints(launch(read=[(1, 100, True)]))), 1)

    def test_incomplete_may_lack_and_not_invent(self):
        self.assertEqual(self.complaints(launch(complete=False)), [])
        self.assertEqual(self.complaints(launch(complete=False, read=[(2, 2)])), [])
        self.assertEqual(len(self.complaints(launch(complete=False, read=[(7, 2)]))), 1)


class Text(unittest.TestCase):
    def test_statements_among_other_output(self):
        text = 'hello\n{"truth": {"kernel": "k", "launch": 0, "mode": "read", "pieces": []}}\n{"ms": 1}\n'
        self.assertEqual(truth.statements(text),
                         [{"what": "truth", "kernel": "k", "launch": 0, "mode": "read", "pieces": []}])

    def test_launches(self):
        one = launch(read=[(0, 4)])
        self.assertEqual(truth.read_launches(json.dumps(one) + "\n\n" + json.dumps(one) + "\n"), [one, one])
