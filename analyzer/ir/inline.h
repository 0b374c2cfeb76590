// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Closing a function: the IR of every known callee put in the place of the call. inline.cpp explains it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer::ir {

struct InlineOptions {
  std::uint32_t deepest = 8;         ///< calls within calls
  std::uint32_t most_blocks = 2000;  ///< of the closed function
  bool only_lambdas = false;         ///< the calls of others stay
};

/// A function with its callees inlined, for its callers.
struct ClosedCallee {
  Function function;
  std::unordered_set<std::string> inlined;  ///< its callees, and theirs
  std::size_t blocks = 0;                   ///< before they were joined: InlineOptions::most_blocks counts these
  std::uint32_t levels = 0;                 ///< of calls within calls
  bool cut = false;                         ///< a limit kept a callee out: elsewhere it might not
};

/// Closes the functions of one program, and remembers between them which are inert, and closed callees.
class Inliner {
 public:
  explicit Inliner(const Program& program, const InlineOptions& options = {}) : program_(program), options_(options) {}

  /// `usr` with its callees inlined: no Call is left, and no Return but its own. A callee that is unknown, recursive,
  /// incomplete or too big becomes Escape of its arguments and MaySync. Sites of inlined ops carry the call they came
  /// through (Site::call).
  Function close(const std::string& usr);

  /// `usr`, which is known, for its second and later calls; null: its own calls are to be looked at one by one.
  const ClosedCallee* closed(const std::string& usr);

  /// True if calling it does nothing that a caller could notice, its own callees included.
  bool is_inert(const std::string& usr);

  /// About how many ops close() would give without its limits.
  std::uint64_t weight(const std::string& usr);

 private:
  struct Callee {
    bool tried = false;
    std::unique_ptr<const ClosedCallee> closed;
  };
  ClosedCallee close(const Function& root);
  /// Its calls are copies, unless there are too many.
  bool is_copied(const std::string& usr);
  /// Of copied calls within calls in it; from InlineOptions::deepest on they are not counted.
  std::uint32_t levels(const std::string& usr);

  const Program& program_;
  InlineOptions options_;
  std::unordered_map<std::string, Callee> callees_;
  std::unordered_map<std::string, std::uint32_t> levels_;
  std::unordered_map<std::string, bool> inert_;
  std::unordered_map<std::string, std::uint64_t> weights_;
};

/// One function of a program closed, nothing remembered.
Function close(const Program& program, const std::string& usr, const InlineOptions& options = {});

/// Drops what no caller could notice: ops on locals nobody sees, empty blocks, unused places. Semantics are kept.
void simplify(Function& function);

/// The same for copies in callers: what is done to an object that it is given by value may be seen in the argument.
void simplify_callee(Function& function);

/// The same for an analysis of `function` alone, which is closed: places keep their ids.
void drop_unused(Function& function);

/// Drops stores of numbers that are stored over before anything reads them. See overwritten.cpp.
void drop_overwritten(Function& function);

/// The part of simplify() that leaves all ops: joins blocks that follow each other, drops those that cannot be reached.
void join_blocks(Function& function);

/// True if inlining it would add nothing: no effect on its arguments, `this`, globals, streams, and no value returned
/// that anybody tracks. A function with calls is not; Inliner::is_inert() looks into these.
bool is_inert(const Function& function);

}  // namespace streamsan::analyzer::ir
