// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/ptx/affine.h"

namespace streamsan::ptx {
namespace {

constexpr Wide kMostWraps = 64;

__extension__ using UnsignedWide = unsigned __int128;

// Each step of an evaluation reduces a form, and divisions by 2^bits took half of its time. Shifts do the same.
Wide reduce(Wide value, unsigned bits) {
  const unsigned above = 128 - bits;
  return static_cast<Wide>(static_cast<UnsignedWide>(value) << above) >> above;
}
std::int64_t reduce(std::int64_t value, unsigned bits) {
  if (bits >= 64) return value;
  const unsigned above = 64 - bits;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << above) >> above;
}

}  // namespace

Wide Affine::lowest(const Box& box) const {
  Wide value = constant;
  for (std::size_t i = 0; i < kDimensions; ++i) value += Wide{factor[i]} * (factor[i] < 0 ? box.high[i] : box.low[i]);
  return value;
}

Wide Affine::highest(const Box& box) const {
  Wide value = constant;
  for (std::size_t i = 0; i < kDimensions; ++i) value += Wide{factor[i]} * (factor[i] < 0 ? box.low[i] : box.high[i]);
  return value;
}

bool Affine::is_constant(const Box& box) const {
  for (std::size_t i = 0; i < kDimensions; ++i)
    if (factor[i] != 0 && box.low[i] != box.high[i]) return false;
  return true;
}

// Factors are of registers of at most 64 bits and are always reduced after one step of arithmetic; the sums here wrap
// modulo 2^64, which all register widths divide.
Affine operator+(Affine a, const Affine& b) {
  a.constant += b.constant;
  for (std::size_t i = 0; i < kDimensions; ++i)
    a.factor[i] =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(a.factor[i]) + static_cast<std::uint64_t>(b.factor[i]));
  return a;
}

Affine operator-(Affine a, const Affine& b) {
  a.constant -= b.constant;
  for (std::size_t i = 0; i < kDimensions; ++i)
    a.factor[i] =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(a.factor[i]) - static_cast<std::uint64_t>(b.factor[i]));
  return a;
}

Affine reduce(const Affine& a, unsigned bits) {
  Affine out;
  out.constant = reduce(a.constant, bits);
  for (std::size_t i = 0; i < kDimensions; ++i) out.factor[i] = reduce(a.factor[i], bits);
  return out;
}

Affine multiply(const Affine& a, std::int64_t by, unsigned bits) {
  Affine out;
  out.constant = reduce(reduce(a.constant, bits) * by, bits);
  for (std::size_t i = 0; i < kDimensions; ++i)
    out.factor[i] = static_cast<std::int64_t>(reduce(Wide{a.factor[i]} * by, bits));
  return out;
}

InRange value_in(const Affine& a, unsigned bits, bool is_signed, const Box& box) {
  const Wide modulus = Wide{1} << bits;
  const Wide base = is_signed ? -(modulus / 2) : Wide{0};
  const Wide first = (a.lowest(box) - base) >> bits;
  const Wide last = (a.highest(box) - base) >> bits;
  InRange out;
  if (first == last) {
    out.value = a;
    out.value->constant -= first * modulus;
  } else if (last - first <= kMostWraps) {
    out.boundary = a;
    out.boundary->constant -= base + (first + 1) * modulus;
  }
  return out;
}

bool cut(const Box& box, const Affine& form, std::size_t most, std::vector<Box>& parts) {
  if (form.highest(box) < 0 || form.lowest(box) >= 0) {
    parts.push_back(box);
    return parts.size() <= most;
  }
  // Along the dimension that counts most few coordinates are undecided: one, where block and thread make one index.
  std::size_t axis = kDimensions;
  Wide weight = 0;
  for (std::size_t i = 0; i < kDimensions; ++i) {
    if (box.low[i] == box.high[i]) continue;
    const Wide here = form.factor[i] < 0 ? -Wide{form.factor[i]} : Wide{form.factor[i]};
    if (here > weight) {
      weight = here;
      axis = i;
    }
  }
  if (axis == kDimensions) return false;  // unreachable: an undecided form varies
  Affine rest = form;
  rest.factor[axis] = 0;
  const Wide low = rest.lowest(box), high = rest.highest(box);
  const Wide step = form.factor[axis];
  // Negative for sure where step x + high < 0; surely not where step x + low >= 0.
  Box part = box;
  const auto slab = [&](Wide from, Wide to) {
    if (from < box.low[axis]) from = box.low[axis];
    if (to > box.high[axis]) to = box.high[axis];
    if (from > to) return false;
    part.low[axis] = static_cast<std::int64_t>(from);
    part.high[axis] = static_cast<std::int64_t>(to);
    return true;
  };
  Wide undecided_from, undecided_to;
  if (step > 0) {
    undecided_from = floor_div(-high - 1, step) + 1;  // below it: step x <= -high - 1
    undecided_to = floor_div(-low - 1, step);         // above it: step x >= -low
  } else {
    undecided_from = floor_div(low, -step) + 1;  // at most low / -step: step x + low >= 0
    undecided_to = floor_div(high, -step);       // above it: step x + high < 0
  }
  if (slab(box.low[axis], undecided_from - 1)) parts.push_back(part);
  if (slab(undecided_to + 1, box.high[axis])) parts.push_back(part);
  if (slab(undecided_from, undecided_to)) {
    const std::int64_t from = part.low[axis], to = part.high[axis];
    if (static_cast<std::uint64_t>(to - from) >= most) return false;
    for (std::int64_t x = from; x <= to; ++x) {
      Box single = box;
      single.low[axis] = single.high[axis] = x;
      if (!cut(single, form, most, parts)) return false;
    }
  }
  return parts.size() <= most;
}

}  // namespace streamsan::ptx
