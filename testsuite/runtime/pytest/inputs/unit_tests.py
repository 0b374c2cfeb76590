# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests for unittest."""
import unittest

import cuda


def hand_over(waits):
    cuda.start()
    first, second = cuda.stream(), cuda.stream()
    memory, other = cuda.device_memory(), cuda.device_memory()
    cuda.fill(memory, first)
    if waits:
        cuda.wait(first)
    cuda.copy(other, memory, second)
    cuda.wait_for_all()


class HastyTest(unittest.TestCase):
    def test(self):
        hand_over(waits=False)


class PatientTest(unittest.TestCase):
    def test(self):
        hand_over(waits=True)
