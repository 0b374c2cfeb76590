# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""with_little_room.py BYTES COMMAND...: runs it so that no file it writes can be larger, as `ulimit -f` does: one that
would be is a signal, too, which Python ignores and a shell does not."""
import os
import resource
import signal
import sys

signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
os.execvp(sys.argv[2], sys.argv[2:])
