# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Processes that take turns, with small programs in the place of benchmarks."""
import sys
import time
import unittest
from pathlib import Path

from suite.turns import TurnFailed, order_of_turn, take_turns

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

    def test_only_one_works_at_a_time(self):
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
        self.assertEqual("".join(name for _, _, name in turns), "abbabaab")

    def test_one_that_dies_is_a_failure_with_its_words(self):
        dies = COUNTS + "    sys.exit('no luck')\n"
        with self.assertRaisesRegex(TurnFailed, "(?s)ended with exit code 1.*no luck") as caught:
            take_turns({"a": program(COUNTS), "b": program(dies)}, 3, 30)
        self.assertEqual((caught.exception.name, caught.exception.late), ("b", False))

    def test_one_that_never_gets_ready_is_a_failure(self):
        with self.assertRaisesRegex(TurnFailed, "ended"):
            take_turns({"a": program("pass")}, 1, 30)

    def test_an_exit_code_is_a_failure(self):
        with self.assertRaisesRegex(TurnFailed, "exit code 3"):
            take_turns({"a": program(COUNTS + "sys.exit(3)")}, 2, 30)

    def test_who_hangs_is_named(self):
        start = time.monotonic()
        hangs = "import sys, time; print('waiting', file=sys.stderr, flush=True); time.sleep(60)"
        with self.assertRaisesRegex(TurnFailed, "(?s)not done after 1 s.*waiting") as caught:
            take_turns({"a": program(COUNTS), "b": program(hangs)}, 1, 1)
        self.assertEqual((caught.exception.name, caught.exception.late), ("b", True))
        self.assertLess(time.monotonic() - start, 20)

    def test_what_a_dead_one_has_started_does_not_live_on(self):
        orphans = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], stdout=subprocess.DEVNULL)
print(child.pid, file=sys.stderr, flush=True)
sys.exit(4)
"""
        with self.assertRaisesRegex(TurnFailed, "exit code 4") as caught:
            take_turns({"a": program(orphans)}, 1, 30)
        child = int(str(caught.exception).splitlines()[-1])
        for _ in range(100):
            try:
                if Path(f"/proc/{child}/stat").read_text().split()[2] == "Z":
                    return
            except FileNotFoundError:
                return
            time.sleep(0.1)
        self.fail("it does")

    def test_neighbours_and_the_first_change(self):
        names = list("PSF")
        orders = ["".join(order_of_turn(names, turn)) for turn in range(6)]
        self.assertEqual(orders, ["PSF", "FSP", "SFP", "PFS", "FPS", "SPF"])
        text = "".join(orders)
        pairs = [text[i:i + 2] for i in range(len(text) - 1)]
        for a in names:
            for b in set(names) - {a}:
                self.assertIn(pairs.count(a + b), (2, 3), a + b)

    def test_a_program_that_cannot_be_started_is_a_failure(self):
        with self.assertRaises(TurnFailed):
            take_turns({"a": program(COUNTS), "b": ["/nonexistent/program"]}, 1, 30)


if __name__ == "__main__":
    unittest.main()
