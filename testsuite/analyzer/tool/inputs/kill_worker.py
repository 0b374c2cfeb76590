# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kill_worker.py COMMAND...: starts it, kills the worker for endless.cu, and exits as the command does."""
import os
import signal
import subprocess
import sys
import time

from interrupt import workers


def is_endless(worker):
    """A worker has the name of its file."""
    with open(f"/proc/{worker}/comm", encoding="utf-8") as name:
        return name.read().strip() == "endless.cu"


program = subprocess.Popen(sys.argv[1:])
deadline = time.monotonic() + 60
while not (endless := [worker for worker in workers(program.pid) if is_endless(worker)]):
    assert program.poll() is None and time.monotonic() < deadline, "no worker was started"
    time.sleep(0.01)
os.kill(endless[0], signal.SIGKILL)
sys.exit(program.wait(60))
