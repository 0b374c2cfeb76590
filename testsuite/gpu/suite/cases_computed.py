# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that are not measured and read from their code: what that proves is exact, on a GPU and without one."""

from dataclasses import replace

from suite import cases
from suite.case import computed, twins
from suite.cases_footprints import OVERLAP
from suite.expect import Expect, Finding, SILENT

EARLIER = {case.name: case for case in cases.CASES}

CASES = [
    # Slices of one buffer: apart, and overlapping by 16 bytes.
    *computed([EARLIER["slices"], EARLIER["slices-fixed"]], expect=SILENT),
    *computed(twins("four-streams", "four_streams.cu", replace(OVERLAP, sites=("upload", "kernel"), allowed=("note",)))),
    *computed(twins("shared-counter", "shared_counter.cu",
                    Expect(exit=66, findings=(Finding(),), sites=("count", "reset")))),
    *computed(case for case in cases.CASES
              if case.name.removesuffix("-fixed") in ("pipeline", "pipeline-threads", "preload-then-check")),
    # That a number stands for a texture or a surface, code alone says.
    *computed(twins("texture-surface", "texture_surface.cu",
                    cases.race("paint", "sample", text=(r"race on an array of 1024 x 512 x 4 bytes",)))),
    *computed(twins("array-free-in-use", "texture_surface.cu",
                    Expect(findings=(Finding("latent", "premature-free", rule="R-ALC-05"),), sites=("free", "paint")),
                    ("-g", "-DFREED"))),
]
