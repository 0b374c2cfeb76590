// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where an object that the loader has mapped lies in memory.
#pragma once

#include <link.h>

#include <cstdint>

namespace streamsan::recorder {

/// Half-open; empty if nothing of the object is mapped.
struct ObjectBounds {
  std::uint64_t low = ~std::uint64_t{0};
  std::uint64_t high = 0;
};

/// From the lowest to the highest address of its loaded segments.
inline ObjectBounds bounds_of(const dl_phdr_info& info) {
  ObjectBounds bounds;
  for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
    const auto& segment = info.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    std::uint64_t begin = info.dlpi_addr + segment.p_vaddr;
    if (begin < bounds.low) bounds.low = begin;
    if (begin + segment.p_memsz > bounds.high) bounds.high = begin + segment.p_memsz;
  }
  return bounds;
}

}  // namespace streamsan::recorder
