// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/areas.h"

namespace streamsan::recorder {

// A fork keeps detail::g_area_roots, detail::g_area_leaves, g_leaves, g_areas: contention.cpp forgets them.
constinit std::atomic<std::uint16_t> detail::g_area_roots[detail::kRoots] = {};
constinit detail::Leaf detail::g_area_leaves[detail::kMostLeaves] = {};

namespace {

constinit std::atomic<unsigned> g_leaves{0};
constinit std::atomic<Area> g_areas{0};

/// Where the area of the piece is kept; null: there is no room.
Area* place_of(std::uint64_t piece) {
  const std::uint64_t root = piece >> detail::kLeafShift;
  if (root >= detail::kRoots) return nullptr;
  std::uint16_t leaf = detail::g_area_roots[root].load(std::memory_order_acquire);
  if (leaf == 0) {
    const unsigned made = g_leaves.fetch_add(1) + 1;
    if (made > detail::kMostLeaves) {
      g_leaves.store(detail::kMostLeaves);
      return nullptr;
    }
    // Two threads that need one leaf at once: the other's is used, and this one by nobody.
    if (detail::g_area_roots[root].compare_exchange_strong(leaf, static_cast<std::uint16_t>(made)))
      leaf = static_cast<std::uint16_t>(made);
  }
  return &detail::g_area_leaves[leaf - 1][piece % detail::kLeafPieces];
}

Area new_area() {
  const Area made = g_areas.fetch_add(1) + 1;
  if (made < kMostAreas) return made;
  g_areas.store(kMostAreas);
  return 0;
}

}  // namespace

Area give_area(std::uint64_t begin, std::uint64_t bytes, Area& other) {
  other = 0;
  if (bytes == 0) return 0;
  const std::uint64_t end = begin + bytes - 1;
  const Area at_begin = area_of(begin);
  const Area at_end = area_of(end);
  Area area = at_begin ? at_begin : at_end;
  if (at_begin && at_end && at_begin != at_end) other = at_end;
  if (area == 0) area = new_area();
  if (area == 0) return 0;
  for (std::uint64_t piece = begin >> detail::kPieceShift; piece <= end >> detail::kPieceShift; ++piece) {
    Area* place = place_of(piece);
    if (!place) return 0;
    std::atomic_ref(*place).store(area, std::memory_order_relaxed);
  }
  return area;
}

void forget_areas() {
  for (std::atomic<std::uint16_t>& root : detail::g_area_roots) {
    const unsigned leaf = root.exchange(0);
    if (leaf == 0) continue;
    for (Area& area : detail::g_area_leaves[leaf - 1]) std::atomic_ref(area).store(0, std::memory_order_relaxed);
  }
  g_leaves.store(0);
  g_areas.store(0);
}

}  // namespace streamsan::recorder
