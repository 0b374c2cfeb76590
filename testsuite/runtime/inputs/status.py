# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How a program ends: prints "NAME: SIGSEGV" or "NAME: 7" for each name it is given as its argument.

usage: status.py [--preload LIBRARY] PROGRAM NAME...
"""

import os
import signal
import subprocess
import sys

arguments = sys.argv[1:]
environment = dict(os.environ)
if arguments[0] == "--preload":
    environment["LD_PRELOAD"] = arguments[1]
    arguments = arguments[2:]
program, names = arguments[0], arguments[1:]
for name in names:
    status = subprocess.run([program, name], env=environment).returncode
    print(f"{name}: {signal.Signals(-status).name if status < 0 else status}", flush=True)
