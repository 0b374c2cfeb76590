# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import unittest

from suite import sync_advice


class SyncAdvice(unittest.TestCase):
    def test_many_programs_are_compared(self):
        programs = sync_advice.compared()
        self.assertGreaterEqual(len(programs), 20)
        for name in ("independent-streams", "event-for-device", "stream-for-device", "unneeded-stream"):
            self.assertIn(name, programs)
        for name in ("needed-by-the-host", "free-waits", "unneeded-event", "other-thread"):
            self.assertNotIn(name, programs)

    def test_each_is_there_twice(self):
        text = sync_advice.generated(["other-thread", "move"])
        self.assertLess(text.index("#include <thread>"), text.index("namespace"))
        self.assertEqual(text.count('other-thread.cu"'), 2)
        self.assertIn('{"move", original_1::program, fixed_1::program}', text)

    def test_numbers(self):
        numbers = sync_advice.numbers({"a": {"original": [10, 20, 10], "fixed": [5, 10, 9]},
                                       "b": {"original": [1, 1], "fixed": [1, 1]},
                                       "c": {"original": [10], "fixed": [9]}})
        self.assertEqual(numbers["ratio"], 0.9)
        self.assertEqual(numbers["detail"]["fixed_by_original"], {"a": 0.5, "b": 1.0, "c": 0.9})
        self.assertEqual(numbers["detail"]["microseconds_a_round"]["a"], {"original": 10, "fixed": 9})


if __name__ == "__main__":
    unittest.main()
