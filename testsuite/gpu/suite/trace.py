# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads as much of a trace file as the suite needs: its used length, and how often each driver function was recorded.

Not shared with the product, so that the comparison with CUPTI does not rest on the judge's own reader. Only the words
of the records come from the same place, trace/records.def; tests/test_trace.py compares the constants here with
trace/format.h.
"""

import collections
import re
import struct
from pathlib import Path

MAGIC = 0x3165636172747353
VERSION = 15
HEADER_BYTES = 65536
OLD_HEADER_BYTES = 4096  # up to format 6
SLOT_BYTES = 64
PUBLISHED = 1
_TRACE = Path(__file__).resolve().parents[3] / "trace"
_ENTRIES = re.findall(r"^SS_RECORD\((\w+), \w+, \d(.*?)^SS_END", (_TRACE / "records.def").read_text(), re.M | re.S)
KINDS = tuple(kind for kind, _ in _ENTRIES)
WORDS = {kind: re.findall(r"^SS_WORD\([\w:]+, (\w+)", words, re.M) for kind, words in _ENTRIES}

_HEADER = struct.Struct("<QIIQIIQQQQ")
_RECORD = struct.Struct("<IBBH")
_EXECUTABLE, _EXECUTABLE_BYTES = 80, 1024
_COMMAND_LINE, _COMMAND_LINE_BYTES = 1104, 2048
_CARRIED = 3436  # header_bytes, functions_at, functions_bytes; from format 7 on
_OLD_FUNCTIONS = _TRACE / "old_functions.def"

# Which kind of record the call itself makes, by the effect builder of its row in cuda_api.def. A call may write others
# besides (a definition, a stream it meets for the first time); they carry its row too and are not counted. Functions
# whose effect is not here make no record of their own.
KIND_OF_EFFECT = {
    "launch": "Launch", "launch_config": "Launch", "copy": "Copy", "copy_async": "Copy", "copy_2d": "Copy",
    "copy_2d_async": "Copy", "copy_3d": "Copy", "copy_3d_async": "Copy", "fill": "Fill", "fill_async": "Fill",
    "fill_2d": "Fill", "fill_2d_async": "Fill", "alloc": "Alloc", "alloc_pitch": "Alloc", "alloc_host": "Alloc",
    "alloc_managed": "Alloc", "alloc_async": "Alloc", "alloc_from_pool": "Alloc", "register_host": "Alloc",
    "free_device": "Free", "free_host": "Free", "free_async": "Free", "unregister_host": "Free", "unmap": "Free",
    "map": "Alloc", "stream_action": "StreamAction", "prefetch": "StreamAction", "batch_copy": "StreamAction",
    "batch_copy_3d": "StreamAction", "batch_discard": "StreamAction", "batch_decompress": "StreamAction",
    "context_record": "ContextEvent", "context_wait": "ContextEvent", "stream_joins_all": "StreamJoinsAll",
    "stream_create": "StreamCreate", "stream_destroy": "StreamDestroy", "event_create": "EventCreate",
    "event_import": "EventCreate", "event_destroy": "EventDestroy", "event_record": "EventRecord",
    "event_wait": "EventWait", "sync_stream": "SyncStream", "sync_event": "SyncEvent", "sync_context": "SyncContext",
    "query_stream": "QueryStream", "query_event": "QueryEvent", "host_function": "HostFunction",
    "capture_begin": "CaptureBegin", "capture_end": "CaptureEnd", "graph_instantiate": "GraphInstantiate",
    "graph_launch": "GraphLaunch"}


class TraceError(Exception):
    pass


def read_rows(definition):
    """[(symbol, effect builder)] of cuda_api.def, in the order of the indices in records."""
    text = re.sub(r"//[^\n]*", "", Path(definition).read_text())
    rows = re.findall(r"SS_API\(\s*(\w+)\s*,\s*\w+\s*,\s*\"[^\"]*\"\s*,\s*\w+\s*,\s*"
                      r"(?:noted\(\s*\"[^\"]*\"\s*,\s*)?(\w+)\(", text)
    if not rows:
        raise TraceError(f"no rows in {definition}")
    return rows


def base_name(symbol):
    """The name without version and per-thread suffix: what a program writes."""
    return re.sub(r"_v\d+$", "", re.sub(r"_pt(sz|ds)$", "", symbol))


def compared_names(rows):
    """Base names of the functions all of whose versions make a record of their own."""
    effects = collections.defaultdict(set)
    for symbol, effect in rows:
        effects[base_name(symbol)].add(effect)
    return {name for name, kinds in effects.items() if kinds <= KIND_OF_EFFECT.keys()}


def read_header(data):
    """(format, where records begin, slots of records)."""
    if len(data) < OLD_HEADER_BYTES:
        raise TraceError("shorter than a header")
    magic, version, slot_bytes, _, _, _, _, _, reserved, _ = _HEADER.unpack_from(data)
    if magic != MAGIC or slot_bytes != SLOT_BYTES or not 1 <= version <= VERSION:
        raise TraceError("not a trace of these versions")
    begin = struct.unpack_from("<I", data, _CARRIED)[0] if version >= 7 else OLD_HEADER_BYTES
    return version, begin, reserved


def function_names(data):
    """The symbols that the rows in records count: the trace carries them, or is so old that there was one table."""
    if read_header(data)[0] < 7:
        return re.findall(r"^SS_OLD_FUNCTION\((\w+)", _OLD_FUNCTIONS.read_text(), re.MULTILINE)
    _, at, size = struct.unpack_from("<III", data, _CARRIED)
    return data[at : at + size].decode().split("\0")[:-1]


def used_bytes(data):
    """Length of the part that holds records: the rest of the last chunk is allocated ahead."""
    _, begin, reserved = read_header(data)
    return min(len(data), begin + reserved * SLOT_BYTES)


def records(data):
    """(position in the file, state, kind, row, slots) of each record."""
    position, end = read_header(data)[1], used_bytes(data)
    while position + SLOT_BYTES <= end:
        state, kind, continuations, row = _RECORD.unpack_from(data, position)
        # A slot that was reserved and never filled in says nothing about its length; it is one slot or zeros follow.
        slots = 1 + continuations
        yield position, state, kind, row, slots
        position += SLOT_BYTES * slots


def word_at(position, kind, name):
    """Where a word of the record at `position` stands."""
    return position + 16 + 8 * WORDS[kind].index(name)


def without_places(data):
    """The used part of a trace, with the names of files in place of their paths: where the recording machine keeps its
    files and the user's command line are nobody's business, and no report needs them."""
    out = bytearray(data[: used_bytes(data)])

    def shorten(start, length):
        """The last part of the path, moved to its start; the rest zero. Returns the new length."""
        name = bytes(out[start : start + length]).rsplit(b"/", 1)[-1]
        out[start : start + length] = name.ljust(length, b"\0")
        return len(name)

    shorten(_EXECUTABLE, _EXECUTABLE_BYTES)
    out[_COMMAND_LINE : _COMMAND_LINE + _COMMAND_LINE_BYTES] = bytes(_COMMAND_LINE_BYTES)
    for position, state, kind, _, _ in records(data):
        if state != PUBLISHED or KINDS[kind] != "Module":
            continue
        length, build_id = (struct.unpack_from("<Q", out, word_at(position, "Module", name))[0]
                            for name in ("path_bytes", "build_id_bytes"))
        path = position + SLOT_BYTES
        identity = bytes(out[path + length : path + length + build_id])
        shorter = shorten(path, length)
        out[path + shorter : path + length + build_id] = identity.ljust(length + build_id - shorter, b"\0")
        struct.pack_into("<Q", out, word_at(position, "Module", "path_bytes"), shorter)
    return bytes(out)


def count_calls(data, rows):
    """{base name: number of successful calls recorded}."""
    effects = dict(rows)
    names = function_names(data)
    unknown = sorted(set(names) - effects.keys())
    if unknown:
        raise TraceError(f"recorded with functions this table does not have: {', '.join(unknown[:3])}")
    kinds = [KIND_OF_EFFECT.get(effects[symbol]) for symbol in names]
    counts = collections.Counter()
    for _, state, kind, row, _ in records(data):
        if state == PUBLISHED and kinds[row] == KINDS[kind]:
            counts[base_name(names[row])] += 1
    return counts
