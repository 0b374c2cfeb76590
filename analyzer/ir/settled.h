// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is settled before loops are counted: numbers that are constants where a loop begins, pointers that are only ever
// one address. See settled.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer::ir {

/// The numbers of one function. Each is followed through the function once, however many loops are asked about.
class SettledNumbers {
 public:
  explicit SettledNumbers(const Function& function) : function_(function) {}

  /// The constant that `number` holds wherever the loop is entered and in all of its rounds; absent: it is not known.
  std::optional<std::int64_t> in_loop(std::size_t head, const std::set<std::size_t>& blocks, PlaceId number);

 private:
  using AtEnds = std::vector<std::optional<std::int64_t>>;  ///< by block

  const Function& function_;
  std::map<PlaceId, AtEnds> known_;
};

/// `engine.pool_->layers` becomes `pool.layers` where the pointer is set once, to the address of `pool`. For closed
/// functions.
void name_what_is_pointed_to(Function& function);

}  // namespace streamsan::analyzer::ir
