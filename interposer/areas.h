// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Areas: which allocation an address lies in, at the cost of two loads.
//
// An area is a number for memory that was allocated at once. It is kept for each 2 MiB of the address space, which is
// how the driver aligns what it allocates. Small allocations that share such a piece share an area, and so does an
// allocation with those whose piece it begins or ends in. So two allocations may be taken for one, never one for two.
// An area outlives its allocation; the next one at that place has the same number.
//
// Lock-free. What does not fit into the tables has no area.
#pragma once

#include <atomic>
#include <cstdint>

namespace streamsan::recorder {

/// 0: none, nothing was ever allocated there.
using Area = std::uint32_t;
inline constexpr Area kMostAreas = 1u << 16;

namespace detail {
inline constexpr unsigned kPieceShift = 21;
inline constexpr unsigned kLeafShift = 9;  // pieces of a leaf, together 1 GiB
inline constexpr std::uint64_t kLeafPieces = std::uint64_t{1} << kLeafShift;
inline constexpr std::uint64_t kRoots = std::uint64_t{1} << (48 - kPieceShift - kLeafShift);
inline constexpr unsigned kMostLeaves = 2048;
using Leaf = Area[kLeafPieces];  // by std::atomic_ref: a million atomics are too many for compilers to initialise
extern constinit std::atomic<std::uint16_t> g_area_roots[kRoots];  // number of the leaf, from 1; 0: there is none
extern constinit Leaf g_area_leaves[kMostLeaves];
}  // namespace detail

/// The area of the address.
inline Area area_of(std::uint64_t address) {
  const std::uint64_t piece = address >> detail::kPieceShift;
  const std::uint64_t root = piece >> detail::kLeafShift;
  if (root >= detail::kRoots) return 0;
  const unsigned leaf = detail::g_area_roots[root].load(std::memory_order_acquire);
  if (leaf == 0) return 0;
  return std::atomic_ref(detail::g_area_leaves[leaf - 1][piece % detail::kLeafPieces]).load(std::memory_order_relaxed);
}

/// [begin, begin + bytes) was allocated: its area. `other`: an area that is the same allocation from now on, as a piece
/// of this one was in it; else 0.
Area give_area(std::uint64_t begin, std::uint64_t bytes, Area& other);
/// As if nothing had ever been allocated.
void forget_areas();

}  // namespace streamsan::recorder
