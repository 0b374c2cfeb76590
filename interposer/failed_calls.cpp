// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/failed_calls.h"

#include <atomic>

#include "interposer/fork.h"
#include "interposer/process.h"
#include "interposer/stack.h"
#include "interposer/writer.h"

namespace streamsan::recorder {
namespace {

constinit std::atomic<std::uint32_t> g_failures[api::kRowCount] = {};

}  // namespace

void write_failed_call(const FailedCall& call, const void* frame) {
  if (!is_written_failure(g_failures[call.api].fetch_add(1, std::memory_order_relaxed) + 1)) return;
  StreamArgument at{};
  if (call.in_stream) at = known_stream(call.stream, api::kRows[call.api].default_stream);
  const std::uint32_t stack = capture_stack(frame);
  Slot slot = start_record({.kind = trace::Kind::CallFailed, .api = call.api, .flags = at.flags, .stack = stack});
  if (!slot) return;
  auto& w = slot.record->as<trace::Kind::CallFailed>();
  w.stream = at.handle;
  w.context = at.context ? at.context : current_context();
  w.object = call.object;
  w.result = static_cast<std::uint64_t>(call.result);
  publish(slot);
}

void in_child::failed_calls() {
  for (auto& count : g_failures) count.store(0, std::memory_order_relaxed);
}

}  // namespace streamsan::recorder
