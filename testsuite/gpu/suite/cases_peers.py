# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Several devices: in one process, and one for each process. How each program is racy is said in its source."""

from suite.case import ALL_MEASURED, computed, measured
from suite.cases import race
from suite.cases_host import error, host_race, variants
from suite.cases_python import python, races_at, script
from suite.expect import NO_ERROR

TWO = ("devices:2",)
TORCH = ("module:torch", *TWO)

PEERS = variants("peers", "peers.cu", [
    ("copy", ("copy",), race("write", "copy")),
    ("access", ("access",), race("write", "use")),
    ("default", ("default",), race("write", "use")),
    ("reads", ("reads",), host_race("result", "read", cause="other-device")),
    ("freed", ("freed",), error("use", "free", kind="premature-free", hazard="free-while-in-use")),
], needs=TWO, null=False)

FRAMEWORKS = [
    *(python("torch-two-gpus-" + variant, script("torch_two_gpus.py", variant), needs=TORCH)
      for variant in ("moves", "parallel")),
    python("torch-two-gpus-side", script("torch_two_gpus.py", "side"), races_at("move", "use"), needs=TORCH,
           site_source="torch_two_gpus.py"),
    python("torch-two-gpus-side-fixed", script("torch_two_gpus.py", "side", "--fixed"), NO_ERROR, needs=TORCH),
    python("torch-ddp", script("torch_ddp.py"), needs=TORCH),
]

# The kernel that writes has met nothing before the one conflict there is: by default it would not be measured again,
# and bytes of its earlier launch make the race a possible one.
CASES = [*PEERS, *measured(PEERS, options=ALL_MEASURED), *computed(PEERS, null=False), *FRAMEWORKS, *measured(FRAMEWORKS)]
