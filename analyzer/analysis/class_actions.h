// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The actions of functions, without regard to their control flow. The lives of an object (class_protocols.h) ask for
// them before they join calls to one function.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer {

/// What a function does, its callees included.
struct Actions {
  bool enqueues = false;
  bool meets = false;  ///< what work in flight could be in the way of: enqueues, frees, touches
  bool waits = false;
  std::int64_t slots = 1;  ///< it goes through so many
  bool supposes = false;   ///< their number is no constant
};

class AllActions {
 public:
  /// `program` must outlive it.
  explicit AllActions(const ir::Program& program) : program_(program) {}

  /// The actions of the function with this USR. A function that is not in the program has none.
  const Actions& of(const std::string& usr);

 private:
  const ir::Program& program_;
  std::map<std::string, Actions> known_;
};

/// Fields with streams, by ir::field_key(): (waited for, waiting).
using StreamOrders = std::set<std::pair<std::string, std::string>>;

/// The streams that functions with such a USR make wait for each other.
StreamOrders ordered_streams(const ir::Program& program, const std::function<bool(const std::string&)>& waits_in);

}  // namespace streamsan::analyzer
