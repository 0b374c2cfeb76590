# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of a thread's run in which it must not wait for the GPU, and parts inside of these in which it may.

The state is the thread's own and ends with the outermost region. The recorder writes its changes into the trace; which
calls wait is for the judge to say.
"""
import functools
import threading

from . import _recorder

_state = threading.local()


class _Region:
    """Also a decorator, and may be entered again."""

    def __init__(self, within):
        self._within = within

    def __enter__(self):
        if _recorder.table is not None:
            stack = _state.__dict__.setdefault("stack", [_recorder.UNWATCHED])
            stack.append(self._within(stack[-1]))
            _recorder.table.host_waits(stack[-1])
        return self

    def __exit__(self, *fault):
        if _recorder.table is not None:
            _state.stack.pop()
            _recorder.table.host_waits(_state.stack[-1])
        return False

    def __call__(self, function):
        @functools.wraps(function)
        def inside(*arguments, **named):
            with self:
                return function(*arguments, **named)
        return inside


def no_sync():
    """with streamsan.no_sync(): each call of this thread that waits for the GPU is reported, with its line."""
    return _Region(lambda outer: _recorder.FORBIDDEN)


def allow_sync():
    """with streamsan.allow_sync(): inside of no_sync(), waits that are meant. Outside of it, nothing."""
    return _Region(lambda outer: outer if outer == _recorder.UNWATCHED else _recorder.ALLOWED)
