// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/ptx/byte_set.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <tuple>

namespace streamsan::ptx {
namespace {

constexpr std::size_t kMostPieces = 16384;
constexpr std::uint64_t kMostWritten = 4096;  // repetitions written out one by one
constexpr std::uint64_t kAddressLimit = std::uint64_t{1} << 62;

struct Repeat {
  std::uint64_t stride;
  std::uint64_t count;
};

/// Takes out of `repeats` what closes up with the run or with another repetition.
void close_up(std::uint64_t& width, std::vector<Repeat>& repeats) {
  std::ranges::sort(repeats, {}, &Repeat::stride);
  std::size_t closed = 0;
  while (closed < repeats.size() && repeats[closed].stride <= width) {
    width += repeats[closed].stride * (repeats[closed].count - 1);
    ++closed;
  }
  repeats.erase(repeats.begin(), repeats.begin() + static_cast<std::ptrdiff_t>(closed));
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    for (std::size_t j = i + 1; j < repeats.size();) {
      const std::uint64_t steps = repeats[j].stride / repeats[i].stride;
      if (repeats[j].stride % repeats[i].stride == 0 && steps <= repeats[i].count) {
        repeats[i].count += steps * (repeats[j].count - 1);
        repeats.erase(repeats.begin() + static_cast<std::ptrdiff_t>(j));
        j = i + 1;
      } else {
        ++j;
      }
    }
  }
}

Piece piece_of(std::uint64_t address, std::uint64_t width, const std::vector<Repeat>& repeats) {
  Piece piece{.address = address, .width = width};
  if (!repeats.empty()) {
    piece.rows = repeats[0].count;
    piece.pitch = repeats[0].stride;
  }
  if (repeats.size() > 1) {
    piece.slices = repeats[1].count;
    piece.slice_pitch = repeats[1].stride;
  }
  return piece;
}

Piece closed_up(const Piece& piece) {
  std::vector<Repeat> repeats;
  if (piece.rows > 1) repeats.push_back({piece.pitch, piece.rows});
  if (piece.slices > 1) repeats.push_back({piece.slice_pitch, piece.slices});
  std::uint64_t width = piece.width;
  close_up(width, repeats);
  return piece_of(piece.address, width, repeats);
}

/// Everything but address and width.
auto shape(const Piece& piece) { return std::tuple(piece.rows, piece.pitch, piece.slices, piece.slice_pitch); }

}  // namespace

bool ByteSet::add(const Affine& address, std::uint64_t width, const Box& box) {
  const Wide lowest = address.lowest(box);
  const Wide highest = address.highest(box) + width;
  if (lowest < 0 || highest > kAddressLimit || width == 0) return false;
  std::vector<Repeat> repeats;
  for (std::size_t i = 0; i < kDimensions; ++i) {
    const std::int64_t factor = address.factor[i];
    const std::uint64_t count = static_cast<std::uint64_t>(box.high[i] - box.low[i]) + 1;
    if (factor != 0 && count > 1) repeats.push_back({static_cast<std::uint64_t>(factor < 0 ? -factor : factor), count});
  }
  close_up(width, repeats);
  std::vector<std::uint64_t> bases = {static_cast<std::uint64_t>(lowest)};
  while (repeats.size() > 2) {
    const auto fewest = std::ranges::min_element(repeats, {}, &Repeat::count);
    if (fewest->count * bases.size() > kMostWritten) return false;
    const std::size_t before = bases.size();
    for (std::uint64_t i = 1; i < fewest->count; ++i)
      for (std::size_t j = 0; j < before; ++j) bases.push_back(bases[j] + i * fewest->stride);
    repeats.erase(fewest);
  }
  for (const std::uint64_t base : bases) pieces_.push_back(piece_of(base, width, repeats));
  if (pieces_.size() > compact_at_) {
    if (!compact(kMostPieces)) return false;
    compact_at_ = std::max<std::size_t>(1024, 2 * pieces_.size());
  }
  return true;
}

/// Pieces of one shape that touch or overlap run by run become one with longer runs.
void ByteSet::join_neighbours() {
  std::ranges::sort(pieces_, {},
                    [](const Piece& piece) { return std::tuple(shape(piece), piece.address, piece.width); });
  std::vector<Piece> out;
  for (const Piece& piece : pieces_) {
    if (!out.empty() && shape(out.back()) == shape(piece) && piece.address <= out.back().address + out.back().width) {
      Piece& last = out.back();
      last.width = std::max(last.width, piece.address + piece.width - last.address);
    } else {
      out.push_back(piece);
    }
  }
  for (Piece& piece : out) piece = closed_up(piece);
  pieces_ = std::move(out);
}

/// Equal pieces at equal distances become rows of one, or slices; and what continues the rows of another joins them.
void ByteSet::stack() {
  std::ranges::sort(pieces_, {}, [](const Piece& piece) {
    return std::tuple(piece.width, piece.slices, piece.slice_pitch, piece.address, piece.rows, piece.pitch);
  });
  std::vector<Piece> out;
  for (const Piece& piece : pieces_) {
    if (!out.empty()) {
      Piece& last = out.back();
      const bool alike =
          last.width == piece.width && last.slices == piece.slices && last.slice_pitch == piece.slice_pitch;
      const std::uint64_t distance = piece.address - last.address;
      const bool pitch_fits = piece.rows == 1 || last.rows == 1 || piece.pitch == last.pitch;
      if (last == piece) continue;
      const std::uint64_t pitch = last.rows > 1 ? last.pitch : piece.rows > 1 ? piece.pitch : distance;
      if (alike && pitch_fits && pitch > 0 && distance == pitch * last.rows) {
        last.pitch = pitch;
        last.rows += piece.rows;
        continue;
      }
    }
    out.push_back(piece);
  }
  // Whole stacks at equal distances.
  pieces_.clear();
  for (const Piece& piece : out) {
    if (!pieces_.empty() && piece.rows > 1) {
      Piece& last = pieces_.back();
      const bool alike = last.width == piece.width && last.rows == piece.rows && last.pitch == piece.pitch;
      const std::uint64_t distance = piece.address - last.address;
      if (alike && piece.slices == 1 && distance > 0 &&
          (last.slices == 1 || distance == last.slice_pitch * last.slices)) {
        if (last.slices == 1) last.slice_pitch = distance;
        ++last.slices;
        continue;
      }
    }
    pieces_.push_back(piece);
  }
  for (Piece& piece : pieces_) piece = closed_up(piece);
}

void ByteSet::drop_what_runs_hold() {
  const auto is_run = [](const Piece& piece) { return piece.rows == 1 && piece.slices == 1; };
  std::vector<Piece> runs;
  std::ranges::copy_if(pieces_, std::back_inserter(runs), is_run);
  if (runs.empty()) return;
  std::ranges::sort(runs, {}, &Piece::address);
  std::erase_if(pieces_, [&](const Piece& piece) {
    if (is_run(piece)) return false;  // those that touch are one already
    const auto behind = std::ranges::upper_bound(runs, piece.address, {}, &Piece::address);
    if (behind == runs.begin()) return false;
    const Piece& run = *std::prev(behind);
    const std::uint64_t length = (piece.rows - 1) * piece.pitch + (piece.slices - 1) * piece.slice_pitch + piece.width;
    return piece.address - run.address + length <= run.width;
  });
}

bool ByteSet::compact(std::size_t most) {
  for (std::size_t before = std::numeric_limits<std::size_t>::max(); pieces_.size() < before;) {
    before = pieces_.size();
    join_neighbours();
    drop_what_runs_hold();
    stack();
  }
  return pieces_.size() <= most;
}

}  // namespace streamsan::ptx
