// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A look at one op, with the state that holds before it: what every question of the inspector needs, and nothing that
// only one of them does. The questions change no state; they raise hazards, which the look hands to its choice
// (choice.h).
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
  /// The same state, another op: one that was called before and begins here.
  void turn_to(OpIndex other);

  [[nodiscard]] Hazard start(Check check, Level level) const;
  void raise(Raised raised) { choice.add(std::move(raised)); }
  /// A hazard of the present op with an earlier one on `memory`. `later_stream` kUnknown: the present op is the host's.
  void raise(Hazard hazard, const Pending& earlier, ValueId memory, ValueId later_stream = kUnknown) {
    raise(raised(std::move(hazard), earlier, memory, later_stream));
  }
  [[nodiscard]] Raised raised(Hazard hazard, const Pending& earlier, ValueId memory, ValueId later_stream) const;
  /// Records that this pair is ordered; another inlined copy of the ops may not be.
  void note_ordered(const Pending& earlier) { choice.note_ordered(index, earlier.op); }
  /// Adds the reason for treating `one` and `other` as different, unless that is proved.
  void note_belief(Hazard& hazard, ValueId one, ValueId other) const;
  /// Adds that the memory went back to a pool in between, and is taken to be what the pool hands out next.
  void note_pool(Hazard& hazard, const Pending& earlier) const;
  /// Adds that `launch`, of a kernel whose code is not in sight, is taken to use the buffer that it is given.
  void note_presumption(Hazard& hazard, OpIndex launch) const;

  /// Some path has an order, whether or not the two streams are one. `later` kUnknown: the host.
  [[nodiscard]] bool ordered_on_some_path(const Pending& earlier, ValueId later) const;
  /// The access is one of an earlier iteration of a loop that the present op is in.
  [[nodiscard]] bool of_earlier_iteration(const Pending& earlier) const;
  /// The earlier op stands in block `one`.
  [[nodiscard]] bool is_in(const Pending& earlier, std::size_t one) const;
  /// The present op can lead to the other one again.
  [[nodiscard]] bool inside_same_loop(const Pending& earlier) const;
  /// Every path that leads here has run the earlier op.
  [[nodiscard]] bool always_after(const Pending& earlier) const;

  Values& values;
  Sets& sets;
  Witness witness;
  const Beliefs* beliefs;  ///< those that the order was computed under; nullptr: none
  const Roles* roles;      ///< of the translation unit; nullptr: not known
  Choice choice;
  FirstRounds first_rounds;
  bool undecided = false;  ///< some hazard is Maybe because two streams are not known to be two

  const Store* store = nullptr;
  const Order* order = nullptr;
  const ir::Op* op = nullptr;
  OpIndex index = kNoOp;
  std::uint32_t block = 0;
  std::uint32_t position = 0;
};

/// The look that a class of questions asks. It turns from op to op; the rest stays.
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
