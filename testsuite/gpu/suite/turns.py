# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Processes that are compared while all of them live: each works when it is its turn, and waits else.

How fast a program is that the host bounds changes from minute to minute by more than what a tool costs. Runs that follow
one another, each with seconds of start-up, see that as a difference of the tools. Turns of a tenth of a second follow
each other so closely that it is the same for all. What is left is how a process happens to lie in memory, so several
rounds of new processes are needed all the same.

A process says a line of JSON when it is ready, one line for each line it is given, and ends when its input does.
"""

import json
import os
import signal
import subprocess
import tempfile
import threading

from suite.pairs import Failed, Unavailable


class TurnFailed(Failed):
    def __init__(self, name, text):
        super().__init__(text)
        self.name = name  # whose turn it was


class _Process:
    def __init__(self, name, words, env, cwd):
        self.name = name
        self.words = words
        self.errors = tempfile.TemporaryFile("w+", errors="replace")
        try:
            self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                            env=env, cwd=cwd, start_new_session=True, text=True, errors="replace")
        except OSError as error:
            self.errors.close()
            raise TurnFailed(name, str(error)) from error

    def answer(self):
        """The next line of JSON."""
        for line in self.process.stdout:
            if line.startswith("{"):
                try:
                    return json.loads(line)
                except ValueError as error:
                    raise self.failed(f"{error}: {line}") from error
        raise self.failed("ended")

    def turn(self):
        try:
            self.process.stdin.write("turn\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # answer() tells
        return self.answer()

    def end(self, timeout):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise self.failed("does not end") from None
        if code != 0:
            raise self.failed(f"exit code {code}")

    def failed(self, what):
        self.errors.seek(0)
        return TurnFailed(self.name, f"{what}: {' '.join(map(str, self.words))}\n{self.errors.read()}")

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def close(self):
        if self.process.poll() is None:
            self.kill()
        for stream in (self.process.stdin, self.process.stdout, self.errors):
            try:
                stream.close()
            except BrokenPipeError:
                pass


def take_turns(commands, turns, timeout, env=None, cwd=None):
    """{name: [answer of each turn]} of the commands {name: words}; who is first changes from turn to turn.

    Raises TurnFailed if one of them fails, and Unavailable if all of it takes longer than `timeout` seconds.
    """
    processes = {}
    late = threading.Event()

    def stop():
        late.set()
        for process in list(processes.values()):
            process.kill()

    clock = threading.Timer(timeout, stop)
    try:
        for name, words in commands.items():
            processes[name] = _Process(name, words, env, cwd)
        clock.start()
        for process in processes.values():
            process.answer()
        answers = {name: [] for name in processes}
        names = list(processes)
        for turn in range(turns):
            first = turn % len(names)
            for name in names[first:] + names[:first]:
                answers[name].append(processes[name].turn())
        for process in processes.values():
            process.end(timeout)
        return answers
    except TurnFailed as error:
        if late.is_set():
            raise Unavailable(f"not done after {timeout:.0f} s") from error
        raise
    finally:
        clock.cancel()
        for process in processes.values():
            process.close()
