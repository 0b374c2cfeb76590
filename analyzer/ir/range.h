// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is known of an integer: an interval. And what follows from it for an expression, which the IR keeps as text.
//
// Two uses: the index that a literal argument makes of `streams[i]` in a callee, and the conditions of branches, where
// all that is asked is whether they hold. Arithmetic is that of C++ without its overflows; anything that is not
// understood (calls, casts, floating point) is any number.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>

namespace streamsan::analyzer::ir {

struct Range {
  static constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::int64_t low = kLeast;
  std::int64_t high = kMost;

  static Range one(std::int64_t number) { return {number, number}; }
  [[nodiscard]] bool any() const { return low == kLeast && high == kMost; }
  [[nodiscard]] std::optional<std::int64_t> number() const { return low == high ? std::optional(low) : std::nullopt; }
  /// Whether it is true as a condition.
  [[nodiscard]] std::optional<bool> truth() const {
    if (low > 0 || high < 0) return true;
    return low == 0 && high == 0 ? std::optional(false) : std::nullopt;
  }
  friend bool operator==(const Range&, const Range&) = default;
  friend auto operator<=>(const Range&, const Range&) = default;
};

/// What a word of the text is; absent: any number.
using RangeOf = std::function<std::optional<Range>(std::string_view word)>;

/// The range of an Expr, by its text.
Range evaluate(std::string_view text, const RangeOf& range_of);

}  // namespace streamsan::analyzer::ir
