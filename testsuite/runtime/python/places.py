# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
r"""Every way in which a call can come from Python: each is a race of its own, and its call stack is what Python says.

RUN: rm -f %t.truth
RUN: env TRUTH=%t.truth STREAMSAN_OPTIONS=max_reports=1,footprints=inferred,json=%t.json %racy %interpreter %s > %t.text 2>&1
RUN: %truth %t.json %t.truth cuMemcpyDtoDAsync_v2 23
RUN: env PYTHONOPTIMIZE=2 %silent %interpreter %s --fixed
"""
import ctypes
import functools
import sys
import threading

import cuda


class Place:
    """One buffer that was filled on the other stream, and is copied away from where it is called."""

    def __init__(self):
        self.memory = cuda.device_memory()
        cuda.fill(self.memory, first)
        if "--fixed" in sys.argv:
            cuda.wait(first)

    def __call__(self):
        cuda.copy(other, self.memory, second)

    def method(self):
        self()

    @classmethod
    def of_class(cls):
        cls()()

    @staticmethod
    def static():
        Place()()

    @property
    def as_property(self):
        return self()

    def __del__(self):
        pass


class AtTheEnd(Place):
    def __del__(self):
        self()


def recursion(depth, place):
    if depth == 0:
        place()
    else:
        recursion(depth - 1, place)


def generator(place):
    yield 1
    place()
    yield 2


def outer_generator(place):
    yield from generator(place)


async def coroutine(place):
    place()


def decorated(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments)

    return wrapper


@decorated
def with_decorator(place):
    place()


def größe_計算(place):
    place()


def 𝕤𝕔𝕣𝕚𝕡𝕥(place):
    place()


def spread(
    place,
    more=0,
):
    return (
        more
        + (place() or 0)
        + 1
    )


def after_an_error(place):
    try:
        raise ValueError
    except ValueError:
        place()
    finally:
        more = 1
    return more


def from_c(place):
    """C calls back: Python is under C, which is under Python."""
    callback_type = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    done = []

    def compare(_a, _b):
        if not done:
            done.append(True)
            place()
        return 0

    values = (ctypes.c_int * 2)(2, 1)
    ctypes.CDLL(None).qsort(values, 2, ctypes.sizeof(ctypes.c_int), callback_type(compare))


def from_thread(place):
    def body():
        cuda.use()
        place()

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()


def begun_elsewhere(place):
    """A generator that another thread goes on with."""
    def body():
        yield 1
        cuda.use()
        place()

    steps = body()
    next(steps)
    thread = threading.Thread(target=lambda: list(steps))
    thread.start()
    thread.join()


def far_apart(place):
    # Tables of lines have steps of limited length.










































































































































































    place()


cuda.start()
first, second = cuda.stream(), cuda.stream()
other = cuda.device_memory()

Place()()
Place().method()
Place.of_class()
Place.static()
Place().as_property
recursion(3, Place())
recursion(100, Place())
list(generator(Place()))
list(outer_generator(Place()))
try:
    coroutine(Place()).send(None)
except StopIteration:
    pass
with_decorator(Place())
größe_計算(Place())
𝕤𝕔𝕣𝕚𝕡𝕥(Place())
spread(Place())
after_an_error(Place())
from_c(Place())
from_thread(Place())
begun_elsewhere(Place())
far_apart(Place())
(lambda place: place())(Place())
[place() for place in [Place()]]
exec(compile("\n\nPlace()()\n", "<made>", "exec"))
place = AtTheEnd()
del place
cuda.wait_for_all()
