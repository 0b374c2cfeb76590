// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Branches that tell what an integer is. See number_tests.cpp.
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

  /// Before the blocks `before`, which end in `ends`, meet at block `to`: where one of them holds a number, another one
  /// of which a branch says the same number is given it.
  void settle(Values& values, std::uint32_t to, const std::vector<std::uint32_t>& before, Ends& ends) const;

 private:
  struct Test {
    ir::PlaceId place = ir::kNoPlace;
    std::int64_t number = 0;
    std::size_t equal = 0;  ///< the successor where it is that number
  };
  /// What is known on the way from the end of one block to another.
  [[nodiscard]] const Test* on_the_way(std::uint32_t from, std::uint32_t to) const;

  const ir::Function& function_;
  std::vector<Test> tests_;                                ///< by block; place kNoPlace: it asks something else
  std::vector<std::optional<std::uint32_t>> only_before_;  ///< by block that has no ops
};

}  // namespace streamsan::analyzer
