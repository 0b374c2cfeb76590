# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The CUDA C++ programs of the suite: what each is built from and what must be reported.

One row, two tests: the racy program and, with -DFIXED, its silent twin. Why each is racy is said in its source.
"""

from suite.case import Case, Target, twins
from suite.expect import Expect, Finding, NO_ERROR


def race(*sites, hazard="read-after-write", cause="", text=(), code=66):
    return Expect(exit=code, findings=(Finding(hazard=hazard, cause=cause),), sites=sites, text=text)


PLUGIN = Target("plugin.cu", ("-g", "-shared", "-Xcompiler", "-fPIC"))

# The same race in every way a program can reach the driver.
PIPELINES = [
    *twins("pipeline", "pipeline.cu", race("copy", "kernel", "allocation"), record=True),
    *twins("pipeline-shared-cudart", "pipeline.cu", race("copy", "kernel"), ("-g", "-cudart", "shared"), null=False),
    *twins("pipeline-per-thread", "pipeline.cu", race("copy", "kernel"), ("-g", "--default-stream", "per-thread")),
    *twins("pipeline-threads", "pipeline_threads.cu", race("copy", "kernel"), record=True),
    *twins("pipeline-driver-api", "pipeline_driver.cpp", race("copy", "kernel"), ("-g", "-lcuda"), ("{}", "{ptx}"),
           others=(("ptx", Target("kernels.cu", ("-ptx",))),), record=True),
    *twins("pipeline-no-debug-info", "pipeline.cu",
           race(text=(r"main\b.*\+ ?0x[0-9a-f]+", r"(compile|build|built).*-g\b")), ()),
    *twins("per-thread-default-stream", "per_thread.cu", race("fill", "kernel"),
           ("-g", "--default-stream", "per-thread"), record=True),
    Case("legacy-default-stream", Target("per_thread.cu", ("-g",))),
    Case("plugin", Target("plugin_host.cpp", ("-g", "-cudart", "none")), ("{}", "{plugin}"), race("fill", "kernel"),
         others=(("plugin", PLUGIN),), site_source="plugin.cu"),
    Case("plugin-fixed", Target("plugin_host.cpp", ("-g", "-cudart", "none")), ("{}", "{plugin}"),
         others=(("plugin", PLUGIN.fixed()),)),
    *twins("preload-then-check", "pipeline.cu", race("copy", "kernel", "allocation"), mode="preload",
           fixed=Expect()),
]

def product(site):
    """In later rounds the upload comes too early as well."""
    return Expect(exit=66, findings=(Finding(at_least=True),), allowed=("note", "possible"), sites=("upload", site))


BLAS = {"needs": ("header:cublas_v2.h",), "null": False, "cost": 5}

HAZARDS = [
    *twins("legacy-stream", "legacy_stream.cu", race("fill", "kernel", cause="nonblocking-vs-legacy")),
    *twins("sync-copy", "sync_copy.cu", race("kernel", "copy"), record=True),
    *twins("pageable-upload", "pageable_upload.cu", race("copy", "kernel"), record=True),
    *twins("event-too-early", "event_too_early.cu", race("copy", "kernel", "record", cause="event-recorded-too-early")),
    *twins("event-never-recorded", "event_never_recorded.cu",
           race("copy", "kernel", "wait", cause="event-never-recorded")),
    *twins("event-query", "event_query.cu", race("copy", "kernel", cause="event-not-waited-for")),
    *twins("overlapping-copies", "overlapping_copies.cu", race("left", "right", hazard="write-after-write")),
    *twins("columns", "columns.cu", race("left", "right", hazard="write-after-write")),
    *twins("managed", "managed.cu", race("first", "second")),
    *twins("default-kind", "default_kind.cu", race("first", "second")),
    *twins("batch-copy", "batch_copy.cpp", race("first", "second"), ("-g", "-lcuda")),
    *twins("batch-source-order", "batch_copy.cpp", race("fill", "batch", cause="source-order"),
           ("-g", "-lcuda", "-DORDER")),
    *twins("product-upload", "product_upload.cu", product("product"), ("-g", "-lcublas"), **BLAS),
    *twins("product-upload-light", "product_upload.cu", product("light"),
           ("-g", "-lcublas", "-lcublasLt", "-DLIGHT"), **BLAS),
    *twins("product-upload-captured", "product_upload.cu", product("captured"), ("-g", "-lcublas", "-DCAPTURED"), **BLAS),
    *twins("value-wait-first", "value_wait_first.cu", race("copy", "kernel", hazard="write-after-read"), ("-g", "-lcuda"),
           null=False, record=True),
    *twins("context-event", "context_event.cpp", race("first", "second"), ("-g", "-lcuda")),
    Case("slices", Target("slices.cu", ("-g",)), expect=NO_ERROR, record=True),
    Case("slices-fixed", Target("slices.cu", ("-g", "-DFIXED")), expect=NO_ERROR),
]

LIFETIMES = [
    *twins("free-in-use", "free_in_use.cu",
           Expect(findings=(Finding("latent", "premature-free", rule="R-ALC-02"),), sites=("free", "kernel"))),
    *twins("async-free-in-use", "async_free_in_use.cu",
           Expect(exit=66, findings=(Finding(kind="premature-free"),), sites=("free", "kernel")), record=True),
    *twins("use-before-allocation", "use_before_allocation.cu",
           Expect(exit=66, findings=(Finding(kind="", hazard="use-before-alloc.*"),), sites=("allocation", "kernel"))),
    Case("pool-reuse", Target("pool_reuse.cu", ("-g",)), record=True),
    Case("recycled", Target("recycled.cu", ("-g",))),
]

RACE = {"site_source": "race.cuh"}

# A program that fails by itself keeps its own exit code, whatever is found.
BEHAVIOUR = [
    *twins("killed", "ending.cu", race("copy", "kernel"), command=("{}", "kill"), fixed=Expect(exit=137), **RACE),
    *twins("aborted", "ending.cu", race("copy", "kernel"), command=("{}", "abort"), fixed=Expect(exit=134), **RACE),
    *twins("exit-code", "ending.cu", race("copy", "kernel"), command=("{}", "3"), fixed=Expect(exit=3), **RACE),
    *twins("forked", "forked.cu",
           Expect(exit=66, findings=(Finding(hazard="read-after-write", count=2),), sites=("copy", "kernel")), **RACE),
    Case("many-streams", Target("many_streams.cu", ("-g", "-DFIXED")), timeout=120, cost=10),
    Case("graph", Target("graph.cu", ("-g", "-DFIXED")), expect=Expect()),
    Case("doctor", command=("{streamsan}", "doctor"), mode="shell", expect=Expect(text=(r"(?i)driver",))),
]

CASES = [*PIPELINES, *HAZARDS, *LIFETIMES, *BEHAVIOUR]
