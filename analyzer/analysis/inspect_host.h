// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Questions about the host and the ends of memory against work in flight. inspect_host.cpp explains it.
#pragma once

#include <optional>

#include "analyzer/analysis/inspect_releases.h"
#include "analyzer/analysis/look.h"

namespace streamsan::analyzer {

class HostQuestions : Questions {
 public:
  HostQuestions(Look& look, ReleaseQuestions& releases) : Questions(look), releases_(releases) {}

  /// At any op.
  void ask();

 private:
  /// At a read or write of the host.
  void host_access();
  /// At a free, or where an object that owns memory ends.
  void end_of_memory();
  /// The host writes memory that a graph uses and that went back to a free list: another owner may have it by now.
  void write_captured(ValueId memory, const ir::Access& access);
  [[nodiscard]] bool launches_from_here() const;
  /// A graph is instantiated here into what outlives this function.
  [[nodiscard]] bool graph_survives() const;
  void release_captured(ValueId memory, OpIndex use);
  void release_tensor(ValueId memory);
  void release_in_order(ValueId memory);
  /// The memory of `earlier` is released in the order of the stream, which may not come after `earlier`.
  void release_in_stream(Check check, const Pending& earlier, ValueId memory, ValueId stream);
  /// The earlier op has ended when the next op of the stream runs.
  bool surely_over(const Pending& earlier, ValueId stream);
  void release_by_host(ValueId memory, std::optional<ordering::MemoryKind> kind);

  ReleaseQuestions& releases_;
};

}  // namespace streamsan::analyzer
