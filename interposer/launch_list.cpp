// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/launch_list.h"

#include <span>

#include "interposer/launch.h"
#include "interposer/stack.h"
#include "interposer/stream_signals.h"

namespace streamsan::recorder {
namespace {

using LaunchList = std::span<const CUDA_LAUNCH_PARAMS>;

StreamArgument stream_of(const CUDA_LAUNCH_PARAMS& one) {
  return resolve_stream(reinterpret_cast<std::uint64_t>(one.hStream), api::DefaultStream::Legacy);
}

/// All work of the streams so far comes before all that follows in any of them.
void write_barrier(LaunchList list, std::uint16_t api, std::uint32_t stack) {
  std::uint64_t object = 0;
  for (const trace::Kind kind : {trace::Kind::Signal, trace::Kind::Await}) {
    for (const CUDA_LAUNCH_PARAMS& one : list) {
      Slot slot = start_in_stream(kind, stream_of(one), api, stack);
      if (!slot) return;
      if (object == 0) object = unlike_address(slot.position);
      slot.record->as<trace::Kind::Signal>().object = object;
      publish(slot);
    }
  }
}

}  // namespace

void record_launch_list(const CUDA_LAUNCH_PARAMS* first, std::uint64_t count, std::uint64_t flags, std::uint16_t api,
                        const void* frame) {
  const LaunchList list(first, count);
  const std::uint32_t stack = capture_stack(frame);
  if (!(flags & CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC)) write_barrier(list, api, stack);
  for (const CUDA_LAUNCH_PARAMS& one : list) {
    const LaunchCall call{
        .function = reinterpret_cast<std::uint64_t>(one.function),
        .extents = {one.gridDimX, one.gridDimY, one.gridDimZ, one.blockDimX, one.blockDimY, one.blockDimZ},
        .stream = stream_of(one),
        .params = one.kernelParams,
        .extra = nullptr,
        .shared_bytes = one.sharedMemBytes,
        .programmatic = false,
        .api = api};
    Launch(call).after(true, frame);
  }
  if (!(flags & CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_POST_LAUNCH_SYNC)) write_barrier(list, api, stack);
}

}  // namespace streamsan::recorder
