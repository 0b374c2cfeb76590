// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bytes of copies, fills and kernels, from footprints to accesses.
//
// What an operation touches of one allocation in one way (a mode, certain or widened) is one part: up to kFewRows rows
// each by itself, so that the interval shadow knows every byte of them; more as a set (row_sets.h), which is as cheap
// as one row. All that a kernel touches of one allocation is compared together, sorted: a kernel that works in place,
// or on four hundred slices, gives one hazard for each stream it races with, not one for each piece.
//
// What is lost: a pattern that does not lie in one allocation or block is compared row by row; rows past kMostRows,
// those of all slices together, and what an operation touches past kMostPieces, are not remembered or compared (a race
// may be missed, none is invented).
#include <algorithm>
#include <tuple>

#include "ordering/pieces.h"

namespace streamsan::ordering {
namespace {

constexpr std::size_t kMostPieces = 4096;
constexpr std::uint64_t kFewRows = 8;

Footprint run(Range range) { return {range.begin, range.size()}; }

}  // namespace

bool Pieces::add_pieces(const Footprint& given, AccessMode mode, bool widened) {
  if (given.base == 0 || bytes_of(given) == 0) return true;
  Allocation* held_by = lives_.holder(given.base);
  if (!held_by) return false;
  const Range whole = held_by->info.range;
  if (given.rows == 1 && given.slices == 1 && given.width <= whole.end - given.base && whole.end <= kMostAddress &&
      lives_.blocks.live() == 0 && pieces_.size() < kMostPieces) [[likely]] {
    pieces_.emplace_back(*held_by, Footprint{given.base, given.width}, mode, widened);
    return true;
  }
  bool alone = whole.end <= kMostAddress && lies_in(whole, given);
  if (alone && lives_.blocks.live() > 0 && !held_by->info.block) {
    const Allocation* block = lives_.blocks.find_first_ending_after(given.base);
    alone = !block || block->info.range.begin >= hull(given).end;
  }
  if (!alone) {
    add_rows(simplified(given), mode, widened);
  } else if (pieces_.size() == kMostPieces) {
    ++lives_.shadow.forgotten;
  } else {
    pieces_.emplace_back(*held_by, simplified(given), mode, widened);
  }
  return true;
}

void Pieces::add_rows(const Footprint& footprint, AccessMode mode, bool widened) {
  const std::uint64_t all = footprint.rows * footprint.slices;
  const std::uint64_t rows = std::min(all, kMostRows);
  lives_.shadow.forgotten += all - rows;
  for (std::uint64_t row = 0; row < rows; ++row) {
    lives_.for_each_held(row_of(footprint, row), [&](Allocation& held_by, Range range) {
      if (pieces_.size() == kMostPieces) {
        ++lives_.shadow.forgotten;
      } else {
        pieces_.emplace_back(held_by, run(range), mode, widened);
      }
    });
  }
}

void Pieces::add_part(std::span<const Piece> pieces) {
  const auto& [allocation, whole, block, first, mode, widened] = pieces.front();
  if (pieces.size() == 1 && first.rows == 1) {
    Part& part = parts_.emplace_back();  // made where it lies
    part.allocation = allocation;
    part.touch.range = {first.base, first.base + first.width};
    part.touch.mode = mode;
    part.touch.widened = widened;
    return;
  }
  std::uint64_t rows = 0;
  for (const Piece& piece : pieces) rows += std::min(kFewRows + 1, piece.bytes.rows * piece.bytes.slices);
  if (rows <= kFewRows) {
    const std::size_t before = parts_.size();
    for (const Piece& piece : pieces) {
      for (std::uint64_t row = 0; row < piece.bytes.rows * piece.bytes.slices; ++row) {
        parts_.push_back({allocation, {row_of(piece.bytes, row), mode, widened}});
      }
    }
    if (rows > pieces.size()) {
      std::sort(parts_.begin() + static_cast<std::ptrdiff_t>(before), parts_.end(),
                [](const Part& a, const Part& b) { return a.touch.range.begin < b.touch.range.begin; });
    }
    return;
  }
  patterns_.clear();
  for (const Piece& piece : pieces) patterns_.push_back(piece.bytes);
  const RowSets::Id set = lives_.pool.rows.intern(patterns_);
  parts_.push_back({allocation, {.range = lives_.pool.rows.hull(set), .mode = mode, .widened = widened, .rows = set}});
}

void Pieces::touch_pieces(const Access& access, const Actor& actor) {
  // Reads come first: of two equally bad conflicts with one operation the first is reported, and that a kernel may
  // read what is not there yet says more than that it also writes there.
  const auto way = [](const Piece& piece) {
    return std::tuple(piece.whole, piece.block, piece.mode == AccessMode::Write, piece.mode, piece.widened);
  };
  const auto before = [&](const Piece& a, const Piece& b) {
    return std::tuple_cat(way(a), std::tuple(a.bytes.base)) < std::tuple_cat(way(b), std::tuple(b.bytes.base));
  };
  if (!std::is_sorted(pieces_.begin(), pieces_.end(), before)) std::sort(pieces_.begin(), pieces_.end(), before);
  for (std::size_t first = 0; first < pieces_.size();) {
    const Allocation* allocation = pieces_[first].allocation;
    parts_.clear();
    while (first < pieces_.size() && pieces_[first].allocation == allocation) {
      std::size_t end = first + 1;
      while (end < pieces_.size() && way(pieces_[end]) == way(pieces_[first])) ++end;
      add_part({pieces_.data() + first, end - first});
      first = end;
    }
    checks_.touch(access, parts_, actor);
    for (const Part& part : parts_) {
      if (part.touch.rows != 0) lives_.pool.rows.release(part.touch.rows);
    }
  }
}

void Pieces::touch_ended(const KernelBytes& known, bool held, const Access& access, const Actor& actor) {
  if (held && actor.graph_made == 0) return;
  Access stale = access;
  stale.range = row_of(known.bytes, 0);
  stale.mode = known.mode;
  stale.widened = known.widened;
  if (!held) checks_.touch_freed(stale);
  if (actor.graph_made != 0) checks_.touch_freed_block(stale, actor.graph_made);
}

void Pieces::touch_footprint(const Footprint& footprint, const Access& access, const Actor& actor) {
  pieces_.clear();
  const bool held = add_pieces(footprint, access.mode, false);
  touch_ended({.bytes = footprint, .mode = access.mode}, held, access, actor);
  touch_pieces(access, actor);
}

void Pieces::touch_known(std::span<const KernelBytes> bytes, const Access& access, const Actor& actor) {
  pieces_.clear();
  for (const KernelBytes& known : bytes) {
    touch_ended(known, add_pieces(known.bytes, known.mode, known.widened), access, actor);
  }
  touch_pieces(access, actor);
}

}  // namespace streamsan::ordering
