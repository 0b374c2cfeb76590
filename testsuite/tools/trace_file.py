# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A second reader of traces, so that the suite does not ask the tool under test what the tool under test has recorded.
Only the words of the records and their names come from the same place, trace/records.def.
"""
import collections
import re
import struct
import sys
import types

HEADER, OLD_HEADER, SLOT = 65536, 4096, 64
CARRIED = 3436  # FileHeader::header_bytes, functions_at, functions_bytes
MAGIC = 0x3165636172747353
PUBLISHED = 1

# `words` has the words by their names, `values` all six.
Record = collections.namedtuple("Record", "kind api flags thread stack words values payload")


def symbols(root, data):
    """The driver functions that Record.api counts: the trace carries them, or it is so old that there was one table."""
    (version,) = struct.unpack_from("<I", data, 8)
    if version >= 7:
        _, at, size = struct.unpack_from("<III", data, CARRIED)
        return data[at:at + size].decode().split("\0")[:-1]
    with open(f"{root}/trace/old_functions.def", encoding="utf-8") as text:
        return re.findall(r"^SS_OLD_FUNCTION\((\w+)", text.read(), re.M)


def header_bytes(data):
    """Where the first record stands."""
    version, = struct.unpack_from("<I", data, 8)
    return struct.unpack_from("<I", data, CARRIED)[0] if version >= 7 else OLD_HEADER


def layouts(root):
    """[(kind, names of its words)] in the order of the kinds' numbers."""
    with open(f"{root}/trace/records.def", encoding="utf-8") as text:
        entries = re.findall(r"^SS_RECORD\((\w+), \w+, \d(.*?)^SS_END", text.read(), re.M | re.S)
    return [(kind, re.findall(r"^SS_WORD\([\w:]+, (\w+)", words, re.M)) for kind, words in entries]


def read(name):
    """The bytes of a trace; anything else ends the program."""
    with open(name, "rb") as file:
        data = file.read()
    magic, _, slot = struct.unpack_from("<QII", data)
    if magic != MAGIC or slot != SLOT:
        sys.exit(f"{name}: not a trace")
    return data


def places(data):
    """The offset of each record that is published, in order."""
    begin, (reserved,) = header_bytes(data), struct.unpack_from("<Q", data, 48)
    position = 0
    while position < reserved:
        at = begin + position * SLOT
        state, _, continuations = struct.unpack_from("<IBB", data, at)
        if state == PUBLISHED:
            yield at
        position += 1 + continuations


def records(root, name):
    """The published records of the trace, in order."""
    kinds, data = layouts(root), read(name)
    functions = symbols(root, data)
    for at in places(data):
        _, kind, continuations, api, flags, thread, stack = struct.unpack_from("<IBBHHHI", data, at)
        name, words = kinds[kind]
        values = struct.unpack_from("<6Q", data, at + 16)
        yield Record(name, functions[api], flags, thread, stack, types.SimpleNamespace(**dict(zip(words, values))), values,
                     data[at + SLOT:at + SLOT * (1 + continuations)])
