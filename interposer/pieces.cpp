// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The addresses are first divided into zones: within one, the same pointer is the nearest of the same allocation. Runs
// are cut at the borders of zones and only runs of one zone become rows, or slices, or are merged.
//
// One mode after the other, so that a list reads as "reads, writes, atomics". Rows are found greedily from the front,
// which finds regular patterns whole and leaves irregular ones as they are. When the list is full, neighbours of one
// mode are merged in pairs until half of it is free, which keeps the work linear; a merged piece covers the gap as
// well.
#include "interposer/pieces.h"

#include <algorithm>
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

/// Merges neighbours in pairs. Not those without a pointer: they may be of two allocations.
void widen(PieceList& list) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < list.count; ++kept) {
    const Piece& first = list.pieces[i];
    const bool alone = i + 1 == list.count || list.pieces[i + 1].mode != first.mode ||
                       list.pieces[i + 1].pointer != first.pointer || first.pointer == Piece::kAbsolute;
    if (alone) {
      list.pieces[kept] = first;
      ++i;
      continue;
    }
    const std::uint64_t begin = begin_of(first);
    const std::uint64_t end = end_of(first) > end_of(list.pieces[i + 1]) ? end_of(first) : end_of(list.pieces[i + 1]);
    Piece merged = run(first.mode, begin, end - begin);
    merged.pointer = first.pointer;
    merged.flags = Piece::kWidened;
    list.pieces[kept] = merged;
    i += 2;
  }
  list.count = kept;
}

bool same_shape(const Piece& a, const Piece& b) {
  return a.mode == b.mode && a.pointer == b.pointer && a.flags == b.flags && a.width == b.width && a.rows == b.rows &&
         a.pitch == b.pitch;
}

/// Adds a piece, as a further slice of the last one if it repeats it.
void add(PieceList& list, const Piece& piece) {
  if (piece.rows > 1 && list.count > 0) {
    Piece& last = list.pieces[list.count - 1];
    if (same_shape(last, piece)) {
      const std::uint64_t newest = begin_of(last) + (last.slices - 1) * last.slice_pitch;
      const std::uint64_t distance = begin_of(piece) - newest;
      if (last.slices == 1 || distance == last.slice_pitch) {
        last.slice_pitch = distance;
        ++last.slices;
        return;
      }
    }
  }
  if (list.count == kMostPieces) widen(list);
  if (list.count == kMostPieces) {
    list.lost = true;
    return;
  }
  list.pieces[list.count++] = piece;
}

/// Which pointer the bytes from an address on belong to, up to the next border.
class Zones {
 public:
  Zones(const LaunchPointer* pointers, std::size_t count)
      : pointers_(pointers), count_(count < kMostLaunchPointers ? count : kMostLaunchPointers) {
    for (std::size_t p = 0; p < count_; ++p) {
      add(pointers[p].begin);
      add(pointers[p].address);
      add(pointers[p].end);
    }
    std::sort(borders_, borders_ + size_);
    size_ = static_cast<std::size_t>(std::unique(borders_, borders_ + size_) - borders_);
  }

  /// The first border above the address; the highest address if there is none.
  [[nodiscard]] std::uint64_t border_above(std::uint64_t address) const {
    const std::uint64_t* found = std::upper_bound(borders_, borders_ + size_, address);
    return found == borders_ + size_ ? ~std::uint64_t{0} : *found;
  }

  /// Index of the nearest pointer at or below, or else above, into the same allocation; kAbsolute if there is none.
  [[nodiscard]] std::uint16_t owner(std::uint64_t address) const {
    std::size_t best = Piece::kAbsolute;
    for (std::size_t p = 0; p < count_; ++p) {
      const LaunchPointer& pointer = pointers_[p];
      if (address < pointer.begin || address >= pointer.end) continue;
      if (best == Piece::kAbsolute) {
        best = p;
        continue;
      }
      const std::uint64_t known = pointers_[best].address;
      const bool below = pointer.address <= address;
      const bool known_below = known <= address;
      if (below != known_below ? below : below ? pointer.address > known : pointer.address < known) best = p;
    }
    return static_cast<std::uint16_t>(best);
  }

