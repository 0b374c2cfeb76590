// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Distances and lengths in bytes, as polynomials over the values of variables. The essay is in overlap.h.
#include "analyzer/analysis/overlap.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "analyzer/ir/polynomial.h"

namespace streamsan::analyzer {
namespace {

using ir::Polynomial;

/// `key` times `unit`; absent: not known, or not one value.
std::optional<Polynomial> in_bytes(const Values& values, KeyId id, std::uint32_t unit) {
  const Key& key = values[id];
  if (key.constant) return Polynomial(*key.constant).times(Polynomial(unit));
  if (!key.precise) return std::nullopt;
  const auto name = [&](std::string_view word) -> std::string {
    std::size_t number = 0;
    const char* end = word.data() + word.size();
    if (!word.starts_with('$') || std::from_chars(word.data() + 1, end, number).ptr != end) return {};
    if (number >= key.values.size()) return {};
    return "#" + std::to_string(static_cast<std::uint32_t>(key.values[number]));
  };
  const std::optional<Polynomial> steps = Polynomial::parse(key.text, name);
  return steps ? steps->times(Polynomial(unit)) : std::nullopt;
}

std::optional<Polynomial> offset(const Values& values, const Pending& access) {
  if (access.offset == kWhole) return Polynomial(0);
  const std::uint32_t unit = values[access.offset].unit;
  return unit == 0 ? std::nullopt : in_bytes(values, access.offset, unit);
}

/// Absent: the call does not say, or not in a way that can be compared.
std::optional<Polynomial> length(const Values& values, const Pending& access) {
  return access.bytes == kWhole ? std::nullopt : in_bytes(values, access.bytes, 1);
}

/// No variable in it is subtracted, so that it is no less than its constant if none of them is negative.
bool grows(const Polynomial& polynomial) {
  return std::ranges::all_of(polynomial.terms(), [](const auto& term) { return term.second > 0; });
}

/// Of an access that is `bytes` long, and one that begins `distance` after it.
Sure reaches(const std::optional<Polynomial>& bytes, const Polynomial& distance) {
  const std::optional<Polynomial> rest = bytes ? bytes->plus(distance, -1) : std::nullopt;
  const std::optional<std::int64_t> left = rest ? rest->constant() : std::nullopt;
  if (!left) return Sure::Maybe;
  if (*left <= 0) return Sure::No;
  // Behind its begin, and before its end.
  return grows(distance) ? Sure::Yes : Sure::Maybe;
}

}  // namespace

bool writes(ir::Mode mode) {
  return mode == ir::Mode::Write || mode == ir::Mode::ReadWrite || mode == ir::Mode::Atomic;
}

Sure overlap(const Values& values, const Pending& a, const Pending& b) {
  // Allocating and freeing concern the whole block.
  if (a.access >= kRelease || b.access >= kRelease) return Sure::Yes;
  if (a.memory != b.memory) {
    // An object and a part of it.
    return a.offset == kWhole && b.offset == kWhole ? Sure::Yes : Sure::Maybe;
  }
  if (a.offset == b.offset && values.precise(a.offset)) return Sure::Yes;
  const std::optional<Polynomial> from = offset(values, a), to = offset(values, b);
  const std::optional<Polynomial> distance = from && to ? to->plus(*from, -1) : std::nullopt;
  if (!distance) return Sure::Maybe;
  const std::optional<std::int64_t> number = distance->constant();
  if (number == 0) return Sure::Yes;
  const std::optional<Polynomial> back = Polynomial(0).plus(*distance, -1);
  if (!back) return Sure::Maybe;
  const Sure forth = number && *number < 0 ? Sure::Maybe : reaches(length(values, a), *distance);
  return forth != Sure::Maybe || (number && *number > 0) ? forth : reaches(length(values, b), *back);
}

Sure host_overlap(const Values& values, const Pending& earlier, const Pending& touch) {
  const Sure common = overlap(values, earlier, touch);
  if (common != Sure::Maybe || earlier.offset != kWhole) return common;
  if (earlier.memory != touch.memory) return Sure::Yes;
  // How far the device's side reaches is not known. Nobody copies, or starts a kernel for, less than a few elements; but
  // it need not reach to the second half, or to wherever a variable is. A kernel without an integer argument has no halves.
  const bool sized = earlier.bytes != kWhole || earlier.arguments != kWhole;
  const std::int64_t surely_reached = sized ? 256 : 4096;
  const Key& index = values[touch.offset];
  return index.constant && *index.constant >= 0 && *index.constant < surely_reached ? Sure::Yes : Sure::Maybe;
}

Sure conflict(ir::Mode a, ir::Mode b) {
  using ir::Mode;
  if ((a == Mode::Read && b == Mode::Read) || (a == Mode::Atomic && b == Mode::Atomic)) return Sure::No;
  if (a == Mode::Unknown || b == Mode::Unknown) return Sure::Maybe;
  return writes(a) || writes(b) ? Sure::Yes : Sure::No;
}

bool presumed_conflict(const ir::Op& op, ir::Mode mode, const ir::Op& other, ir::Mode other_mode) {
  const auto unseen = [](const ir::Op& of, ir::Mode does) {
    return of.kind == ir::OpKind::Enqueue && of.work == ir::Work::Kernel && does == ir::Mode::Unknown;
  };
  return (unseen(op, mode) && writes(other_mode)) || (unseen(other, other_mode) && writes(mode));
}

}  // namespace streamsan::analyzer
