// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers that all threads of a box compute at once.
//
// The threads of a launch are the points of a box: one coordinate for each dimension of the grid and of the block. What
// a thread computes from its coordinates and from the launch's arguments is, in kernels whose bytes can be found at
// all, mostly c0 + c1 x1 + ... + c6 x6. Registers wrap around, so a form is first of all a congruence modulo 2^bits:
// sums, differences and products with constants never need a proof. Where the number itself matters (a comparison, a
// widening, an address) value_in() finds the one representative that lies in the type's range over the whole box, or
// says that there is none: the box must then be cut where the number wraps.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace streamsan::ptx {

__extension__ using Wide = __int128;

/// a / b, rounded down.
inline Wide floor_div(Wide a, Wide b) {
  const Wide q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

inline constexpr std::size_t kDimensions = 6;  ///< ctaid.x y z, tid.x y z

/// Coordinates from `low` to `high`, both included.
struct Box {
  std::array<std::int64_t, kDimensions> low{};
  std::array<std::int64_t, kDimensions> high{};
  bool operator==(const Box&) const = default;
};

/// constant + sum of factor[i] x[i], as a number.
struct Affine {
  Wide constant = 0;
  std::array<std::int64_t, kDimensions> factor{};

  [[nodiscard]] Wide lowest(const Box& box) const;
  [[nodiscard]] Wide highest(const Box& box) const;
  [[nodiscard]] bool is_constant(const Box& box) const;
  bool operator==(const Affine&) const = default;
};

Affine operator+(Affine a, const Affine& b);
Affine operator-(Affine a, const Affine& b);

/// The same number modulo 2^bits, with constant and factors in the signed range of so many bits.
Affine reduce(const Affine& a, unsigned bits);
/// a * by modulo 2^bits.
Affine multiply(const Affine& a, std::int64_t by, unsigned bits);

/// The representative of `a` modulo 2^bits that lies in the type's range for all of the box. If there is none,
/// `boundary` is a form that is negative for some points and not for others, and no representative changes between
/// points of one side. Neither: the form wraps too often to be worth following.
struct InRange {
  std::optional<Affine> value;
  std::optional<Affine> boundary;
};
InRange value_in(const Affine& a, unsigned bits, bool is_signed, const Box& box);

/// Cuts the box into parts where `form` is negative everywhere or nowhere. False: more than `most` parts.
bool cut(const Box& box, const Affine& form, std::size_t most, std::vector<Box>& parts);

}  // namespace streamsan::ptx
