// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One mode after the other, so that a list reads as "reads, writes, atomics". Rows are found greedily from the front,
// which finds regular patterns whole and leaves irregular ones as they are. When the list is full, neighbours of one
// mode are merged in pairs until half of it is free, which keeps the work linear; a merged piece covers the gap as
// well.
#include "interposer/pieces.h"

#include <cstring>

#include "interposer/handle_table.h"

namespace streamsan::recorder {
namespace {

using trace::Piece;

constexpr std::uint64_t kFewestRows = 3;  // two runs are as well two pieces

std::uint64_t begin_of(const Piece& piece) { return static_cast<std::uint64_t>(piece.offset); }

std::uint64_t end_of(const Piece& piece) {
  std::uint64_t end = begin_of(piece) + piece.width;
  if (piece.rows > 1) end += (piece.rows - 1) * piece.pitch;
  if (piece.slices > 1) end += (piece.slices - 1) * piece.slice_pitch;
  return end;
}

Piece run(Piece::Mode mode, std::uint64_t begin, std::uint64_t bytes) {
  Piece piece{};
  piece.pointer = Piece::kAbsolute;
  piece.mode = mode;
  piece.offset = static_cast<std::int64_t>(begin);
  piece.width = bytes;
  piece.rows = piece.slices = 1;
  return piece;
}

/// Merges neighbours of the same mode in pairs.
void widen(PieceList& list) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < list.count; ++kept) {
    const Piece& first = list.pieces[i];
    if (i + 1 == list.count || list.pieces[i + 1].mode != first.mode) {
      list.pieces[kept] = first;
      ++i;
      continue;
    }
    const std::uint64_t begin = begin_of(first);
    const std::uint64_t end = end_of(first) > end_of(list.pieces[i + 1]) ? end_of(first) : end_of(list.pieces[i + 1]);
    Piece merged = run(first.mode, begin, end - begin);
    merged.flags = Piece::kWidened;
    list.pieces[kept] = merged;
    i += 2;
  }
  list.count = kept;
}

bool same_shape(const Piece& a, const Piece& b) {
  return a.mode == b.mode && a.flags == b.flags && a.width == b.width && a.rows == b.rows && a.pitch == b.pitch;
}

/// Adds a piece, as a further slice of the last one if it repeats it.
void add(PieceList& list, const Piece& piece) {
  if (piece.rows > 1 && list.count > 0) {
    Piece& last = list.pieces[list.count - 1];
    const std::uint64_t distance =
        begin_of(piece) - begin_of(last) - (last.slices > 1 ? (last.slices - 1) * last.slice_pitch : 0);
    if (same_shape(last, piece) && (last.slices == 1 || distance == last.slice_pitch)) {
      last.slice_pitch = distance;
      ++last.slices;
      return;
    }
  }
  if (list.count == kMostPieces) widen(list);
  if (list.count == kMostPieces) {
    list.lost = true;
    return;
  }
  list.pieces[list.count++] = piece;
}

/// The ranges of one mode, one by one.
class Walk {
 public:
  Walk(const StreamSanRange* ranges, std::size_t count, unsigned bit) : at_(ranges), end_(ranges + count), bit_(bit) {
    skip();
  }
  explicit operator bool() const { return at_ != end_; }
  [[nodiscard]] std::uint64_t begin() const { return at_->begin; }
  [[nodiscard]] std::uint64_t bytes() const { return at_->end - at_->begin; }
  void next() {
    ++at_;
    skip();
  }

 private:
  void skip() {
    while (at_ != end_ && !(at_->modes & bit_)) ++at_;
  }
  const StreamSanRange* at_;
  const StreamSanRange* end_;
  unsigned bit_;
};

}  // namespace

void make_pieces(const StreamSanRange* ranges, std::size_t count, PieceList& out) {
  out.count = 0;
  out.lost = false;
  for (unsigned mode = 0; mode < 3; ++mode) {
    const auto kind = static_cast<Piece::Mode>(mode);
    for (Walk walk(ranges, count, 1u << mode); walk;) {
      const std::uint64_t first = walk.begin();
      const std::uint64_t bytes = walk.bytes();
      // How many equal runs follow at equal distances?
      Walk ahead = walk;
      ahead.next();
      const std::uint64_t pitch = ahead ? ahead.begin() - first : 0;
      std::uint64_t rows = 1;
      std::uint64_t before = first;
      while (ahead && rows < 0xffffffff && ahead.bytes() == bytes && ahead.begin() - before == pitch) {
        before = ahead.begin();
        ++rows;
        ahead.next();
      }
      Piece piece = run(kind, first, bytes);
      if (rows >= kFewestRows) {
        piece.rows = static_cast<std::uint32_t>(rows);
        piece.pitch = pitch;
        walk = ahead;
      } else {
        walk.next();
      }
      add(out, piece);
    }
  }
}

void make_relative(const LaunchPointer* pointers, std::size_t count, PieceList& list) {
  for (std::size_t i = 0; i < list.count; ++i) {
    Piece& piece = list.pieces[i];
    const std::uint64_t begin = begin_of(piece);
    std::size_t best = Piece::kAbsolute;
    for (std::size_t p = 0; p < count && p < Piece::kAbsolute; ++p) {
      const LaunchPointer& pointer = pointers[p];
      if (begin < pointer.begin || begin >= pointer.end) continue;
      if (best == Piece::kAbsolute) {
        best = p;
        continue;
      }
      const std::uint64_t known = pointers[best].address;
      const bool below = pointer.address <= begin;
      const bool known_below = known <= begin;
      if (below != known_below ? below : below ? pointer.address > known : pointer.address < known) best = p;
    }
    if (best == Piece::kAbsolute) continue;
    piece.pointer = static_cast<std::uint16_t>(best);
    piece.offset = static_cast<std::int64_t>(begin - pointers[best].address);
  }
}

std::uint64_t hash_of(const PieceList& list) {
  std::uint64_t hash = mix_bits(list.count + 2);
  for (std::size_t i = 0; i < list.count; ++i) {
    std::uint64_t words[trace::kPieceWords];
    std::memcpy(words, &list.pieces[i], sizeof words);
    for (std::uint64_t word : words) hash = mix_bits(hash * 31 + word);
  }
  return hash;
}

}  // namespace streamsan::recorder
