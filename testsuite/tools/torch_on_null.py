# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's wheel on the null driver: it finds the suite's libcudart under the name that it asks for, and what that one
lacks in a library that is preloaded, too (runtime/torch/inputs/rest.c)."""
import pathlib
import subprocess

INPUTS = pathlib.Path(__file__).resolve().parents[1] / "runtime" / "torch" / "inputs"


def prepare(folder, null, cc="cc"):
    """Builds into the folder what PyTorch needs; `null`: the null driver's. Returns what is to be preloaded, and is to
    be in LD_LIBRARY_PATH."""
    folder = pathlib.Path(folder)
    for library, source in (("librest.so", "rest.c"), ("libnvidia-ml.so.1", "nvml.c")):
        subprocess.run([cc, "-shared", "-fPIC", f"-Wl,-soname,{library}", INPUTS / source, "-o", folder / library],
                       check=True)
    return [str(pathlib.Path(null) / "libcudart.so.13"), str(folder / "librest.so")], [str(null), str(folder)]
