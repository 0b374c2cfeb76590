// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over elements, written out round by round. written_out.cpp explains it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer::ir {

/// Loops with more rounds than these are not written out, and no more are supposed.
inline constexpr std::int64_t kMostRounds = 8;

struct WrittenOut {
  Function function;
  /// What was supposed: "'workers_.size()' is 2", and where its loop stands; empty: all numbers were constants.
  std::string supposed;
  Site site;
};

/// A copy of a closed function in which loops over handles or memory are written out. Absent: there are none.
std::optional<WrittenOut> write_out_loops(const Function& function);

}  // namespace streamsan::analyzer::ir
