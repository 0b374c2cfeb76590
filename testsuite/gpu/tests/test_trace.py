# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import lzma
import re
import struct
import unittest
from pathlib import Path

from suite import coverage, trace

ROOT = Path(__file__).resolve().parents[3]
FORMAT = (ROOT / "trace" / "format.h").read_text()
ROWS = [("cuMemcpyHtoDAsync_v2", "copy_async"), ("cuMemcpyHtoDAsync_v2_ptsz", "copy_async"), ("cuInit", "init"),
        ("cuEventRecord", "event_record")]


def record(kind, row, state=trace.PUBLISHED, continuations=0):
    head = struct.pack("<IBBH", state, trace.KINDS.index(kind), continuations, row)
    # Continuation slots are raw bytes and may look like a record.
    return head.ljust(trace.SLOT_BYTES, b"\0") + b"\1" * (trace.SLOT_BYTES * continuations)


def made(records, names=tuple(symbol for symbol, _ in ROWS), ahead=0):
    body = b"".join(records)
    slots = len(body) // trace.SLOT_BYTES
    header = struct.pack("<QIIQIIQQQQ", trace.MAGIC, trace.VERSION, trace.SLOT_BYTES, 4 << 20, 1, len(names), 0, 0, slots,
                         0)
    table = b"".join(name.encode() + b"\0" for name in names)
    at = trace._CARRIED + 12
    header = header.ljust(trace._CARRIED, b"\0") + struct.pack("<III", trace.HEADER_BYTES, at, len(table)) + table
    return header.ljust(trace.HEADER_BYTES, b"\0") + body + b"\0" * ahead


class Format(unittest.TestCase):
    """The constants here are those of the product's header."""

    def constant(self, name):
        return re.search(rf"\b{name} = ([^;]+);", FORMAT).group(1)

    def test_numbers(self):
        self.assertEqual(int(self.constant("kMagic").replace("'", "").removesuffix("ull"), 16), trace.MAGIC)
        self.assertEqual(int(self.constant("kVersion")), trace.VERSION)
        self.assertEqual(self.constant("kHeaderBytes"), f"std::size_t{{{trace.HEADER_BYTES >> 10}}} << 10")
        self.assertEqual(int(self.constant("kOldHeaderBytes")), trace.OLD_HEADER_BYTES)
        self.assertIn(f"offsetof(FileHeader, header_bytes) == {trace._CARRIED}", FORMAT)
        self.assertEqual(int(self.constant("kSlotBytes")), trace.SLOT_BYTES)

    def test_kinds(self):
        self.assertEqual(trace.KINDS.index("Copy"), 7)
        self.assertEqual(trace.KINDS.index("Context"), 50)
        self.assertEqual(trace.WORDS["Copy"], ["stream", "context", "dst", "src", "width", "shaped"])
        self.assertEqual(trace.WORDS["Pad"], [])
        self.assertEqual(trace.word_at(128, "Module", "path_bytes"), 128 + 40)


class WithoutPlaces(unittest.TestCase):
    def test_paths_and_command_line_go_and_the_rest_stays(self):
        path, build_id = b"/home/someone/bin/program", b"\x11\x22\x33\x44"
        module = bytearray(record("Module", 0, continuations=1))
        struct.pack_into("<QQ", module, trace.word_at(0, "Module", "path_bytes"), len(path), len(build_id))
        module[64:128] = (path + build_id).ljust(64, b"\0")
        data = bytearray(made([record("Copy", 0), bytes(module), record("Copy", 1)]))
        data[80 : 80 + len(path)] = path
        data[1104 : 1104 + 12] = b"program\0--to"
        out = trace.without_places(bytes(data))
        self.assertEqual(len(out), len(data))
        for word in (b"home", b"someone", b"--to"):
            self.assertNotIn(word, out)
        at = trace.HEADER_BYTES + 64
        length, identity = struct.unpack_from("<QQ", out, trace.word_at(at, "Module", "path_bytes"))
        self.assertEqual(out[at + 64 : at + 64 + length], b"program")
        self.assertEqual(out[at + 64 + length : at + 64 + length + identity], build_id)
        self.assertEqual(out[at + 128 :], bytes(data)[at + 128 :])
        self.assertEqual(out[80:88], b"program\0")

    def test_the_places_of_the_header(self):
        fields = re.search(r"struct FileHeader \{(.*?)\};", FORMAT, re.DOTALL).group(1)
        sizes = {"std::uint64_t": 8, "std::uint32_t": 4, "std::atomic<std::uint64_t>": 8, "std::atomic<std::uint32_t>": 4}
        offset, places = 0, {}
        for kind, name, count in re.findall(r"^\s*([\w:<>]+) (\w+)(?:\[(\d+)\])?;", fields, re.MULTILINE):
            size = sizes.get(kind, 1)
            offset = (offset + size - 1) // size * size
            places[name] = (offset, size * int(count or 1))
            offset += places[name][1]
        self.assertEqual(places["executable"], (trace._EXECUTABLE, trace._EXECUTABLE_BYTES))
        self.assertEqual(places["command_line"], (trace._COMMAND_LINE, trace._COMMAND_LINE_BYTES))


