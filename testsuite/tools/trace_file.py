# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A second reader of trace/format.h, written from its text and not from its code, so that the suite does not
ask the tool under test what the tool under test has recorded.
"""
import collections
import re
import struct
import sys

HEADER, OLD_HEADER, SLOT = 65536, 4096, 64
CARRIED = 3436  # FileHeader::header_bytes, functions_at, functions_bytes
MAGIC = 0x3165636172747353
PUBLISHED = 1

Record = collections.namedtuple("Record", "kind api flags thread stack words payload")


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


def kinds(root):
    """The enumerators of trace::Kind, in order."""
    with open(f"{root}/trace/format.h", encoding="utf-8") as text:
        body = re.search(r"enum class Kind[^{]*\{(.*?)\n\};", text.read(), re.S).group(1)
    return re.findall(r"^\s*(\w+)", re.sub(r"//.*", "", body).replace("= 0", ""), re.M)


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
    names, data = kinds(root), read(name)
    functions = symbols(root, data)
    for at in places(data):
        _, kind, continuations, api, flags, thread, stack = struct.unpack_from("<IBBHHHI", data, at)
        yield Record(names[kind], functions[api], flags, thread, stack, struct.unpack_from("<6Q", data, at + 16),
                     data[at + SLOT:at + SLOT * (1 + continuations)])
