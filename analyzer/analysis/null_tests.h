// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Branches that ask whether a pointer is null. See null_tests.cpp.
#pragma once

#include <vector>

#include "analyzer/analysis/store.h"
#include "analyzer/analysis/values.h"
#include "analyzer/ir/ir.h"

namespace streamsan::analyzer {

class NullTests {
 public:
  explicit NullTests(const ir::Function& function);

  /// Control can go from the end of block `from`, where `store` holds, to its successor `to`.
  [[nodiscard]] bool may_go(Values& values, const Store& store, std::uint32_t from, std::uint32_t to) const;

 private:
  struct Test {
    ir::PlaceId pointer = ir::kNoPlace;
    std::size_t null = 0;  ///< the successor for a null pointer
    bool fills = false;    ///< that successor only gives it memory
  };
  /// The branch of `test` to `from` only gives the pointer memory, until it joins the path of `behind`.
  [[nodiscard]] bool fills(std::size_t test, ir::BlockId from, ir::BlockId behind, ir::PlaceId pointer) const;

  const ir::Function& function_;
  std::vector<Test> tests_;  ///< by block; pointer kNoPlace: the block tests something else
};

}  // namespace streamsan::analyzer
