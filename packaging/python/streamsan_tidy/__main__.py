# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import sys

from . import main

sys.exit(main())
