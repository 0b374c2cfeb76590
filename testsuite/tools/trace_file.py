# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A second reader of interposer/trace/format.h, written from its text and not from its code, so that the suite does not
ask the tool under test what the tool under test has recorded.
"""
import collections
import re
import struct
import sys

HEADER, SLOT = 4096, 64
MAGIC = 0x3165636172747353
PUBLISHED = 1

Record = collections.namedtuple("Record", "kind api flags thread stack words payload")


def symbols(root):
    """The driver functions of the table, in order: what Record.api counts."""
    with open(f"{root}/ordering/api/cuda_api.def", encoding="utf-8") as text:
        return re.findall(r"^SS_API\(\s*(\w+)", text.read(), re.M)


def kinds(root):
    """The enumerators of trace::Kind, in order."""
    with open(f"{root}/interposer/trace/format.h", encoding="utf-8") as text:
        body = re.search(r"enum class Kind[^{]*\{(.*?)\n\};", text.read(), re.S).group(1)
    return re.findall(r"^\s*(\w+)", re.sub(r"//.*", "", body).replace("= 0", ""), re.M)


def records(root, name):
    """The published records of the trace, in order."""
    names = kinds(root)
    with open(name, "rb") as file:
        data = file.read()
    magic, _, slot, _, _, rows = struct.unpack_from("<QIIQII", data)
    (reserved,) = struct.unpack_from("<Q", data, 48)
    if magic != MAGIC or slot != SLOT or rows != len(symbols(root)):
        sys.exit(f"{name}: not a trace of this version")
    position = 0
    while position < reserved:
        at = HEADER + position * SLOT
        state, kind, continuations, api, flags, thread, stack = struct.unpack_from("<IBBHHHI", data, at)
        if state == PUBLISHED:
            yield Record(names[kind], api, flags, thread, stack, struct.unpack_from("<6Q", data, at + 16),
                         data[at + SLOT:at + SLOT * (1 + continuations)])
        position += 1 + continuations
