// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/timings/buffers.h"

#include <sys/mman.h>

namespace streamsan::timings {

std::uint8_t* Buffers::take() {
  for (Buffer& buffer : buffers_) {
    if (buffer.taken.exchange(true, std::memory_order_acquire)) continue;
    std::uint8_t* memory = buffer.memory.load(std::memory_order_relaxed);
    if (!memory) {
      void* made = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      memory = made == MAP_FAILED ? nullptr : static_cast<std::uint8_t*>(made);
      buffer.memory.store(memory, std::memory_order_relaxed);
    }
    if (!memory) buffer.taken.store(false, std::memory_order_release);
    return memory;
  }
  return nullptr;
}

void Buffers::give_back(std::uint8_t* memory) {
  for (Buffer& buffer : buffers_) {
    if (buffer.memory.load(std::memory_order_relaxed) == memory) buffer.taken.store(false, std::memory_order_release);
  }
}

}  // namespace streamsan::timings
