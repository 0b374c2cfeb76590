# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds the programs with nvcc, each distinct target once, all of them side by side.

On a GPU machine the command is what a user types: no architecture, the toolkit's own cudart. On the null driver
(--null DIR) the programs are linked with the null cudart of that folder instead, and -DNULL_DRIVER tells them that no
kernel will run.
"""

import hashlib
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from suite import machine

PROGRAMS = Path(__file__).resolve().parent.parent / "programs"
SUFFIXES = {"-ptx": ".ptx", "-shared": ".so"}


class BuildError(Exception):
    pass


def output_path(folder, target):
    digest = hashlib.sha256(repr(target).encode()).hexdigest()[:8]
    suffix = next((s for flag, s in SUFFIXES.items() if flag in target.flags), "")
    return Path(folder) / f"{Path(target.source).stem}-{digest}{suffix}"


def libcuda_folder(null=None):
    """Where -lcuda is found when a program is linked. A toolkit made of Python wheels has no stub, the null driver is one."""
    return null or machine.toolkit() / "lib64" / "stubs"


def command(target, output, null=None):
    root = machine.toolkit()
    flags = list(target.flags)
    libraries = []
    if "-lcuda" in flags:
        flags.remove("-lcuda")
        libraries += [f"-L{libcuda_folder(null)}", "-lcuda"]
    shared_cudart = "shared" in flags
    if null and "-ptx" not in flags:
        if "-cudart" in flags:
            at = flags.index("-cudart")
            del flags[at : at + 2]
        flags += ["-DNULL_DRIVER", "-cudart", "none"]
        if target.source.endswith(".cu"):
            libraries.append(str(Path(null) / "libnullcudart.a"))
    elif shared_cudart:
        libraries += ["-Xlinker", f"-rpath={root}/lib64"]
    return [str(root / "bin" / "nvcc"), *flags, str(PROGRAMS / target.source), *libraries, "-o", str(output)]


def build(target, folder, null=None):
    output = output_path(folder, target)
    done = subprocess.run(command(target, output, null), capture_output=True, text=True, check=False, timeout=300)
    if done.returncode != 0:
        raise BuildError(f"{' '.join(command(target, output, null))}\n{done.stdout}{done.stderr}")
    return output


def build_all(targets, folder, jobs, null=None):
    """{target: path, or the BuildError}."""
    def attempt(target):
        try:
            return build(target, folder, null)
        except (BuildError, OSError, subprocess.TimeoutExpired) as error:
            return error if isinstance(error, BuildError) else BuildError(str(error))

    unique = list(dict.fromkeys(targets))
    with ThreadPoolExecutor(jobs) as pool:
        return dict(zip(unique, pool.map(attempt, unique)))


def build_cupti_counts(folder):
    include, library = machine.cupti_folder()
    output = Path(folder) / "libcupti_counts.so"
    source = PROGRAMS.parent / "cupti_counts.cpp"
    words = ["g++", "-std=c++20", "-O2", "-shared", "-fPIC", f"-I{include}", f"-I{machine.toolkit()}/include",
             str(source), f"-L{library}", "-lcupti", f"-Wl,-rpath,{library}", "-o", str(output)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode != 0:
        raise BuildError(f"{' '.join(words)}\n{done.stderr}")
    return output
