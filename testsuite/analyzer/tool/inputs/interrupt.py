# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""interrupt.py SIGNAL|- COMMAND...: starts it, waits for its worker, sends the signal, and looks at what is left in
TMPDIR. `-`: the command is sent SIGTERM by somebody else."""
import os
import signal
import subprocess
import sys
import time


def workers(parent):
    with open(f"/proc/{parent}/task/{parent}/children", encoding="ascii") as children:
        return [int(child) for child in children.read().split()]


def interrupt(program, number):
    deadline = time.monotonic() + 60
    while not workers(program.pid):
        assert program.poll() is None and time.monotonic() < deadline, "no worker was started"
        time.sleep(0.01)
    (worker,) = workers(program.pid)
    assert os.listdir(os.environ["TMPDIR"]), "there is no temporary folder to remove"
    program.send_signal(number)
    return worker


def main(name, command):
    number = signal.SIGTERM if name == "-" else getattr(signal, name)
    signal.signal(number, signal.SIG_DFL)  # whoever runs the tests may ignore it, and the command would, too
    program = subprocess.Popen(command)
    worker = None if name == "-" else interrupt(program, number)
    try:
        code = program.wait(60)
    finally:
        program.kill()
    assert code == -number, f"exit code {code}"
    left = os.listdir(os.environ["TMPDIR"])
    assert not left, left
    assert worker is None or not os.path.exists(f"/proc/{worker}"), "the worker lives on"


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
