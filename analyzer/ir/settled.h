// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is settled before loops are counted: numbers that are constants where a loop begins, pointers that are only ever
// one address. See settled.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer::ir {

/// The constant that `number` holds wherever the loop is entered and in all of its rounds; absent: it is not known.
std::optional<std::int64_t> constant_in_loop(const Function& function, std::size_t head,
                                             const std::set<std::size_t>& blocks, PlaceId number);

/// `engine.pool_->layers` becomes `pool.layers` where the pointer is set once, to the address of `pool`. For closed
/// functions.
void name_what_is_pointed_to(Function& function);

}  // namespace streamsan::analyzer::ir
