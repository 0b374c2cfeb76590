// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Branches that show the value of an integer. number_tests.cpp explains it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/analysis/store.h"
#include "analyzer/analysis/values.h"
#include "analyzer/ir/ir.h"

namespace streamsan::analyzer {

class NumberTests {
 public:
  explicit NumberTests(const ir::Function& function);

  /// Called before the states `ends` of the blocks `before` are joined at block `to`. If a place holds a number in one
  /// state, and a branch shows the same number for another state, that state gets the number, too.
  void settle(Values& values, std::uint32_t to, const std::vector<std::uint32_t>& before, Ends& ends) const;

 private:
  struct Test {
    ir::PlaceId place = ir::kNoPlace;
    std::int64_t number = 0;
    std::size_t equal = 0;  ///< the successor if it is that number
  };
  /// The test whose outcome holds on the edge from one block to another; nullptr: none.
  [[nodiscard]] const Test* on_the_way(std::uint32_t from, std::uint32_t to) const;

  const ir::Function& function_;
  std::vector<Test> tests_;                                ///< by block; place kNoPlace: the block tests something else
  std::vector<std::optional<std::uint32_t>> only_before_;  ///< for a block without ops: its only predecessor
};

}  // namespace streamsan::analyzer