class Rows(unittest.TestCase):
    ROWS = trace.read_rows(ROOT / "ordering" / "api" / "cuda_api.def")

    def test_every_row_is_read(self):
        table = (ROOT / "ordering" / "api" / "cuda_api.def").read_text()
        self.assertEqual(len(self.ROWS), len(re.findall(r"^SS_API\(", table, re.MULTILINE)))
        self.assertEqual([symbol for symbol, _ in self.ROWS], sorted(symbol for symbol, _ in self.ROWS))

    def test_what_is_compared(self):
        names = trace.compared_names(self.ROWS)
        for name in ("cuLaunchKernel", "cuLaunchKernelEx", "cuEventRecord", "cuStreamWaitEvent", "cuMemcpyHtoDAsync",
                     "cuMemsetD8Async", "cuMemAlloc", "cuStreamSynchronize", "cuGraphLaunch"):
            self.assertIn(name, names)
        self.assertNotIn("cuInit", names)


class Count(unittest.TestCase):
    def test_names_are_reduced_to_what_a_program_writes(self):
        self.assertEqual(trace.base_name("cuMemcpyHtoDAsync_v2_ptsz"), "cuMemcpyHtoDAsync")
        self.assertEqual(trace.base_name("cuMemcpyHtoD_v2_ptds"), "cuMemcpyHtoD")
        self.assertEqual(trace.base_name("cuMemsetD8Async"), "cuMemsetD8Async")

    def test_only_published_records_of_the_call_itself(self):
        data = made([record("Copy", 0, continuations=2), record("Copy", 1), record("Stack", 0, continuations=1),
                     record("StreamCreate", 0), record("EventRecord", 3, state=2), record("EventRecord", 3, state=0),
                     record("EventRecord", 3), record("Init", 2)], ahead=256)
        self.assertEqual(trace.count_calls(data, ROWS), {"cuMemcpyHtoDAsync": 2, "cuEventRecord": 1})

    def test_used_length(self):
        self.assertEqual(trace.used_bytes(made([record("Copy", 0)], ahead=640)), trace.HEADER_BYTES + trace.SLOT_BYTES)

    def test_rows_are_found_by_their_names(self):
        names = ["cuInit", "cuEventRecord", "cuMemcpyHtoDAsync_v2"]
        data = made([record("Copy", 2), record("EventRecord", 1), record("Init", 0)], names)
        self.assertEqual(trace.count_calls(data, ROWS), {"cuMemcpyHtoDAsync": 1, "cuEventRecord": 1})

    def test_a_function_without_a_row(self):
        with self.assertRaisesRegex(trace.TraceError, "cuNew"):
            trace.count_calls(made([], ["cuInit", "cuNew"]), ROWS)

    def test_an_old_trace(self):
        (packed,) = (ROOT / "testsuite" / "traces").glob("null-driver-pipeline.trace.xz")
        data = lzma.decompress(packed.read_bytes())
        self.assertEqual(trace.read_header(data)[0], 1)
        counts = trace.count_calls(data, trace.read_rows(ROOT / "ordering" / "api" / "cuda_api.def"))
        self.assertEqual(counts["cuMemcpyHtoDAsync"], 4)

    def test_not_a_trace(self):
        self.assertRaises(trace.TraceError, trace.used_bytes, b"\0" * 5000)
        self.assertRaises(trace.TraceError, trace.used_bytes, b"")


class Compare(unittest.TestCase):
    def test_cupti_file(self):
        entries = [(b"cuMemcpyHtoDAsync_v2", 3), (b"cuMemcpyHtoDAsync_v2_ptsz", 2), (b"", 0), (b"cuInit", 0)]
        data = b"".join(struct.pack("<56sQ", *entry) for entry in entries)
        self.assertEqual(coverage.read_cupti_counts(data), {"cuMemcpyHtoDAsync": 5})

    def test_differences_in_either_direction(self):
        count = coverage.collections.Counter
        names = {"cuEventRecord", "cuLaunchKernel"}
        self.assertEqual(coverage.differences(count(cuEventRecord=2), count(cuEventRecord=2, cuInit=1), names), [])
        self.assertEqual(coverage.differences(count(cuEventRecord=2), count(cuLaunchKernel=1), names),
                         ["cuEventRecord: 2 recorded, 0 by CUPTI", "cuLaunchKernel: 0 recorded, 1 by CUPTI"])
