// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether what a method leaves behind lets others wait for its work. See handed_out.cpp.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer {

/// The answers for one program. The program may grow: a question that was answered is not asked again.
class HandedOut {
 public:
  explicit HandedOut(const ir::Program& program) : program_(program) {}

  /// The method, or what it calls, records an event that is somebody else's, or puts an event or a stream where
  /// somebody else finds it.
  bool by(const ir::Function& method) { return looks(method, {.object = true, .parameters = {}}, 0); }

 private:
  /// What of a function's inputs is the object's own.
  struct Ours {
    bool object = false;
    std::set<unsigned> parameters;  ///< that point into it
    friend auto operator<=>(const Ours&, const Ours&) = default;
  };
  bool looks(const ir::Function& function, const Ours& ours, unsigned deep);
  bool done_by(const ir::Function& function, const ir::Op& op, const Ours& ours, unsigned deep);
  bool is_others(const ir::Function& function, ir::PlaceId place, const Ours& ours);
  bool points_to_others(const ir::Function& function, const ir::Operand& given, const Ours& ours);
  const std::set<std::string>& lent();

  const ir::Program& program_;
  std::optional<std::set<std::string>> lent_;  ///< fields that point to what the object was given
  std::map<std::pair<std::string, Ours>, bool> known_;
};

}  // namespace streamsan::analyzer
