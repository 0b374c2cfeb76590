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
  /// Called when all ops were seen: raises the hazards that depend on later ops.
  void conclude();

  [[nodiscard]] bool saw_useless_wait() const { return useless_wait_; }

 private:
  /// Uses of a handle after its end.
  void handles();
  /// At a wait of a stream or of the host for an event.
  void wait();
  /// The wait is in a branch of a condition that is not understood, and paths around it lead to a record. So the
  /// condition may ask whether there has been a record.
  [[nodiscard]] bool may_ask_for_record() const;
  [[nodiscard]] bool in_construction() const;
  void record();
  void elapsed();
  /// Where another function waits for an event that this one records twice; nullptr: nowhere, or not for certain.
  [[nodiscard]] const ir::Site* awaited_elsewhere(ValueId event, const Raised& records) const;
  void destroyed(const ir::Operand& written, ValueId value, bool event);
  /// At the end of an event of another process that nothing has waited for.
  void never_used(ValueId event);
  /// A stream waits for its own event, although it has forked another stream and not joined it.
  void missed_join(ValueId event, ValueId waiter, const EventState& state);

  bool useless_wait_ = false;  ///< a wait for an event without a record is reported
  std::vector<std::pair<ValueId, OpIndex>> waited_events_;
  std::vector<Raised> rerecords_;  ///< to be reported if the event is waited for later
  std::vector<std::pair<ValueId, OpIndex>> rerecord_events_;
};

}  // namespace streamsan::analyzer
