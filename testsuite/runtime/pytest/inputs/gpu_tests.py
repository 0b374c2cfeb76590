# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests for pytest whose work with CUDA is done by ctypes: some with races, some without."""
import os

import cuda
import pytest


@pytest.fixture(scope="module", autouse=True)
def driver():
    cuda.start()


@pytest.fixture
def streams():
    return cuda.stream(), cuda.stream()


def hand_over(streams, waits):
    memory, other = cuda.device_memory(), cuda.device_memory()
    cuda.fill(memory, streams[0])
    if waits:
        cuda.wait(streams[0])
    cuda.copy(other, memory, streams[1])
    cuda.wait_for_all()


@pytest.mark.parametrize("waits", [False, True], ids=["hasty", "patient"])
def test_waits(streams, waits):
    hand_over(streams, waits)


# Two tests, of one place in the code.
@pytest.mark.parametrize("number", [1, 2])
def test_same_place(streams, number):
    hand_over(streams, waits=False)


def test_without_race(streams):
    hand_over(streams, waits=True)


def test_that_fails_itself(streams):
    hand_over(streams, waits=False)
    assert streams is None, "its own failure"


@pytest.mark.streamsan_expect("read-after-write")
def test_expected(streams):
    hand_over(streams, waits=False)


@pytest.mark.streamsan_expect("read-after-write")
def test_expected_in_vain(streams):
    hand_over(streams, waits=True)


@pytest.mark.streamsan_allow("write-after-write", "read-after-write")
def test_allowed(streams):
    hand_over(streams, waits=False)


@pytest.mark.streamsan_allow("write-after-write")
def test_another_allowed(streams):
    hand_over(streams, waits=False)


kept = {}


def test_first_half():
    kept["stream"], kept["memory"] = cuda.stream(), cuda.device_memory()
    cuda.fill(kept["memory"], kept["stream"])


def test_second_half():
    if "WAIT" in os.environ:
        cuda.wait(kept["stream"])
    cuda.copy(cuda.device_memory(), kept["memory"], cuda.stream())
    cuda.wait_for_all()


@pytest.fixture
def undone(streams):
    yield
    hand_over(streams, waits=False)


def test_with_racy_fixture(undone):
    pass


@pytest.mark.xfail(strict=True)
def test_known_to_fail(streams):
    hand_over(streams, waits=False)
    assert streams is None


def test_without_cuda():
    pass
