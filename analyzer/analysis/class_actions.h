// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The actions of functions, whatever their control flow. They are needed to choose the lives of an object
// (class_protocols.h).
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
  bool meets = false;  ///< it enqueues, frees or touches memory, so it could conflict with work in flight
  bool waits = false;
  std::int64_t slots = 1;  ///< number of slots that it goes through in turn
  bool supposes = false;   ///< the number of slots is not a constant
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

/// Pairs of stream fields, by ir::field_key(): (the stream waited for, the stream that waits).
using StreamOrders = std::set<std::pair<std::string, std::string>>;

/// The streams that functions make wait for each other. `waits_in`: which functions count, by USR.
StreamOrders ordered_streams(const ir::Program& program, const std::function<bool(const std::string&)>& waits_in);

}  // namespace streamsan::analyzer
