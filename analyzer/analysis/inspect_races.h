// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Questions about work against work in flight: of two streams (inspect_races.cpp), and a programmatic launch against
// the kernels in front of it in its own stream (inspect_dependents.cpp), which is asked where the stream seems to
// order the two.
#pragma once

#include <string>

#include "analyzer/analysis/look.h"

namespace streamsan::analyzer {

class RaceQuestions : Questions {
 public:
  using Questions::Questions;

  /// At any op.
  void ask();

 private:
  void races();
  /// At the end of a group: its calls, whose work begins here.
  void released_races();
  void race(const ir::Access& access, const Pending& mine, const Pending& earlier);
  /// Work against an access of a message-passing library, which is in no stream.
  void meets_message(const ir::Access& access, const Pending& mine, const Pending& message);
  void use_after_free(const ir::Access& access, const Pending& mine, const Pending& free);
  /// Says which default stream is meant, if the two belong to different devices.
  void note_devices(Hazard& hazard, ValueId earlier, ValueId later) const;
  /// The rule by which a synchronous copy or fill may still run after its return; empty: none, or more than one.
  [[nodiscard]] std::string returns_early(const Pending& earlier) const;
  [[nodiscard]] bool one_kernel_on_parts(const Pending& mine, const Pending& earlier) const;
  /// Another kernel that writes a part of the same buffer, for which the reader's stream has waited; nullptr: there is
  /// none. A kernel that reads at indices from memory needs all parts, unless its stream waits for the rest later.
  [[nodiscard]] const Pending* joined_part(const Pending& mine, const Pending& earlier) const;
  /// The op by which, since the earlier access, the one stream has waited for an event of the other that does not cover
  /// the access; kNoOp: there is none.
  [[nodiscard]] OpIndex waited_since(const Pending& mine, const Pending& earlier) const;
  /// The function records the event in the stream.
  [[nodiscard]] bool records(ValueId event, ValueId stream) const;
  [[nodiscard]] bool waits_later(const Pending& mine, const Pending& earlier) const;
  /// Both are kernels that write at indices from memory: they may write two halves of one result.
  [[nodiscard]] bool shared_out(const Pending& mine, const Pending& earlier) const;

  // inspect_dependents.cpp
  /// A programmatic launch against a kernel in front of it in its stream. False: they are in order.
  bool overtakes(const ir::Access& access, const Pending& mine, const Pending& earlier);
};

}  // namespace streamsan::analyzer
