// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Closing a function: the IR of every known callee put in the place of the call. See inline.cpp for the essay.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer::ir {

struct InlineOptions {
  std::uint32_t deepest = 8;         ///< calls within calls
  std::uint32_t most_blocks = 2000;  ///< of the closed function
  bool only_lambdas = false;         ///< the calls of others stay
};

/// Closes the functions of one program, and remembers between them which are inert.
class Inliner {
 public:
  explicit Inliner(const Program& program, const InlineOptions& options = {}) : program_(program), options_(options) {}

  /// `usr` with its callees inlined: no Call is left, and no Return but its own. A callee that is unknown, recursive,
  /// incomplete or too big becomes Escape of its arguments and MaySync. Sites of inlined ops carry the call they came
  /// through (Site::call).
  Function close(const std::string& usr);

  /// True if calling it does nothing that a caller could notice, its own callees included.
  bool is_inert(const std::string& usr);

  /// About how many ops close() would give without its limits.
  std::uint64_t weight(const std::string& usr);

 private:
  const Program& program_;
  InlineOptions options_;
  std::unordered_map<std::string, bool> inert_;
  std::unordered_map<std::string, std::uint64_t> weights_;
};

/// One function of a program closed, nothing remembered.
Function close(const Program& program, const std::string& usr, const InlineOptions& options = {});

/// Drops what no caller could notice: ops on locals nobody sees, empty blocks, unused places. Semantics are kept.
void simplify(Function& function);

/// The part of simplify() that leaves all ops: joins blocks that follow each other, drops those that cannot be reached.
void join_blocks(Function& function);

/// True if inlining it would add nothing: no effect on its arguments, `this`, globals, streams, and no value returned
/// that anybody tracks. A function with calls is not; Inliner::is_inert() looks into these.
bool is_inert(const Function& function);

}  // namespace streamsan::analyzer::ir
