// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bytes of copies, fills and kernels, from footprints to accesses. See pieces.cpp.
#pragma once

#include <span>
#include <vector>

#include "ordering/checks.h"

namespace streamsan::ordering {

/// A pattern that lies in an allocation, before the patterns of one way are put together.
struct Piece {
  Piece(Allocation& held_by, const Footprint& touched, AccessMode how, bool is_widened)
      : allocation(&held_by),
        whole(held_by.info.range.begin),
        block(held_by.info.block),
        bytes(touched),
        mode(how),
        widened(is_widened) {}

  Allocation* allocation = nullptr;
  Address whole = 0;   ///< where the allocation begins; and with it, perhaps, a block
  bool block = false;  ///< it is one
  Footprint bytes;
  AccessMode mode = AccessMode::Read;
  bool widened = false;
};

class Pieces {
 public:
  static constexpr std::uint64_t kMostRows = 1024;

  Pieces(Lives& lives, Checks& checks) : lives_(lives), checks_(checks) {}

  /// One side of a copy, or a fill.
  void touch_footprint(const Footprint& footprint, const Access& access, const Actor& actor);
  /// What a kernel is known to touch.
  void touch_known(std::span<const KernelBytes> bytes, const Access& access, const Actor& actor);

 private:
  /// Adds what the footprint touches to pieces_. False: nothing holds its first byte.
  bool add_pieces(const Footprint& footprint, AccessMode mode, bool widened);
  void add_rows(const Footprint& footprint, AccessMode mode, bool widened);
  /// What pieces of one allocation touch in one way.
  void add_part(std::span<const Piece> pieces);
  /// What has ended in the bytes, by the first row of them. `held`: something lives there.
  void touch_ended(const KernelBytes& known, bool held, const Access& access, const Actor& actor);
  void touch_pieces(const Access& access, const Actor& actor);

  Lives& lives_;
  Checks& checks_;
  std::vector<Piece> pieces_;        // scratch
  std::vector<Part> parts_;          // scratch of touch_pieces()
  std::vector<Footprint> patterns_;  // scratch of add_part()
};

}  // namespace streamsan::ordering
