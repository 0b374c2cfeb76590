// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/tests/sample_trace.h"

namespace streamsan::cli {

using trace::NonBlocking;
using trace::pointer_word;

trace::TraceBuilder sample_trace(std::string_view name) {
  constexpr std::uint64_t kA = 0x1000, kB = 0x2000, kEvent = 0xE0, kBuffer = 0x700000000000, kBytes = 8192;
  trace::TraceBuilder t;
  t.module("/opt/app/demo", 0x400000, 0x400000, 0x500000);
  t.function(1, "_Z7consumePKf");
  t.function(2, "_Z4workPfi");
  t.stream_create(kA, NonBlocking::Yes);
  t.stream_create(kB, NonBlocking::Yes);
  t.event_create(kEvent);
  t.at({0x401000}).alloc(kBuffer, kBytes);
  if (name == "possible") {
    t.at({0x401200}).launch(kA, 2, {pointer_word(0, kBuffer)}, 512, 1);
    t.at({0x401210}).launch(kB, 2, {pointer_word(0, kBuffer + 4096)}, 512, 2);
    return t;
  }
  if (name == "latent") {
    t.at({0x401200}).launch(kA, 1, {pointer_word(0, kBuffer)}, kBytes);
    t.at({0x401300}).free(kBuffer);
    return t;
  }
  if (name == "in-progress") {
    t.add(trace::Kind::SyncContext, "cuCtxSynchronize", {trace::TraceBuilder::kContext}, {}, 0, trace::State::Reserved);
    return t;
  }
  t.at({0x401100}).copy_async("cuMemcpyHtoDAsync_v2", kA, kBuffer, 0x5000, kBytes);
  if (name == "fixed") t.event_record(kA, kEvent), t.event_wait(kB, kEvent);
  t.at({0x401200}).launch(kB, 1, {pointer_word(0, kBuffer)}, kBytes);
  return t;
}

}  // namespace streamsan::cli
