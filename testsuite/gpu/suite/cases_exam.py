# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The exam: programs/exam, written from descriptions of public bugs by two people who had seen nothing of this project, and
kept as they were. 66 bugs with their repairs, and 26 correct programs. expected.json is theirs, too: the lines of which
each report must name one.

They run as a user runs them: with the default options.
"""

import json

from suite.build import PROGRAMS
from suite.case import Case, Target
from suite.expect import Expect, Finding

FOLDER = PROGRAMS / "exam"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
# With PTX: -arch=native makes none, and nothing is proved of kernels in graphs then. From compute capability 9.0 on.
FLAGS = ("-std=c++17", "-g", "-lineinfo", "-arch=sm_90", "-lcublas", "-lcuda")
# Numba's alone ask for what NumPy has no more, and so does the mix with it.
NEEDS = {"pt": ("module:torch",), "tr": ("module:torch", "module:triton"), "cp": ("module:cupy",), "nb": ("module:numba",),
         "mix": ("module:torch", "module:cupy", "module:numba"),
         "clean": ("module:torch", "module:cupy", "module:numba", "module:triton", "module:jax")}
SILENT_AT_ERROR = ("note", "possible", "latent")

# What is not an error, and why. By the documents, or by the rules of this project:
LATENT = {"pt_pinned_slab_pool": "the copy from memory that PyTorch does not know is blocking in today's driver"}
# Missed, or not for sure.
POSSIBLE = {"p34_grouped_gemm_pdl": "the kernel finds its addresses in memory"}
BY_CHANCE = {"p35_rpc_gradients": "an error, or possible if a host thread has waited for the kernel by then: not run"}
MISSED = {"pt_graph_workspace": "the bytes of the graph's kernels are not known: PyTorch has no PTX of them, and nodes are not "
                                "measured"}
# The authors' repaired program has another mistake: the module, whose weights the graph reads, dies after the capture.
FIXED_WITH_AN_ERROR = {"pt_graph_decode_inputs": Expect(
    exit=66, findings=(Finding("error", "premature-free", "use-after-free", at_least=True),), allowed=SILENT_AT_ERROR,
    text=(r"pt_graph_decode_inputs.py:20\b", "keep a reference to the tensor"))}
# The race happens a few times, and beside many other tests its kernel does not always get measured.
ALONE = ("mix_numba_binding", "pt_snapshot")


def expect(case, name):
    if name in MISSED:
        return Expect(allowed=SILENT_AT_ERROR)
    if name in POSSIBLE:
        return Expect(findings=(Finding("possible", "race", at_least=True),), allowed=SILENT_AT_ERROR)
    also = [line for more in case.get("also_lines", case.get("also", ())) for line in (more if isinstance(more, list) else [more])]
    lines = (rf"{case['file']}:({'|'.join(str(line) for line in (case['line'], case['other_line'], *also))})\b",)
    if case.get("latent") or name in LATENT:
        return Expect(findings=(Finding("latent", "", at_least=True),), allowed=SILENT_AT_ERROR, text=lines)
    return Expect(exit=66, findings=(Finding(kind="", at_least=True),), allowed=SILENT_AT_ERROR, text=lines)


def in_cpp(case, name):
    flags = case.get("flags") or ()
    target = Target("exam/" + case["file"], (*FLAGS, *(flags.split() if isinstance(flags, str) else flags)))
    more = {"needs": ("header:cublas_v2.h", "capability:9.0"), "null": False, "options": (), "timeout": 90, "cost": 3}
    if name not in BY_CHANCE:
        yield Case("exam-" + name, target, expect=Expect(allowed=SILENT_AT_ERROR) if case.get("clean") else expect(case, name), **more)
    if not case.get("clean"):
        yield Case(f"exam-{name}-fixed", target.fixed(), expect=Expect(allowed=SILENT_AT_ERROR), **more)


def in_python(case, name):
    path = "{programs}/exam/" + case["file"]
    needs = NEEDS[name.split("_")[0]]
    words = ("{python}", "{programs}/exam/with_row_stack.py", path) if "module:numba" in needs else ("{python}", path)
    more = {"needs": needs, "null": False, "options": (), "timeout": 180, "cost": 15}
    if case.get("clean"):
        yield Case("exam-" + name, None, words, Expect(allowed=SILENT_AT_ERROR), **more)
        return
    yield Case("exam-" + name, None, ("env", "FIXED=0", *words), expect(case, name), alone=name in ALONE, **more)
    repaired = FIXED_WITH_AN_ERROR.get(name, Expect(allowed=SILENT_AT_ERROR))
    yield Case(f"exam-{name}-fixed", None, ("env", "FIXED=1", *words), repaired, **more)


CASES = [each for case in EXPECTED
         for each in (in_cpp if case["file"].endswith(".cu") else in_python)(case, case["file"].rsplit(".", 1)[0])]
