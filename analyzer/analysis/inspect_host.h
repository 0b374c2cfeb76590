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
  /// By the host: memory of a graph that went back to a free list, from which somebody else has it by now.
  void write_captured(ValueId memory, const ir::Access& access);
  [[nodiscard]] bool launches_from_here() const;
  /// A graph is instantiated here into what outlives this function.
  [[nodiscard]] bool graph_survives() const;
  void release_captured(ValueId memory, OpIndex use);
  void release_tensor(ValueId memory);
  void release_in_order(ValueId memory);
  /// What `earlier` uses is released in the stream now, which may not be behind it.
  void release_in_stream(Check check, const Pending& earlier, ValueId memory, ValueId stream);
  /// The earlier op is over when the stream's next one runs.
  bool surely_over(const Pending& earlier, ValueId stream);
  void release_by_host(ValueId memory, std::optional<ordering::MemoryKind> kind);

  ReleaseQuestions& releases_;
};

}  // namespace streamsan::analyzer
