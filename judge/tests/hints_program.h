// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the tests of hints share: a program of two streams with memory of all kinds, and what is said about it.
#pragma once

#include "judge/hints.h"
#include "judge/tests/judged.h"

namespace streamsan::judge {

using ordering::MemoryKind;
using report::Finding;
using trace::FreeKind;
using trace::Kind;
using trace::NonBlocking;
using trace::TraceBuilder;

inline constexpr std::uint64_t kA = 0x1000, kB = 0x2000, kEvent = 0xE0, kOther = 0xE1, kKernel = 7;
inline constexpr std::uint64_t kBuffer = 0x7000'0000'0000, kSecond = 0x7000'1000'0000, kThird = 0x7000'2000'0000;
inline constexpr std::uint64_t kHost = 0x5000'0000, kMiB = 1 << 20, kKiB = 1 << 10;
inline constexpr std::uint64_t kLibrary = 0x900000;  // an address in libcublas

inline Hinted hinted(const TraceBuilder& trace, bool knows_event_times = true, bool whole_run = true) {
  TemporaryFile file(trace.bytes());
  std::string error;
  auto reader = trace::Reader::open(file.path(), {}, error);
  EXPECT_TRUE(reader) << error;
  Hazards hazards(1000);
  Judge judge({}, hazards);
  hazards.take_names_from(judge.handles());
  Hints hints(judge, knows_event_times);
  judge.add_observer(hints);
  trace::Item item;
  while (reader->next(item) == trace::Step::Record) judge.consume(item);
  EXPECT_EQ(reader->problem(), "");
  Symbolizer none({.enabled = false, .tool = {}});
  return hints.explain(none, whole_run);
}

inline std::vector<std::string> names(const TraceBuilder& trace) {
  std::vector<std::string> out;
  for (const Finding& f : hinted(trace).findings) out.push_back(f.hazard.text());
  return out;
}
using Names = std::vector<std::string>;

inline TraceBuilder program(NonBlocking kind = NonBlocking::Yes) {
  TraceBuilder trace;
  trace.module("/opt/app/demo", 0x400000, 0x400000, 0x500000);
  trace.module("/usr/lib/libcublas.so.13", 0x900000, 0x900000, 0xA00000);
  trace.function(kKernel, "_Z4stepPf");
  trace.at({0x400100});
  for (std::uint64_t stream : {kA, kB}) trace.stream_create(stream, kind);
  for (std::uint64_t buffer : {kBuffer, kSecond, kThird}) trace.alloc(buffer, 16 * kMiB);
  return trace;
}

inline void kernel(TraceBuilder& trace, std::uint64_t stream, std::uint64_t buffer, std::uint64_t place = 0x400200) {
  trace.at({place}).launch(stream, kKernel, {trace::pointer_word(0, buffer)});
}

inline std::uint64_t upload(TraceBuilder& trace, std::uint64_t bytes, std::uint64_t host = kHost) {
  return trace.at({0x400300}).copy_async("cuMemcpyHtoDAsync_v2", kA, kBuffer, host, bytes);
}

inline void download(TraceBuilder& trace, std::uint64_t bytes, std::uint64_t host = kHost) {
  trace.at({0x400310}).copy_async("cuMemcpyDtoHAsync_v2", kA, host, kBuffer, bytes);
}

}  // namespace streamsan::judge
