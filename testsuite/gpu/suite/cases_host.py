# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The host's side and the life of memory: what the host touches or gives away too early, pools, events that order
nothing, and guests that guards must not disturb. How each program is racy is said in its source.
"""

from dataclasses import replace

from suite.case import Case, Target, computed, measured, twins
from suite.cases_python import python, script
from suite.expect import Expect, Finding


def gone(rule, *sites):
    """Host memory that went away too early, which today's driver forgives."""
    return Expect(findings=(Finding("latent", "premature-free", "free-while-in-use", rule=rule),), sites=sites,
                  text=(rule,))


def error(*sites, kind="race", hazard="read-after-write", cause="", text=()):
    return Expect(exit=66, findings=(Finding(kind=kind, hazard=hazard, cause=cause),), sites=sites, text=text)


def host_race(*sites, **more):
    return error(*sites, kind="host-race", **more)


def variants(prefix, source, rows, **more):
    """rows: (name, words of the command line, what is expected of the racy program)."""
    return [case for name, words, expect in rows
            for case in twins(f"{prefix}-{name}", source, expect, command=("{}", *words), **more)]


TOUCHES = [
    *variants("host-reads", "host_reads_early.cu", [
        ("flag", ("stream", "flag"), host_race("copy", "read", cause="sync-too-early")),
        ("after-event", ("event", "first"), host_race("copy", "read", cause="sync-too-early")),
        ("after-poll", ("poll", "first"), host_race("copy", "read", cause="sync-too-early")),
        ("after-query", ("query", "first"), host_race("copy", "read", cause="sync-too-early")),
        ("middle", ("device", "middle"), host_race("copy", "read", cause="sync-too-early")),
        ("last", ("stream", "last"), host_race("copy", "read", cause="sync-too-early")),
    ]),
    *twins("staging-ring", "staging_ring.cu", host_race("copy", "fill", hazard="write-after-read")),
    # Racy or not, these programs do what they do by themselves, and say so.
    *twins("own-segv", "own_segv.cu", host_race("copy", "read", text=("^100 faults, 50 rounds are right$",))),
    *twins("signals-blocked", "signals_blocked.cu", host_race("copy", "read", text=("^right$",))),
    *variants("pinned", "write_pinned.cu", [
        *((call, (call,), host_race("copy", call, text=(rf"^{call}: (19|20) rounds are right$",)))
          for call in ("write", "writev", "send", "fwrite")),
        ("read", ("read",), host_race("upload", "read", hazard="write-after-read", text=("^read: done$",))),
    ]),
]

# What a kernel touches must be known for an error; from its arguments alone it is possible at most.
DOUBTFUL = [
    *variants("host-reads", "managed_read.cu", [
        (kind, (kind,), host_race("kernel", "read")) for kind in ("managed", "variable", "mapped")
    ]),
    *variants("async", "async_lifetime.cu", [
        ("use-after-free", ("after-free",), error("free", "kernel", kind="premature-free", hazard="use-after-free")),
    ]),
]


# A volatile store of a kernel's is meant for the host: possible at most, and silent by default.
WORDS = measured(variants("word-for-the-host", "word_for_the_host.cu", [
    ("plain", ("plain",), host_race("kernel", "look")),
    ("signal", ("signal",), Expect(findings=(Finding("possible", "host-race", "read-after-write"),))),
]))


def inferred(case):
    """The same where the kernel is not known."""
    findings = tuple(replace(finding, severity="possible") for finding in case.expect.findings)
    return replace(case, expect=Expect(findings=findings)) if findings else case


FREES = [
    *variants("freed", "host_memory_freed.cu", [
        ("vector-upload", ("upload",), gone("R-CPY-13", "copy", "vector")),
        ("vector-download", ("download",), gone("R-CPY-14", "copy", "vector")),
        ("mapping", ("unmapped",), gone("R-CPY-13", "copy", "munmap")),
        ("pinned", ("free-host",), gone("R-ALC-05", "copy", "free-host")),
        ("registered", ("unregistered",), gone("R-ALC-05", "copy", "unregister")),
    ]),
    *variants("batch-pageable", "batch_pageable.cpp", [
        (way, (way,), error("batch", kind="premature-free", hazard="free-while-in-use")) for way in ("download", "upload")
    ], flags=("-g", "-lcuda")),
    *variants("frame-gone", "frame_gone.cu", [
        ("upload", ("upload",), gone("R-CPY-13", "upload")),
        ("download", ("download",), gone("R-CPY-14", "download")),
    ]),
]

ANNOTATED = ("-g", "-DANNOTATED")
POOLS = [
    *variants("async", "async_lifetime.cu", [
        ("two-users", ("two-users",), error("second", "free-early", kind="premature-free", hazard="free-while-in-use")),
    ]),
    *variants("pool", "caching_pool.cu", [
        ("reused", ("reused",), error("kernel", "free", "reuse", kind="premature-free", hazard="reuse-while-in-use",
                                      text=("streamsan_block_used",))),
        ("released", ("released",), Expect(findings=(Finding("latent", "premature-free", "release-while-in-use"),),
                                           sites=("kernel", "free"), text=("streamsan_block_used",))),
    ], flags=ANNOTATED),
    *(Case(f"pool-not-annotated-{way}", Target("caching_pool.cu", ("-g", "-DFIXED")), ("{}", way))
      for way in ("reused", "released")),
]

EVENTS = variants("event", "event_misuse.cu", [
    ("never", ("never",), Expect(findings=(Finding("latent", "event-misuse"),), sites=("wait",))),
    ("re-recorded", ("re-recorded",), error("copy", "kernel")),
    ("ignored-error", ("ignored",), error("lost-copy", "kernel", "record", text=("cudaEventRecord.*fail",))),
], flags=("-g", "-lcuda"))

GUESTS = [
    Case("fork-in-flight", Target("fork_in_flight.cu", ("-g",))),
    Case("threads32", Target("threads32.cu", ("-g",)), cost=3),
    python("torch-faulthandler", script("torch_faulthandler.py"),
           Expect(exit=66, findings=(Finding(kind="host-race", hazard="read-after-write", at_least=True),),
                  allowed=("note", "possible"), text=("^10 steps are right",))),
    python("torch-faulthandler-fixed", script("torch_faulthandler.py", "--fixed"),
           Expect(allowed=("note", "possible"), text=("^10 steps are right",))),
]

# Their traces are kept, and judged again where there is no GPU.
RECORDED = ("host-reads-flag", "staging-ring", "pinned-write", "freed-vector-upload", "frame-gone-upload", "pool-reused",
            "event-ignored-error")

CASES = [
    *(replace(case, record=case.name.removesuffix("-fixed") in RECORDED)
      for case in (*TOUCHES, *FREES, *POOLS, *EVENTS, *GUESTS)),
    *map(inferred, DOUBTFUL), *computed(DOUBTFUL), *measured(DOUBTFUL), *WORDS,
]
