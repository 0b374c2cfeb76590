# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The recorder that is preloaded into this process, if one is: its table of functions, as include/streamsan/annotate.h
has it.

Nothing is loaded and nothing is started here. A process that is not recorded has no such table, and `table` is None.
ctypes is imported only where LD_PRELOAD names the recorder, so that `import streamsan` costs nothing elsewhere.
"""
import os

LIBRARY = "libstreamsan.so"
HOST, SAME_STREAM = 2**64 - 1, 2**64 - 2
PART, TEST = 0, 1                         # trace::MarkLevel
UNWATCHED, FORBIDDEN, ALLOWED = 0, 1, 2   # trace::HostWaitsState


def _find():
    if LIBRARY not in os.environ.get("LD_PRELOAD", ""):
        return None
    import ctypes
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint

    # The functions take no lock of Python's, and some read the interpreter's frames: they are called with the GIL held.
    def function(result, *arguments):
        return ctypes.PYFUNCTYPE(result, *arguments)

    class Table(ctypes.Structure):
        _fields_ = [("bytes", ctypes.c_uint64),
                    ("block_allocated", function(None, pointer, ctypes.c_size_t, pointer)),
                    ("block_freed", function(None, pointer, pointer)),
                    ("block_used", function(None, pointer, pointer)),
                    ("name_memory", function(None, pointer, text)),
                    ("name_stream", function(None, pointer, text)),
                    ("happens_before", function(None, pointer, pointer)),
                    ("happens_after", function(None, pointer, pointer)),
                    ("mark", function(None, number, text)),
                    ("host_waits", function(None, number)),
                    ("ask", function(ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t)),
                    ("position", function(ctypes.c_uint64))]

    try:
        found = Table.in_dll(ctypes.CDLL(None), "streamsan_annotations")
    except (OSError, ValueError):
        return None
    # An older recorder's is shorter.
    return found if found.bytes >= ctypes.sizeof(Table) else None


table = _find()


def ask():
    """(state, path) of streamsan::recorder::ask(): 0 nothing is recorded, 1 the answer comes to path, 2 path is the trace."""
    if table is None:
        return 0, ""
    import ctypes
    room = ctypes.create_string_buffer(4096)
    state = table.ask(room, len(room))
    return state, os.fsdecode(room.value)
