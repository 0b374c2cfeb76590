# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One program of all those of testsuite/runtime/syncs that follow advice, each with the variant that does, for the
benchmark sync-advice. See benchmarks/sync_advice.h, and docs/benchmarks.md for what is left out."""

import re
import statistics

from suite import marks, measure
from suite.cases_syncs import NOT_HERE, RUNTIME, names

# What is made once for all rounds must not be freed or destroyed in one, and the start of a thread takes longer than
# all that a program does with the GPU.
NOT_COMPARED = re.compile(r"\bcudaFree\(|Destroy\(|cudaFreeHost\(|std::thread")


def compared():
    """Names of the programs."""
    def fits(name):
        path = RUNTIME / "syncs" / f"{name}.cu"
        return marks.read(path).fixed and not NOT_COMPARED.search(path.read_text())

    return [name for name in names() if name not in NOT_HERE and fits(name)]


def generated(programs):
    """The source text."""
    paths = [RUNTIME / "syncs" / f"{name}.cu" for name in programs]
    headers = sorted({header for path in paths
                      for header in re.findall(r"^#include (<.*>)$", path.read_text(), re.MULTILINE)})
    lines = [*(f"#include {header}" for header in headers), '#include "syncs.h"', '#include "sync_advice.h"']
    for number, path in enumerate(paths):
        lines += [f"namespace original_{number} {{", f'#include "{path}"', "}", "#define FIXED",
                  f"namespace fixed_{number} {{", f'#include "{path}"', "}", "#undef FIXED"]
    lines += ["#undef main", "int main(int argc, char** argv) {", "  return compare({"]
    lines += [f'    {{"{name}", original_{number}::program, fixed_{number}::program}},'
              for number, name in enumerate(programs)]
    return "\n".join([*lines, "  }, argc, argv);", "}", ""])


def numbers(pairs):
    """ratio= and detail= of {program: {"original": [us, ...], "fixed": [us, ...]}}, paired by position."""
    each = {name: measure.ratio(times["original"], times["fixed"]) for name, times in pairs.items()}
    times = {name: {variant: round(statistics.median(us), 1) for variant, us in times.items()}
             for name, times in pairs.items()}
    return {"ratio": round(statistics.median(each.values()), 3),
            "detail": {"fixed_by_original": each, "microseconds_a_round": times}}
