// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/footprints.h"

#include <algorithm>
#include <utility>

namespace streamsan::judge {
namespace {

using ordering::AccessMode;
using trace::Piece;

/// Where the piece begins; false: the launch has no such pointer, or it begins outside of the address space.
bool base_of(const Piece& piece, std::span<const std::uint64_t> pointer_words, ordering::Address& base) {
  if (piece.pointer == Piece::kAbsolute) {
    base = static_cast<std::uint64_t>(piece.offset);
    return true;
  }
  if (piece.pointer >= pointer_words.size()) return false;
  const ordering::Address pointer = trace::word_address(pointer_words[piece.pointer]);
  base = pointer + static_cast<std::uint64_t>(piece.offset);
  return (base < pointer) == (piece.offset < 0);
}

/// May the model walk it without wrapping around?
bool makes_sense(const Piece& piece, ordering::Address base) {
  if (base == 0 || piece.width == 0 || piece.rows == 0 || piece.slices == 0) return false;
  ordering::Bytes rows = 0, slices = 0;
  ordering::Address end = base;
  return !__builtin_mul_overflow(piece.rows - 1, piece.pitch, &rows) &&
         !__builtin_mul_overflow(piece.slices - 1, piece.slice_pitch, &slices) &&
         !__builtin_add_overflow(end, rows, &end) && !__builtin_add_overflow(end, slices, &end) &&
         !__builtin_add_overflow(end, piece.width, &end);
}

/// False: a mode of some other version.
bool mode_of(const Piece& piece, AccessMode& mode) {
  switch (piece.mode) {
    case Piece::Mode::Read:
      mode = AccessMode::Read;
      return true;
    case Piece::Mode::Write:
      mode = AccessMode::Write;
      return true;
    case Piece::Mode::Atomic:
      mode = AccessMode::Atomic;
      return true;
  }
  return false;
}

/// Adds the pieces; one that makes no sense makes what is known incomplete.
void add_resolved(const KernelFootprint& footprint, std::span<const std::uint64_t> pointer_words, bool measured,
                  ResolvedFootprint& out) {
  for (const Piece& piece : footprint.pieces) {
    ordering::KernelBytes known;
    if (!base_of(piece, pointer_words, known.bytes.base) || !makes_sense(piece, known.bytes.base) ||
        !mode_of(piece, known.mode)) {
      out.complete = false;
      continue;
    }
    known.bytes.width = piece.width;
    known.bytes.pitch = piece.pitch;
    known.bytes.rows = piece.rows;
    known.bytes.slices = piece.slices;
    known.bytes.slice_pitch = piece.slice_pitch;
    known.widened = (piece.flags & Piece::kWidened) != 0 || (!measured && piece.pointer == Piece::kAbsolute);
    out.bytes.push_back(known);
  }
}

}  // namespace

void Footprints::add(const trace::Item& item) {
  const auto& w = item.record->as<trace::Kind::Footprint>();
  std::uint32_t& index = index_[w.id];
  if (index == 0) {
    if (entries_.size() == kMostFootprints) {
      index_.erase(w.id);
      return;
    }
    entries_.emplace_back();
    index = static_cast<std::uint32_t>(entries_.size());
  }
  Entry& entry = entries_[index - 1];
  KernelFootprint& footprint = entry.footprint;
  if (!entry.open) {
    pieces_ -= footprint.pieces.size();
    entry = {};
  }
  entry.open = w.more == 1;
  footprint.incomplete |= (w.footprint_flags & trace::kIncomplete) != 0;
  footprint.promised |= (w.footprint_flags & trace::kPromised) != 0;
  const auto given = static_cast<std::size_t>(w.pieces);
  const std::size_t count = std::min(given, kMostPieces - footprint.pieces.size());
  footprint.incomplete |= count < given;
  entry.lost |= count > kMostPiecesInAll - pieces_;
  if (entry.lost) {
    pieces_ -= footprint.pieces.size();
    footprint.pieces = {};
    return;
  }
  const std::span<const Piece> pieces = item.list<trace::Kind::Footprint>().first(count);
  footprint.pieces.insert(footprint.pieces.end(), pieces.begin(), pieces.end());
  pieces_ += count;
}

const KernelFootprint* Footprints::find(std::uint64_t id) const {
  const std::uint32_t* index = index_.find(id);
  if (!index) return nullptr;
  const Entry& entry = entries_[*index - 1];
  return entry.open || entry.lost ? nullptr : &entry.footprint;
}

Footprints::OfLaunch Footprints::of_launch(const trace::Item& launch) const {
  OfLaunch out;
  const std::uint64_t* id = launch.payload.data() + launch.record->as<trace::Kind::Launch>().pointers;
  if ((launch.record->flags & trace::kHasFootprint) != 0) out.touched = find(*id++);
  if ((launch.record->flags & trace::kHasPromise) != 0) out.promised = find(*id);
  // Up to format 13 a promise stands where a footprint would.
  if (out.touched && out.touched->promised && !out.promised) out.promised = std::exchange(out.touched, nullptr);
  return out;
}

void resolve(const KernelFootprint& footprint, std::span<const std::uint64_t> pointer_words, bool measured,
             ResolvedFootprint& out) {
  out.bytes.clear();
  out.complete = !footprint.incomplete;
  add_resolved(footprint, pointer_words, measured, out);
}

void add_promise(const KernelFootprint& promise, std::span<const std::uint64_t> pointer_words, LaunchBytes& out) {
  const std::size_t before = out.exact.bytes.size();
  const bool complete = out.exact.complete;
  add_resolved(promise, pointer_words, true, out.exact);
  out.exact.complete = complete;
  for (std::size_t i = before; i < out.exact.bytes.size(); ++i) out.exact.bytes[i].sure = true;
  if (out.known == Known::Inferred && out.exact.bytes.size() > before) out.known = Known::Computed;
}

}  // namespace streamsan::judge
