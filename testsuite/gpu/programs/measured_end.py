# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The end of a program whose calls are counted; see measured_end.h for why there is no teardown."""

import os
import sys


def measured_end():
    if "--measured" not in sys.argv:
        return
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
