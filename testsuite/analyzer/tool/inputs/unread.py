# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""unread.py COMMAND...: runs it with a stdout that nobody reads, and looks at what is left in TMPDIR."""
import os
import signal
import subprocess
import sys

read, write = os.pipe()
os.close(read)
code = subprocess.run(sys.argv[1:], stdout=write, timeout=60).returncode
assert code == -signal.SIGPIPE, f"exit code {code}"
assert not os.listdir(os.environ["TMPDIR"]), os.listdir(os.environ["TMPDIR"])
