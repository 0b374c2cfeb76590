// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A look at one op, with the state that holds before it: the data that all classes of questions share (inspector.h).
// The questions change no state; they raise hazards, which the look hands to its choice (choice.h).
#pragma once

#include <cstdint>

#include "analyzer/analysis/beliefs.h"
#include "analyzer/analysis/choice.h"
#include "analyzer/analysis/first_rounds.h"
#include "analyzer/analysis/hazard.h"
#include "analyzer/analysis/order.h"
#include "analyzer/analysis/overlap.h"
#include "analyzer/analysis/store.h"
#include "analyzer/analysis/witness.h"

namespace streamsan::analyzer {

class Look {
 public:
  Look(Values& of, Sets& their_sets, const Beliefs* believed, const Roles* known_roles)
      : values(of),
        sets(their_sets),
        witness(of),
        beliefs(believed),
        roles(known_roles),
        choice(of),
        first_rounds(of) {}

  /// Makes this op the current one for all calls below.
  void turn_to(const Store& contents, const Order& known, std::uint32_t in_block, std::uint32_t at_position);
  /// Makes another op the current one, with the same state: a call of a group, whose work begins where the group ends.
  void turn_to(OpIndex other);

  [[nodiscard]] Hazard start(Check check, Level level) const;
  void raise(Raised raised) { choice.add(std::move(raised)); }
  /// Raises a hazard between the current op and an earlier one on `memory`. `later_stream` kUnknown: the host runs the
  /// current op.
  void raise(Hazard hazard, const Pending& earlier, ValueId memory, ValueId later_stream = kUnknown) {
    raise(raised(std::move(hazard), earlier, memory, later_stream));
  }
  [[nodiscard]] Raised raised(Hazard hazard, const Pending& earlier, ValueId memory, ValueId later_stream) const;
  /// Records that this pair is ordered; another inlined copy of the ops may not be.
  void note_ordered(const Pending& earlier) { choice.note_ordered(index, earlier.op); }
  /// Adds the reason for treating `one` and `other` as different, unless that is proved.
  void note_belief(Hazard& hazard, ValueId one, ValueId other) const;
  /// Adds, if so, that the memory went back to a pool in between, and that the pool is assumed to hand it out next.
  void note_pool(Hazard& hazard, const Pending& earlier) const;
  /// Adds the assumption that the kernel of `launch`, whose code is not in sight, uses the buffer that it is given.
  void note_presumption(Hazard& hazard, OpIndex launch) const;

  /// Some path orders the two, even if their streams differ. `later` kUnknown: the host.
  [[nodiscard]] bool ordered_on_some_path(const Pending& earlier, ValueId later) const;
  /// The access happened in an earlier iteration of a loop that the current op is in.
  [[nodiscard]] bool of_earlier_iteration(const Pending& earlier) const;
  /// The earlier op is in block `one`.
  [[nodiscard]] bool is_in(const Pending& earlier, std::size_t one) const;
  /// From the current op, control flow can come back to the earlier one.
  [[nodiscard]] bool inside_same_loop(const Pending& earlier) const;
  /// Every path that leads here has run the earlier op.
  [[nodiscard]] bool always_after(const Pending& earlier) const;

  Values& values;
  Sets& sets;
  Witness witness;
  const Beliefs* beliefs;  ///< those that the order was computed under; nullptr: none
  const Roles* roles;      ///< those of the translation unit; nullptr: not known
  Choice choice;
  FirstRounds first_rounds;
  bool undecided = false;  ///< some hazard is Maybe because two streams are not known to differ

  const Store* store = nullptr;
  const Order* order = nullptr;
  const ir::Op* op = nullptr;
  OpIndex index = kNoOp;
  std::uint32_t block = 0;
  std::uint32_t position = 0;
};

/// The base of a class of questions: gives it the look, which is turned from op to op.
class Questions {
 public:
  explicit Questions(Look& look) : look_(look), values_(look.values), sets_(look.sets), witness_(look.witness) {}

 protected:
  Look& look_;
  Values& values_;
  Sets& sets_;
  const Witness& witness_;
};

}  // namespace streamsan::analyzer
