# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import unittest

from suite import times


def slice_of(op, name, start, ms):
    return {"ph": "X", "name": name, "ts": start * 1e3, "dur": ms * 1e3, "args": {"op": op}}


DOCUMENT = {"traceEvents": [
    {"ph": "M", "name": "kernel spin", "args": {"name": "x"}},
    {"ph": "X", "name": "kernel spin on the host", "ts": 0, "dur": 9e9, "args": {}},
    slice_of(2, "kernel spin(int*)", 12, 2.1), slice_of(1, "kernel spin(int*)", 0, 1), slice_of(3, "copy", 20, 1),
]}
REPORT = {"findings": [{"sync": {"blocked_ms": 3.0}}, {"sync": {"blocked_ms": None}}, {"kind": "race"}]}


def wrong(*stated, document=DOCUMENT, report=REPORT):
    return times.compare(list(stated), document, report)[0]


class Times(unittest.TestCase):
    def test_statements(self):
        text = 'hello\n{"lasts": ["kernel spin", [1, 2]]}\n{"other": 1}\n{"blocked": 3}\n'
        self.assertEqual(times.statements(text), [("lasts", ["kernel spin", [1, 2]]), ("blocked", 3)])

    def test_right(self):
        self.assertEqual(wrong(("lasts", ["kernel spin", [1, 2]]), ("gap", ["kernel spin", 0, 10]), ("blocked", 3)), [])

    def test_wrong_lengths_orders_and_numbers(self):
        for expected in ([2, 1], [1], [1, 2, 2], [1, 4]):
            self.assertEqual(len(wrong(("lasts", ["kernel spin", expected]))), 1, expected)

    def test_wrong_gaps(self):
        for number, ms in ((0, 12), (0, 5), (1, 10)):
            self.assertEqual(len(wrong(("gap", ["kernel spin", number, ms]))), 1)

    def test_the_host_waits_too_short_or_too_long(self):
        for ms in (9, -1):
            self.assertEqual(len(wrong(("blocked", ms))), 1)

    def test_nothing_is_wrong_too(self):
        self.assertTrue(wrong())
        self.assertTrue(wrong(("blocked", 3), document=None))
        self.assertTrue(wrong(("blocked", 3), report=None))


if __name__ == "__main__":
    unittest.main()
