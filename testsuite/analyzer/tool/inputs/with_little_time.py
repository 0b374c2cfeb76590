# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""with_little_time.py SECONDS COMMAND...: runs it so that no process of it has more time than that (ulimit -t)."""
import os
import resource
import sys

resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[1]), resource.RLIM_INFINITY))
os.execvp(sys.argv[2], sys.argv[2:])
