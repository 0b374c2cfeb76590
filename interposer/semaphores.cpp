// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/semaphores.h"

#include <algorithm>
#include <span>

#include "interposer/handle_table.h"
#include "interposer/pieces.h"
#include "interposer/stack.h"
#include "interposer/stream_signals.h"

namespace streamsan::recorder {
namespace {

std::uint64_t object_of(CUexternalSemaphore semaphore, std::uint64_t value) {
  return unlike_address(mix_bits(mix_bits(reinterpret_cast<std::uint64_t>(semaphore)) ^ value));
}

template <class Values>
void record(trace::Kind kind, const CUexternalSemaphore* semaphores, std::span<const Values> values,
            StreamArgument stream, std::uint16_t api, const void* frame) {
  const std::uint32_t stack = capture_stack(frame);
  const bool waits = kind == trace::Kind::Await;
  const auto has_none = [](const Values& each) { return each.params.fence.value == 0; };
  const bool unmatched = waits && std::any_of(values.begin(), values.end(), has_none);
  const Slot work =
      start_in_stream(unmatched ? trace::Kind::StreamJoinsAll : trace::Kind::StreamAction, stream, api, stack);
  if (work) work.record->flags = stream.flags;
  publish(work);
  for (std::size_t i = 0; i < values.size() && !unmatched; ++i) {
    if (has_none(values[i])) continue;
    const Slot slot = start_in_stream(kind, stream, api, stack);
    if (!slot) return;
    if (waits) slot.record->flags = trace::kOrEverything;
    slot.record->as<trace::Kind::Signal>().object = object_of(semaphores[i], values[i].params.fence.value);
    publish(slot);
  }
}

}  // namespace

void record_semaphores(const CUexternalSemaphore* semaphores, const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS* values,
                       std::uint64_t count, StreamArgument stream, std::uint16_t api, const void* frame) {
  record(trace::Kind::Signal, semaphores, std::span(values, count), stream, api, frame);
}

void record_semaphores(const CUexternalSemaphore* semaphores, const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS* values,
                       std::uint64_t count, StreamArgument stream, std::uint16_t api, const void* frame) {
  record(trace::Kind::Await, semaphores, std::span(values, count), stream, api, frame);
}

}  // namespace streamsan::recorder
