// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers that are linear in what differs from thread to thread, and from round to round. See linear.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "ordering/types.h"

namespace streamsan::analyzer::device {

/// A constant, and symbols by what each is multiplied with.
struct Linear {
  std::int64_t constant = 0;
  std::map<unsigned, std::int64_t> terms;  ///< none is 0
};
using MaybeLinear = std::optional<Linear>;  ///< absent: not known

/// a + scale * b
MaybeLinear sum(const MaybeLinear& a, const MaybeLinear& b, std::int64_t scale = 1);
/// The product of two values of which one is constant.
MaybeLinear product(const MaybeLinear& a, const MaybeLinear& b);

/// What the symbols may be, where one stands in the code.
class Space {
 public:
  enum class Sign : std::uint8_t { Less, LessOrEqual, Equal };
  enum class Held : std::uint8_t {
    Always,
    Never,
    Sometimes,  ///< for the part of one symbol that is left
    Unknown,
  };

  /// A new symbol that differs from all others, and runs through [first, first + count).
  Linear run_through(std::int64_t first, std::int64_t count);
  /// `number` in as few symbols as can be: `blockIdx.x * blockDim.x + threadIdx.x` is one that runs through all
  /// threads.
  Linear folded(Linear number);
  /// For a loop that starts at `number` in each thread and goes on in steps of as many as there are threads: the number
  /// in all rounds of all threads, up to `end`; nullopt: it is no such loop.
  std::optional<Linear> strided(const Linear& number, std::int64_t step, std::int64_t end);
  /// From here on `number` is less than 0, and so on; or, if not `holds`, it is not.
  Held assume(const Linear& number, Sign sign, bool holds);
  [[nodiscard]] std::int64_t least(const Linear& number) const;
  [[nodiscard]] std::int64_t most(const Linear& number) const;
  /// The conditions that have come since `before`, an earlier state of this one, hold no longer; the symbols stay.
  void drop_conditions(const Space& before);
  /// What is surely touched by an access of so many bytes at `address`.
  [[nodiscard]] std::optional<ordering::Footprint> bytes(const Linear& address, std::uint64_t width) const;

 private:
  struct Symbol {
    std::int64_t first = 0, count = 1;
    std::set<unsigned> atoms;  ///< the independent symbols that it is made of
    Linear meaning;            ///< in those; without terms: it is independent
    bool narrowed = false;     ///< there are threads for which it is another
    std::int64_t whole_first = 0, whole_count = 1;
  };
  unsigned add(Symbol symbol);
  [[nodiscard]] bool shares(const Symbol& a, const Symbol& b) const;
  /// Each combination of values of these symbols is there, whatever conditions hold for others.
  [[nodiscard]] bool are_free(const Linear& number) const;
  void put_together(Linear& number);

  std::vector<Symbol> symbols_;
};

}  // namespace streamsan::analyzer::device
