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

  /// Control can go from the end of block `from`, where `store` holds, to block `to`, which is a successor of it.
  [[nodiscard]] bool may_go(Values& values, const Store& store, std::uint32_t from, std::uint32_t to) const;

 private:
  struct Test {
    ir::PlaceId pointer = ir::kNoPlace;
    std::size_t null = 0;  ///< the successor where it is null
    bool fills = false;    ///< there it is given memory, and nothing else is done
  };
  /// Where `test` goes to `from`, nothing is done but to give the pointer memory before the way joins that of `behind`.
  [[nodiscard]] bool fills(std::size_t test, ir::BlockId from, ir::BlockId behind, ir::PlaceId pointer) const;

  const ir::Function& function_;
  std::vector<Test> tests_;  ///< by block; pointer kNoPlace: it asks something else
};

}  // namespace streamsan::analyzer
