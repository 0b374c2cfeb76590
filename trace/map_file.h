// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of a file in memory, from any offset: the kernel wants a boundary of pages, and up to format 6 a trace's chunks
// begin behind a header of 4 KiB, which is less than a page where pages have 64. Such a part is mapped from the
// boundary below on.
#pragma once

#include <sys/mman.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "trace/pages.h"

namespace streamsan::trace {

/// [offset, offset + bytes) of the file, or null and errno.
inline void* map_file(int file, off_t offset, std::size_t bytes, int protection) {
  const std::uint64_t before = static_cast<std::uint64_t>(offset) - page_below(static_cast<std::uint64_t>(offset));
  void* at = mmap(nullptr, before + bytes, protection, MAP_SHARED, file, offset - static_cast<off_t>(before));
  return at == MAP_FAILED ? nullptr : static_cast<char*>(at) + before;
}

/// What map_file() gave, as a whole.
inline void unmap_file(void* begin, std::size_t bytes) {
  const auto from = page_below(reinterpret_cast<std::uint64_t>(begin));
  munmap(reinterpret_cast<void*>(from), reinterpret_cast<std::uint64_t>(begin) + bytes - from);
}

}  // namespace streamsan::trace
