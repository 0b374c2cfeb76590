// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rings: a few slots that are used in turn. rings.cpp explains it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer::ir {

/// How many slots there are supposed to be where their number is no constant.
inline constexpr std::int64_t kSupposedSlots = 2;

struct Rings {
  std::int64_t slots = 1;        ///< the most slots of a ring whose number is known; 1: there is none
  std::vector<PlaceId> numbers;  ///< what holds the number of slots of the others
};

/// The rings whose slots are named, or stepped, in `blocks`.
Rings rings_of(const Function& function, const std::set<std::size_t>& blocks);
/// In all of them.
Rings rings_of(const Function& function);

/// The most variables, or objects, that the ops of `blocks` pass their values round among: 2 for a swap. 1: there are
/// none.
std::int64_t passed_round(const Function& function, const std::set<std::size_t>& blocks);

/// "workers_.size()", as the source has it.
std::string as_written(const Function& function, PlaceId number);

/// Nothing that is seen speaks against it: what is stored in `number` may be `value`, and no branch tells `value` from
/// a few more, as a test for the least number of slots does.
bool may_be(const Function& function, PlaceId number, std::int64_t value);

/// Puts `value` in the place of `number` wherever it is read.
void suppose(Function& function, PlaceId number, std::int64_t value);

}  // namespace streamsan::analyzer::ir
