// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variables of inlined callees that nothing uses any more. See last_uses.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer {

class LastUses {
 public:
  explicit LastUses(const ir::Function& function);

  /// Nothing uses the value that the variable holds at the start of `block`.
  [[nodiscard]] bool is_dead(std::size_t block, ir::PlaceId variable) const {
    const std::uint32_t number = numbers_[static_cast<std::size_t>(variable)];
    return number != kNotFollowed && !has(alive_[block], number);
  }

 private:
  using Set = std::vector<std::uint64_t>;  ///< a bit by number
  static constexpr std::uint32_t kNotFollowed = UINT32_MAX;

  static bool has(const Set& set, std::uint32_t number) { return (set[number / 64] >> number % 64 & 1U) != 0; }
  static void put(Set& set, std::uint32_t number) { set[number / 64] |= std::uint64_t{1} << number % 64; }

  void follow();

  const ir::Function& function_;
  std::vector<std::uint32_t> numbers_;  ///< by place: the number of a followed variable
  std::uint32_t count_ = 0;
  std::vector<Set> alive_;  ///< by block: at its start
};

}  // namespace streamsan::analyzer
