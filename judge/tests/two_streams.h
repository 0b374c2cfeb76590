// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program that most tests of the judge begin with: two streams and a buffer that one of them fills.
#pragma once

#include <cstdint>
#include <vector>

#include "judge/tests/judged.h"

namespace streamsan::judge::two_stream_tests {

using report::Finding;
using report::Severity;
using trace::NonBlocking;
using trace::pointer_word;
using trace::TraceBuilder;

inline constexpr std::uint64_t kA = 0x1000, kB = 0x2000, kEvent = 0xE0, kEvent2 = 0xE1;
inline constexpr std::uint64_t kBuffer = 0x7000'0000'0000, kOther = 0x7000'0010'0000, kHost = 0x5000;
inline constexpr std::uint64_t kBytes = 8192;
inline constexpr std::uint64_t kConsume = 1;  // consume(float const*)

inline std::vector<Finding> judge(const TraceBuilder& trace, std::size_t most = 1000) {
  return judged(trace, most).findings;
}

/// Two non-blocking streams, an event, a buffer, a kernel that reads.
inline TraceBuilder two_streams(NonBlocking kind = NonBlocking::Yes) {
  TraceBuilder trace;
  trace.module("/opt/app/demo", 0x400000, 0x400000, 0x500000);
  trace.function(kConsume, "_Z7consumePKf");
  trace.stream_create(kA, kind);
  trace.stream_create(kB, kind);
  trace.event_create(kEvent);
  trace.at({0x401000}).alloc(kBuffer, kBytes);
  return trace;
}

inline void produce(TraceBuilder& trace, std::uint64_t stream = kA) {
  trace.at({0x401100}).copy_async("cuMemcpyHtoDAsync_v2", stream, kBuffer, kHost, kBytes);
}
inline void consume(TraceBuilder& trace, std::uint64_t stream = kB) {
  trace.at({0x401200}).launch(stream, kConsume, {pointer_word(0, kBuffer)}, kBytes);
}

}  // namespace streamsan::judge::two_stream_tests
