// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contexts: the scope of the legacy default stream and of a context-wide synchronisation.
//
// Naive specification of the legacy barrier (R-STR-10), for an action in the legacy stream L of a context:
//     for every blocking stream s of the context, also destroyed ones:  C_L := max(C_L, C_s)
//     (the action)
//     for every blocking stream s, also those made later:               C_s := max(C_s, C_L)
// A program that uses the default stream would run both loops for every kernel, over all blocking streams, most of them
// idle. Here both loops are lazy:
//   * a blocking stream that has done something since it was last gathered is on a list; an action gathers the list
//     into one clock and joins that, so a run of legacy actions costs O(1) each;
//   * an action only counts up the barrier; a blocking stream that is behind joins C_L at its next operation.
// Joining late is only right while C_L stands as the action left it. The legacy stream also runs operations that are
// not actions (R-STR-17: a stream-ordered allocation; a wait on a never-recorded event). Before the first of those, C_L
// is saved for the streams that have yet to join it.
//
// VARIANTS (what_if.h). If some variants leave out the barrier of an action, later streams do not join C_L but a
// separate barrier clock. After each action, that clock joins the part of C_L that the action orders in each variant.
//
// A WAIT OF THE WHOLE CONTEXT (R-EVT-18) joins one clock of the context, which each stream that is behind joins at its
// next operation, as it does a barrier. What synchronisations cover has that clock in it at once.
//
// Synchronising with the legacy stream (R-STR-16) reads the gathered clock and moves no barrier. A destroyed stream is
// gathered at once (R-STR-20). A context-wide synchronisation gathers all streams in the same way.
#pragma once

#include <cstdint>
#include <vector>

#include "ordering/flat_map.h"
#include "ordering/lanes.h"
#include "ordering/two_clocks.h"
#include "ordering/types.h"

namespace streamsan::ordering {

/// The joined clock of a set of streams, brought up to date on demand.
class Gathered {
 public:
  void add(LaneSlot slot) { behind_.push_back(slot); }
  /// Brings the clock up to date. `behind` is the flag of a lane that says it is on the list.
  const TwoClocks& gather(Lanes& lanes, bool Lane::* behind) {
    for (const LaneSlot slot : behind_) {
      clock_.join(lanes[slot].clock);
      lanes[slot].*behind = false;
    }
    if (!behind_.empty()) ++version_;
    behind_.clear();
    return clock_;
  }
  /// What is no stream's alone.
  void add(const TwoClocks& more) {
    clock_.join(more);
    ++version_;
  }
  [[nodiscard]] std::uint64_t version() const { return version_; }
  /// Whether the next gather() may find more.
  [[nodiscard]] bool is_behind() const { return !behind_.empty(); }

 private:
  TwoClocks clock_;
  std::vector<LaneSlot> behind_;
  std::uint64_t version_ = 0;
};

struct Context {
  static constexpr LaneSlot kNone = ~LaneSlot{0};

  ContextId id{};
  LaneSlot legacy = kNone;
  FlatMap<StreamId> per_thread;  ///< by thread
  LaneSlot recorder = kNone;     ///< of events that capture the whole context

  TwoClocks waited_for;     ///< what all later work comes after
  std::uint64_t waits = 0;  ///< how often that grew

  Gathered all;
  Gathered blocking;
  std::uint64_t joined_blocking_version = 0;  ///< what the legacy stream has joined

  std::uint64_t barriers = 0;      ///< actions of the legacy stream so far
  bool barrier_put_aside = false;  ///< the legacy stream has moved on since the last action
  TwoClocks barrier;               ///< its clock at that action, if so; with variants: what all actions so far give

  // With variants: the last action has yet to be added to the barrier, by these programs.
  bool barrier_pending = false;
  bool made_in_base = true;
  std::vector<VariantId> made_by_others;
};

enum class LegacyRole : std::uint8_t { Action, NoAction };

class Contexts {
 public:
  explicit Contexts(Lanes& lanes) : lanes_(lanes) {}

  std::uint32_t index_of(ContextId id);
  [[nodiscard]] Context& operator[](std::uint32_t index) { return contexts_[index]; }
  [[nodiscard]] std::size_t size() const { return contexts_.size(); }

  /// The next operation of the stream begins: joins what the legacy barrier orders before it.
  void enter(Lane& lane, LegacyRole role);
  /// The same with variants. `among`: who has the barrier that an action in the legacy stream makes.
  void enter(Lane& lane, LegacyRole role, const Among& among);
  /// Whether the next operation of the stream may come after other streams' work by the legacy barrier.
  [[nodiscard]] bool has_news_for(const Lane& lane) const;
  /// The stream's clock has changed outside of its operations.
  void changed(Lane& lane) {
    const bool noted = lane.behind_all && (lane.behind_blocking || lane.kind == StreamKind::NonBlocking);
    if (!noted) note_change(lane);
  }
  /// The stream is about to be destroyed: keeps its clock for those that must still come after it.
  void leave(Lane& lane);

  /// Puts what the clock covers before all later work of the context.
  void wait(std::uint32_t index, const TwoClocks& captured);

  /// R-STR-16: what a synchronisation with the stream covers.
  [[nodiscard]] TwoClocks covered_by(const Lane& lane);
  /// Puts everything submitted so far, in any context, before the stream's later operations.
  void join_everything(Lane& lane);

  /// R-SYN-03: what a synchronisation with the context covers.
  [[nodiscard]] const TwoClocks& everything(std::uint32_t index) {
    return contexts_[index].all.gather(lanes_, &Lane::behind_all);
  }

 private:
  inline void join_waits(Lane& lane, const Context& context);
  void note_change(Lane& lane);
  void add_to_barrier(Context& context);

  Lanes& lanes_;
  std::vector<Context> contexts_;
  FlatMap<std::uint32_t> indices_;
};

}  // namespace streamsan::ordering
