// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Questions about events and destroyed handles. inspect_handles.cpp explains it.
//
// Whether a second record matters is known only at the end: it matters if the event is waited for later.
#pragma once

#include <utility>
#include <vector>

#include "analyzer/analysis/look.h"

namespace streamsan::analyzer {

class HandleQuestions : Questions {
 public:
  using Questions::Questions;

  /// At any op.
  void ask();
  /// All is seen: raises what had to wait for that.
  void conclude();

  [[nodiscard]] bool saw_useless_wait() const { return useless_wait_; }

 private:
  /// A handle after its end.
  void handles();
  /// At a wait of a stream or of the host for an event.
  void wait();
  /// The wait here is in a branch of a condition that is not understood, and ways past it lead to a record: whether
  /// there has been one may be what the condition asks for.
  [[nodiscard]] bool may_ask_for_record() const;
  [[nodiscard]] bool in_construction() const;
  void record();
  void elapsed();
  /// Where another function waits for an event that this one records twice; nullptr: nowhere, or not for certain.
  [[nodiscard]] const ir::Site* awaited_elsewhere(ValueId event, const Raised& records) const;
  void destroyed(const ir::Operand& written, ValueId value, bool event);
  /// At the end of an event: another process's, that nothing has waited for.
  void never_used(ValueId event);
  /// A stream waits for its own event, where it has forked another one off and not joined it.
  void missed_join(ValueId event, ValueId waiter, const EventState& state);

  bool useless_wait_ = false;  ///< one is reported: it waits for an event without a record
  std::vector<std::pair<ValueId, OpIndex>> waited_events_;
  std::vector<Raised> rerecords_;  ///< to be reported if the event is waited for later
  std::vector<std::pair<ValueId, OpIndex>> rerecord_events_;
};

}  // namespace streamsan::analyzer
