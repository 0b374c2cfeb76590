// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Looks at each op with the state that holds before it, and raises hazards. It changes no state.
//
// By family: inspect_races.cpp (work against work), inspect_dependents.cpp (a programmatic launch against the kernel
// in front of it), inspect_host.cpp (the host and the ends of memory against work),
// inspect_handles.cpp (events, destroyed handles, captures), inspect_syncs.cpp (what is right but slow), and cause.cpp
// (why there is no order).
//
// One missing order shows in many pairs: whatever ran on one stream after the first access meets whatever runs on the
// other. Told are: for each op the last conflicting access of each other stream, and for each access the first op of
// each other stream that conflicts with it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/analysis/beliefs.h"
#include "analyzer/analysis/hazard.h"
#include "analyzer/analysis/order.h"
#include "analyzer/analysis/overlap.h"
#include "analyzer/analysis/store.h"
#include "analyzer/analysis/witness.h"

namespace streamsan::analyzer {

/// At least one writes, and the other does something.
Sure conflict(ir::Mode a, ir::Mode b);

class Inspector {
 public:
  /// `beliefs`: those that the order was computed under; nullptr: none.
  Inspector(Values& values, Sets& sets, const Beliefs* beliefs = nullptr)
      : values_(values), sets_(sets), witness_(values), beliefs_(beliefs) {}

  void at(const Store& store, const Order& order, std::uint32_t block, std::uint32_t position);
  std::vector<Hazard> take();
  /// Some hazard is Maybe because two streams are not known to be two.
  [[nodiscard]] bool undecided() const { return undecided_; }

 private:
  /// A hazard with the ops that it is about, to choose between hazards of one cause.
  struct Raised {
    Hazard hazard;
    OpIndex later = kNoOp;
    OpIndex earlier = kNoOp;
    ValueId memory = kUnknown;
    ValueId later_stream = kUnknown;
    ValueId earlier_stream = kUnknown;
    bool other_iteration = false;
  };

  // inspect_races.cpp
  void races();
  void released_races();
  void race(const ir::Access& access, const Pending& mine, const Pending& earlier);
  void use_after_free(const ir::Access& access, const Pending& mine, const Pending& free);
  /// Which default stream, where the two are of two devices.
  void tell_devices(Hazard& hazard, ValueId earlier, ValueId later) const;

  // inspect_dependents.cpp
  /// A programmatic launch against a kernel in front of it in its stream. False: they are in order.
  bool overtakes(const ir::Access& access, const Pending& mine, const Pending& earlier);

  /// The rule by which a synchronous copy or fill may still run when it has returned; empty: none, or more than one.
  [[nodiscard]] std::string returns_early(const Pending& earlier) const;
  /// In one of the rounds that are over it has touched the begin of the buffer.
  [[nodiscard]] bool begins_at_base(const Pending& earlier) const;
  /// The present op can lead to the other one again.
  [[nodiscard]] bool inside_same_loop(const Pending& earlier) const;
  [[nodiscard]] bool one_kernel_on_parts(const Pending& mine, const Pending& earlier) const;

  // inspect_host.cpp
  void host_access();
  void end_of_memory();
  /// A graph is instantiated here into what outlives this function.
  [[nodiscard]] bool graph_survives() const;
  void release_captured(ValueId memory, OpIndex use);
  void release_tensor(ValueId memory);
  void release_in_order(ValueId memory);
  void release_by_host(ValueId memory, std::optional<ordering::MemoryKind> kind);

  // inspect_handles.cpp
  void handles();
  void destroyed(const ir::Operand& written, ValueId value, bool event);
  void wait();
  /// A stream waits for its own event, where it has forked another one off and not joined it.
  void missed_join(ValueId event, ValueId waiter, const EventState& state);
  void record();
  void elapsed();
  void capture();

  // inspect_syncs.cpp
  void device_sync();
  void redundant_sync();
  void redundant_event_sync();
  void pageable_copy();

  // cause.cpp
  /// Fills cause, edge, event. `later` kUnknown: the host.
  void explain(Hazard& hazard, const Pending& earlier, ValueId later) const;
  [[nodiscard]] OpIndex too_late(const Pending& earlier, ValueId later) const;
  /// Why the two are taken for two, if that is not proved.
  void tell_belief(Hazard& hazard, ValueId one, ValueId other) const;
  void tell_event(Hazard& hazard, OpIndex edge, ValueId event) const;

  /// Some path has an order, whether or not the two streams are one. `later` kUnknown: the host.
  [[nodiscard]] bool ordered_on_some_path(const Pending& earlier, ValueId later) const;
  /// The access is one of an earlier iteration of a loop that the present op is in.
  [[nodiscard]] bool of_earlier_iteration(const Pending& earlier) const;
  /// Every path that leads here has run the earlier op.
  [[nodiscard]] bool always_after(const Pending& earlier) const;
  Hazard start(Check check, Level level) const;
  void raise(Raised raised);
  /// The two are in order: another copy of the same ops may not be.
  void note_calm(const Pending& earlier);
  /// What not all copies of an op show is true on some paths.
  void weigh_copies();

  Values& values_;
  Sets& sets_;
  Witness witness_;
  const Beliefs* beliefs_;
  bool undecided_ = false;
  std::map<std::uint32_t, std::set<OpIndex>> visited_copies_;  ///< by origin
  std::set<std::pair<std::uint32_t, std::uint32_t>> calm_;     ///< origins: later, earlier
  const Store* store_ = nullptr;
  const Order* order_ = nullptr;
  const ir::Op* op_ = nullptr;
  OpIndex index_ = kNoOp;
  std::uint32_t block_ = 0;
  std::uint32_t position_ = 0;
  std::vector<Raised> raised_;
  std::set<OpIndex> useless_waits_;  ///< told already: they wait for an event without a record
  std::vector<std::pair<ValueId, OpIndex>> waited_events_;
  std::vector<Raised> rerecords_;  ///< to be told if the event is waited for later
  std::vector<std::pair<ValueId, OpIndex>> rerecord_events_;
};

}  // namespace streamsan::analyzer
