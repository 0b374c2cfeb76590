# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Processes that take turns, with small programs in the place of benchmarks."""
import sys
import time
import unittest

from suite.pairs import Failed, Unavailable
from suite.turns import take_turns

COUNTS = """
import sys
print("noise")
print('{"turn": 0}', flush=True)
for turn, _ in enumerate(sys.stdin, 1):
    print('{"turn": %d}' % turn, flush=True)
"""


def program(text, *words):
    return [sys.executable, "-c", text, *words]


class Turns(unittest.TestCase):
    def test_each_answers_each_turn(self):
        answers = take_turns({"a": program(COUNTS), "b": program(COUNTS)}, 3, 30)
        expected = [{"turn": 1}, {"turn": 2}, {"turn": 3}]
        self.assertEqual(answers, {"a": expected, "b": expected})

    def test_only_one_works_at_a_time_and_each_is_first_as_often(self):
        stamps = """
import sys, time, json
print("{}", flush=True)
for _ in sys.stdin:
    begun = time.monotonic()
    time.sleep(0.02)
    print(json.dumps({"begun": begun, "ended": time.monotonic()}), flush=True)
"""
        answers = take_turns({name: program(stamps) for name in "ab"}, 4, 30)
        turns = sorted((answer["begun"], answer["ended"], name) for name in "ab" for answer in answers[name])
        for (_, ended, _), (begun, _, _) in zip(turns, turns[1:]):
            self.assertLessEqual(ended, begun)
        self.assertEqual("".join(name for _, _, name in turns), "abbaabba")

    def test_one_that_dies_is_a_failure_with_its_words(self):
        dies = COUNTS + "    sys.exit('no luck')\n"
        with self.assertRaisesRegex(Failed, "(?s)ended.*no luck"):
            take_turns({"a": program(COUNTS), "b": program(dies)}, 3, 30)

    def test_one_that_never_gets_ready_is_a_failure(self):
        with self.assertRaisesRegex(Failed, "ended"):
            take_turns({"a": program("pass")}, 1, 30)

    def test_an_exit_code_is_a_failure(self):
        with self.assertRaisesRegex(Failed, "exit code 3"):
            take_turns({"a": program(COUNTS + "sys.exit(3)")}, 2, 30)

    def test_too_late_is_no_failure(self):
        start = time.monotonic()
        with self.assertRaisesRegex(Unavailable, "not done after 1 s"):
            take_turns({"a": program(COUNTS), "b": program("import time; time.sleep(60)")}, 1, 1)
        self.assertLess(time.monotonic() - start, 20)

    def test_a_program_that_cannot_be_started_is_a_failure(self):
        with self.assertRaises(Failed):
            take_turns({"a": program(COUNTS), "b": ["/nonexistent/program"]}, 1, 30)


if __name__ == "__main__":
    unittest.main()
