# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What this machine has: the toolkit, the device, Python packages. A missing one is a reason to skip."""

import functools
import importlib.util
import os
import shutil
import subprocess
from pathlib import Path


def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


@functools.cache
def toolkit():
    """The folder of the CUDA toolkit, the one whose nvcc is on the path first."""
    for candidate in (os.environ.get("CUDA_PATH"), os.environ.get("CUDA_HOME"), "/usr/local/cuda"):
        if candidate and (Path(candidate) / "bin" / "nvcc").exists():
            return Path(candidate)
    nvcc = shutil.which("nvcc")
    return Path(nvcc).resolve().parent.parent if nvcc else None


def sanitizer_library():
    """The library that measures footprints, as the toolkit has it; None if it does not."""
    path = toolkit() / "compute-sanitizer" / "libsanitizer-public.so" if toolkit() else None
    return path if path and path.exists() else None


def cupti_folder():
    """Where cupti.h lies, if at all: (include folder, library folder)."""
    root = toolkit()
    pairs = [(root / "extras/CUPTI/include", root / "extras/CUPTI/lib64"), (root / "include", root / "lib64"),
             (root / "targets/x86_64-linux/include", root / "targets/x86_64-linux/lib")] if root else []
    return next((pair for pair in pairs if (pair[0] / "cupti.h").exists()), None)


@functools.cache
def missing(need):
    """Why `need` is not met, or an empty string. "module:NAME", "header:NAME", "tool:NAME", "file:cupti",
    "capability:9.0": a device that runs what was compiled for it, or "devices:2": as many at least."""
    kind, name = need.split(":", 1)
    if kind == "module":
        return "" if importlib.util.find_spec(name) else f"no Python package {name}"
    if kind == "header":
        return "" if toolkit() and (toolkit() / "include" / name).exists() else f"no {name} in the toolkit"
    if kind == "tool":
        return "" if find_tool(name) else f"no {name}"
    if kind == "capability":
        here = output_of("nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader").partition("\n")[0].strip()
        return "" if here == name else f"compute capability {here or 'unknown'}, not {name}"
    if kind == "devices":
        here = devices()
        return "" if here >= int(name) else f"{here} device{'s' * (here != 1)}, not {name}"
    if need == "file:cupti":
        return "" if cupti_folder() else "no CUPTI in the toolkit"
    raise ValueError(need)


def devices():
    """How many the driver shows."""
    return output_of("nvidia-smi", "--list-gpus").count("\n")


def gpus():
    """The GPUs of this process as words for CUDA_VISIBLE_DEVICES; one at least, so that whoever asks gets on."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen:
        return chosen.split(",")
    return [str(number) for number in range(max(1, devices()))]


def find_tool(name):
    beside_nvcc = toolkit() / "bin" / name if toolkit() else None
    return str(beside_nvcc) if beside_nvcc and beside_nvcc.exists() else shutil.which(name)


def describe(null):
    """{"device", "driver", "toolkit"} for results.json."""
    release = nvcc_release()
    if null:
        return {"device": "null driver", "driver": "null driver", "toolkit": release}
    query = output_of("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    device, _, driver = query.partition("\n")[0].partition(", ")
    return {"device": device, "driver": driver, "toolkit": release}


def nvcc_release():
    words = output_of(str(toolkit() / "bin" / "nvcc"), "--version").replace(",", " ").split()
    return words[words.index("release") + 1] if "release" in words else ""
