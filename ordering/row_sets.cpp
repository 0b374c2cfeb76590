// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds a set again, and compares two. Pieces are sorted by base, and each has the end of all pieces up to it, so the
// pieces of the other set that may meet one are found without a look at every piece.
#include "ordering/row_sets.h"

#include <algorithm>
#include <tuple>

namespace streamsan::ordering {
namespace {

std::uint64_t hash_of(const std::vector<Footprint>& pieces) {
  std::uint64_t hash = pieces.size();
  const auto mix = [&](std::uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15ull;
    hash ^= hash >> 29;
  };
  for (const Footprint& f : pieces) {
    mix(f.base ^ (f.width << 40));
    if (f.rows > 1) mix(f.pitch ^ (f.rows << 40));
    if (f.slices > 1) mix(f.slice_pitch ^ (f.slices << 40));
  }
  return hash;
}

bool before(const Footprint& a, const Footprint& b) {
  if (a.base != b.base) return a.base < b.base;
  return std::tie(a.width, a.pitch, a.rows, a.slice_pitch, a.slices) <
         std::tie(b.width, b.pitch, b.rows, b.slice_pitch, b.slices);
}

}  // namespace

RowSets::Id RowSets::intern(std::vector<Footprint>& pieces) {
  if (!std::is_sorted(pieces.begin(), pieces.end(), before)) std::sort(pieces.begin(), pieces.end(), before);
  const std::uint64_t hash = hash_of(pieces);
  if (const Id* known = by_hash_.find(hash); known && set(*known).pieces == pieces) {
    acquire(*known);
    return *known;
  }
  if (free_.empty()) {
    sets_.emplace_back();
    free_.push_back(static_cast<Id>(sets_.size()));
  }
  const Id id = free_.back();
  free_.pop_back();
  Set& made = sets_[id - 1];
  made.pieces = pieces;
  made.ends.clear();
  made.ends.reserve(pieces.size());
  Address end = 0;
  for (const Footprint& piece : pieces) made.ends.push_back(end = std::max(end, ordering::hull(piece).end));
  made.hull = {pieces.front().base, end};
  made.hash = hash;
  made.serial = ++last_serial_;
  made.count = 1;
  by_hash_[hash] = id;  // of two with one hash the older is not found again, and that is all
  return id;
}

void RowSets::acquire(Id id) {
  Set& known = sets_[id - 1];
  if (known.count++ == 0) idle_pieces_ -= weight(known);
}

void RowSets::release(Id id) {
  Set& known = sets_[id - 1];
  if (--known.count > 0) return;
  idle_pieces_ += weight(known);
  if (idle_pieces_ > kMostIdlePieces) drop_idle();
}

void RowSets::drop_idle() {
  for (Id id = 1; id <= sets_.size(); ++id) {
    Set& each = sets_[id - 1];
    if (each.count > 0 || each.pieces.empty()) continue;
    if (const Id* known = by_hash_.find(each.hash); known && *known == id) by_hash_.erase(each.hash);
    each = {};
    free_.push_back(id);
  }
  idle_pieces_ = 0;
}

std::optional<Range> RowSets::row_in(Id id, Range range) const {
  const Set& of = set(id);
  if (!of.hull.overlaps(range)) return std::nullopt;
  const auto first = std::upper_bound(of.ends.begin(), of.ends.end(), range.begin);
  for (auto i = static_cast<std::size_t>(first - of.ends.begin()); i < of.pieces.size(); ++i) {
    if (of.pieces[i].base >= range.end) break;
    if (const std::optional<Range> row = ordering::row_in(of.pieces[i], range)) return row;
  }
  return std::nullopt;
}

void RowSets::add_rows_in(Id id, Range range, std::vector<Range>& runs, std::size_t most) const {
  for (const Footprint& piece : set(id).pieces) {
    if (piece.base >= range.end) return;
    ordering::add_rows_in(piece, range, runs, most);
  }
}

void RowSets::add_common(Id first, Id second, std::vector<Range>& runs, std::size_t most) const {
  const Range bounds = set(second).hull;
  std::vector<Range> rows;
  add_rows_in(first, bounds, rows, most);
  for (const Range row : rows) {
    if (runs.size() >= most) return;
    add_rows_in(second, row, runs, most);
  }
}

std::optional<Meeting> RowSets::meeting(Id first, Id second) const {
  const Set& a = set(first);
  const Set& b = set(second);
  if (!a.hull.overlaps(b.hull)) return std::nullopt;
  const std::uint64_t both = (std::uint64_t{a.serial} << 32) | b.serial;
  const Answer* known = answers_.find(both);
  if (!known) {
    if (answers_.size() >= kMostAnswers) answers_.clear();
    const std::optional<Meeting> met = compare(a, b);
    known = &(answers_[both] = {met.has_value(), met.value_or(Meeting{})});
  }
  return known->meet ? std::optional(known->meeting) : std::nullopt;
}

std::optional<Meeting> RowSets::compare(const Set& a, const Set& b) const {
  ++compared_;
  std::uint64_t budget = kMostSteps;
  for (const Footprint& piece : a.pieces) {
    const Range all = ordering::hull(piece);
    const auto first = std::upper_bound(b.ends.begin(), b.ends.end(), all.begin);
    for (auto i = static_cast<std::size_t>(first - b.ends.begin()); i < b.pieces.size(); ++i) {
      if (b.pieces[i].base >= all.end) break;
      if (std::optional<Meeting> met = ordering::meeting(piece, b.pieces[i], budget)) return met;
      if (budget > 0) continue;
      ++given_up_;
      return std::nullopt;
    }
  }
  return std::nullopt;
}

Range RowSets::row_facing(Id id, Address pointer) const {
  const Set& of = set(id);
  Range holding, furthest;
  for (const Footprint& piece : of.pieces) {
    const Range last = row_of(piece, piece.rows * piece.slices - 1);
    if (last.end > furthest.end) furthest = last;
    if (piece.base > pointer) continue;
    const std::optional<Range> row = ordering::row_in(piece, {pointer, pointer + 1});
    if (row && row->size() > holding.size()) holding = *row;
  }
  return holding.empty() ? furthest : holding;
}

bool RowSets::has_run_over(Id id, Range range) const {
  const std::vector<Footprint>& pieces = set(id).pieces;
  return std::any_of(pieces.begin(), pieces.end(), [range](const Footprint& piece) {
    return piece.rows == 1 && ordering::hull(piece).contains(range);
  });
}

}  // namespace streamsan::ordering