 private:
  void add(std::uint64_t border) { borders_[size_++] = border; }

  const LaunchPointer* pointers_;
  std::size_t count_;
  std::uint64_t borders_[3 * kMostLaunchPointers];
  std::size_t size_ = 0;
};

/// The runs of one mode, one by one, cut where another zone begins.
class PieceWalk {
 public:
  PieceWalk(const StreamSanRange* ranges, std::size_t count, unsigned bit, const Zones& zones)
      : at_(ranges), end_(ranges + count), bit_(bit), zones_(&zones) {
    skip();
  }
  explicit operator bool() const { return at_ != end_; }
  [[nodiscard]] std::uint64_t begin() const { return first_; }
  [[nodiscard]] std::uint64_t bytes() const { return last_ - first_; }
  /// Equal for runs of one zone.
  [[nodiscard]] std::uint64_t border() const { return border_; }
  void next() {
    if (last_ < at_->end) return enter(last_);
    ++at_;
    skip();
  }

 private:
  void skip() {
    while (at_ != end_ && !(at_->modes & bit_)) ++at_;
    if (at_ != end_) enter(at_->begin);
  }
  void enter(std::uint64_t first) {
    first_ = first;
    if (first >= border_ || border_ == 0) border_ = zones_->border_above(first);
    last_ = at_->end < border_ ? at_->end : border_;
  }

  const StreamSanRange* at_;
  const StreamSanRange* end_;
  unsigned bit_;
  const Zones* zones_;
  std::uint64_t first_ = 0;
  std::uint64_t last_ = 0;
  std::uint64_t border_ = 0;
};

}  // namespace

void make_pieces(const StreamSanRange* ranges, std::size_t count, const LaunchPointer* pointers,
                 std::size_t pointer_count, PieceList& out) {
  const Zones zones(pointers, pointer_count);
  out.count = 0;
  out.lost = false;
  for (unsigned mode = 0; mode < 3; ++mode) {
    std::uint64_t zone = 0;
    std::uint16_t owner = Piece::kAbsolute;
    for (PieceWalk walk(ranges, count, 1u << mode, zones); walk;) {
      if (walk.border() != zone) {
        zone = walk.border();
        owner = zones.owner(walk.begin());
      }
      const std::uint64_t first = walk.begin();
      Piece piece = run(static_cast<Piece::Mode>(mode), first, walk.bytes());
      piece.pointer = owner;
      // How many equal runs follow at equal distances? Without a pointer they may be of several allocations.
      PieceWalk ahead = walk;
      ahead.next();
      const std::uint64_t pitch = ahead ? ahead.begin() - first : 0;
      std::uint64_t rows = 1;
      std::uint64_t before = first;
      while (ahead && owner != Piece::kAbsolute && rows < 0xffffffff && ahead.bytes() == piece.width &&
             ahead.begin() - before == pitch && ahead.border() == zone) {
        before = ahead.begin();
        ++rows;
        ahead.next();
      }
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
  for (std::size_t i = 0; i < out.count; ++i) {
    Piece& piece = out.pieces[i];
    if (piece.pointer != Piece::kAbsolute) {
      piece.offset = static_cast<std::int64_t>(begin_of(piece) - pointers[piece.pointer].address);
    }
  }
}

std::uint64_t hash_of(std::span<const Piece> pieces) {
  std::uint64_t hash = mix_bits(pieces.size() + 2);
  for (const Piece& piece : pieces) {
    std::uint64_t words[trace::kPieceWords];
    std::memcpy(words, &piece, sizeof words);
    for (std::uint64_t word : words) hash = mix_bits(hash * 31 + word);
  }
  return hash;
}

}  // namespace streamsan::recorder
