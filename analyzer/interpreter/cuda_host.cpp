// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the host does itself to memory that the GPU may use.
#include <utility>

#include "analyzer/interpreter/cuda.h"

namespace streamsan::analyzer::interpreter {

Word Cuda::shadowed(Machine& machine, Word variable) {
  const auto [known, fresh] = shadows_.try_emplace(variable);
  if (fresh) {
    constexpr std::size_t kSize = 1U << 16U;
    known->second = machine.memory().device(kSize);
    model_.allocate(now(machine, "a variable"), {known->second, known->second + kSize}, ordering::MemoryKind::Device,
                    ordering::ContextId{static_cast<std::uint32_t>(device_ + 1)});
  }
  return known->second;
}

void Cuda::touch(Machine& machine, Word address, std::size_t size, bool write) {
  if (in_host_function_ != 0) {
    const auto& under_way = machine.thread().frames;
    if (under_way.size() > in_host_function_ && under_way[in_host_function_].call == nullptr) return;
    in_host_function_ = 0;
  }
  // A loop touches one element after the other: by one instruction, in one call, with nothing of CUDA in between.
  const auto& frames = machine.thread().frames;
  const Touch touch{frames.back().at, frames.size(), machine.events(), write};
  if (touch != last_touch_) {
    touch_call_ = now(machine, "");
    last_touch_ = touch;
  }
  if (touched_.begin == touched_.end) {
    touched_ = {address, address + size};
  } else if (address == touched_.end) {
    touched_.end += size;
  } else {
    flush();
    touched_ = {address, address + size};
  }
}

void Cuda::flush() {
  if (touched_.begin == touched_.end) return;
  const ordering::Range range = std::exchange(touched_, {});
  model_.host_access(touch_call_, range, last_touch_.write ? ordering::AccessMode::Write : ordering::AccessMode::Read);
}

void Cuda::host_freed(Machine& machine, Word address, std::size_t size) {
  model_.host_free(now(machine, ""), {address, address + size});
}

}  // namespace streamsan::analyzer::interpreter
