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

from suite.pairs import Failed

PATIENCE = 30  # seconds for a process to end


class TurnFailed(Failed):
    def __init__(self, name, text, late=False):
        super().__init__(text)
        self.name = name  # whose turn it was
        self.late = late  # the time was over


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
        raise self.failed(f"ended with {self.code(PATIENCE)}")

    def turn(self):
        try:
            self.process.stdin.write("turn\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # answer() tells
        return self.answer()

    def code(self, timeout):
        try:
            return f"exit code {self.process.wait(timeout)}"
        except subprocess.TimeoutExpired:
            return "no exit code yet"

    def end(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        code = self.code(PATIENCE)
        if code != "exit code 0":
            raise self.failed(f"ended with {code}")

    def failed(self, what):
        self.errors.seek(0)
        return TurnFailed(self.name, f"{what}: {' '.join(map(str, self.words))}\n{self.errors.read()}")

    def kill(self):
        """It and what it has started, which may live on when it is gone."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def close(self):
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            pass  # it was killed; more cannot be done
        for stream in (self.process.stdin, self.process.stdout, self.errors):
            try:
                stream.close()
            except BrokenPipeError:
                pass


def order_of_turn(names, turn):
    """Who is first changes from turn to turn, and who works before whom: what one leaves behind, in caches and clocks,
    must not always meet the same one."""
    first = turn // 2 % len(names)
    order = names[first:] + names[:first]
    return order[::-1] if turn % 2 else order


def take_turns(commands, turns, timeout, env=None, cwd=None, first_turn=0):
    """{name: [answer of each turn]} of the commands {name: words}. `first_turn`: where order_of_turn() begins.

    Raises TurnFailed if one of them fails, or if all of it takes longer than `timeout` seconds.
    """
    processes = {}
    late = threading.Event()

    def kill_all():
        for process in list(processes.values()):
            process.kill()

    def stop():
        late.set()
        kill_all()

    clock = threading.Timer(timeout, stop)
    done = False
    try:
        for name, words in commands.items():
            processes[name] = _Process(name, words, env, cwd)
        clock.start()
        for process in processes.values():
            process.answer()
        answers = {name: [] for name in processes}
        for turn in range(turns):
            for name in order_of_turn(list(processes), first_turn + turn):
                answers[name].append(processes[name].turn())
        for process in processes.values():
            process.end()
        done = True
        return answers
    except TurnFailed as error:
        if late.is_set():
            raise TurnFailed(error.name, f"not done after {timeout:.0f} s, in the turn of {error}", True) from error
        raise
    finally:
        clock.cancel()
        if not done:
            kill_all()
        for process in processes.values():
            process.close()
