// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// std::async and what it returns; see host_tasks.cpp.
#pragma once

#include <optional>

#include "analyzer/lowering/host_call.h"

namespace streamsan::analyzer::host {

class FunctionBuilder;
class Optionals;
class Places;
class Values;
struct Parts;
struct Unit;

class Tasks {
 public:
  explicit Tasks(const Parts& parts);

  /// Lowers the call if it starts a task of which it is known what it runs, or is one of a future; says if it was one.
  bool apply(const Call& call);

 private:
  bool start_task(const Call& call);
  /// Every future of the function, as far as its text shows, comes from a task that was lowered where it was started.
  [[nodiscard]] bool only_known_tasks(const clang::Expr& future);
  [[nodiscard]] const clang::FunctionDecl* task_of(const clang::Expr& callable) const;

  Unit& unit_;
  const clang::FunctionDecl& definition_;
  FunctionBuilder& out_;
  Places& places_;
  Values& values_;
  Optionals& optionals_;
  std::optional<bool> known_;  ///< of the function's text
};

}  // namespace streamsan::analyzer::host
