// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the ranges an agent measured to the pieces of a footprint: strided runs become one piece, addresses become
// offsets from the launch's pointers. No allocation: the lists are the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "interposer/footprints/agent.h"
#include "trace/format.h"

namespace streamsan::recorder {

/// Pieces of one footprint that are written at most; what does not fit is merged with its neighbours, and widened.
inline constexpr std::size_t kMostPieces = 1020;
/// A launch with more pointers than this loses the rest: a race may be missed.
inline constexpr unsigned kMostLaunchPointers = 256;

struct PieceList {
  trace::Piece pieces[kMostPieces];
  std::size_t count = 0;
  bool lost = false;  ///< not all ranges are covered: there were too many to even merge

  [[nodiscard]] std::span<const trace::Piece> all() const { return {pieces, count}; }
};

/// A pointer of the launch and the allocation it points into; an empty allocation if that is not known.
struct LaunchPointer {
  std::uint64_t address = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Fills `out`. `ranges` as an agent hands them over. Equal runs at equal distances become rows, equal rows at equal
/// distances slices. Addresses become offsets from the nearest pointer at or below, or else above, that points into the
/// same allocation; bytes without such a pointer keep their address, and are no rows. Runs end where another pointer is
/// nearer, so that neighbouring buffers of one arena are pieces of their own, each relative to its own pointer; and no
/// piece has bytes of two allocations.
void make_pieces(const StreamSanRange* ranges, std::size_t count, const LaunchPointer* pointers,
                 std::size_t pointer_count, PieceList& out);

/// Equal for equal lists.
std::uint64_t hash_of(std::span<const trace::Piece> pieces);

}  // namespace streamsan::recorder
