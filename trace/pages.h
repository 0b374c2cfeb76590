// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pages, which the kernel protects and maps as wholes. x86-64 has 4 KiB; an AArch64 kernel is built for 4, 16 or 64.
#pragma once

#include <unistd.h>

#include <cstdint>

namespace streamsan {

#if defined __x86_64__
constexpr std::uint64_t page_bytes() { return 4096; }
#else
inline std::uint64_t page_bytes() { return static_cast<std::uint64_t>(getpagesize()); }
#endif

/// The nearest boundaries of pages that have `bytes`, below and above the address.
constexpr std::uint64_t page_below(std::uint64_t address, std::uint64_t bytes = page_bytes()) {
  return address & ~(bytes - 1);
}
constexpr std::uint64_t page_above(std::uint64_t address, std::uint64_t bytes = page_bytes()) {
  return page_below(address + bytes - 1, bytes);
}

}  // namespace streamsan
