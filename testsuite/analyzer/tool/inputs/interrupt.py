# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""interrupt.py COMMAND...: starts it, waits for its worker, sends SIGTERM, and looks at what is left in TMPDIR."""
import os
import signal
import subprocess
import sys
import time

folder = os.environ["TMPDIR"]


def workers(parent):
    with open(f"/proc/{parent}/task/{parent}/children", encoding="ascii") as children:
        return [int(child) for child in children.read().split()]


program = subprocess.Popen(sys.argv[1:])
deadline = time.monotonic() + 60
while not workers(program.pid):
    assert program.poll() is None and time.monotonic() < deadline, "no worker was started"
    time.sleep(0.01)
(worker,) = workers(program.pid)
assert os.listdir(folder), "there is no temporary folder to remove"
program.send_signal(signal.SIGTERM)
code = program.wait(60)
assert code == -signal.SIGTERM, f"exit code {code}"
assert not os.listdir(folder), os.listdir(folder)
assert not os.path.exists(f"/proc/{worker}"), "the worker lives on"
