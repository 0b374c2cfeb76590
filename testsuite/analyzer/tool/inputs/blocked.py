# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""blocked.py SIGNAL COMMAND...: runs it with a pipe for stdout that is full, sends the signal when its worker is done,
and looks at what is left in TMPDIR."""
import os
import signal
import subprocess
import sys
import time


def fill(pipe):
    os.set_blocking(pipe, False)
    try:
        while True:
            os.write(pipe, b" " * 4096)
    except BlockingIOError:
        os.set_blocking(pipe, True)


def wait_for(program, condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert program.poll() is None and time.monotonic() < deadline, "it does not get there"
        time.sleep(0.01)


def main(name, command):
    number = getattr(signal, name)
    signal.signal(number, signal.SIG_DFL)  # whoever runs the tests may ignore it, and the command would, too
    read, write = os.pipe()
    fill(write)
    program = subprocess.Popen(command, stdout=write)

    def works():
        with open(f"/proc/{program.pid}/task/{program.pid}/children", encoding="ascii") as children:
            return bool(children.read())

    try:
        wait_for(program, works)
        wait_for(program, lambda: not works())
        time.sleep(0.5)  # it prints by now
        program.send_signal(number)
        code = program.wait(20)
    finally:
        program.kill()
    os.close(read)
    assert code == -number, f"exit code {code}"
    left = os.listdir(os.environ["TMPDIR"])
    assert not left, left


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
