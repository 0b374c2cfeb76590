// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The effect of one op: it changes the order before the op into the order after it. Private to order_*.cpp.
//
// The rules are those of docs/model.md; their ids stand at the code. By family: order_step.cpp (events,
// synchronisation), order_work.cpp (enqueued work, what the host waits for with it, and what programmatic launches
// overtake), order_memory.cpp (allocations, frees, and what unknown code may do), order_thread.cpp (what the host
// thread has set).
//
// While a stream is captured nothing is added: the work does not run now, and whether it ever does is not modelled.
#pragma once

#include "analyzer/analysis/order.h"

namespace streamsan::analyzer {

/// A token of programmatic launches (order_dependents.cpp).
constexpr bool is_token_of(std::uint32_t token, Order::Dependent part) {
  return token != kHost && token >= kDependents && (token % 2 == 0) == (part == Order::Dependent::Start);
}

class OrderStep {
 public:
  OrderStep(Values& values, Sets& sets, const Store& store, Order& order, OpIndex index)
      : values_(values), sets_(sets), store_(store), order_(order), index_(index), op_(values.op(index)) {}

  void run();

 private:
  template <typename Predicate>
  void perhaps_host(Predicate predicate) {
    for (Pending& p : order_.pending_)
      if (!over(p) && predicate(p)) p.may = sets_.add(p.may, kHost);
  }
  /// The host has waited for it. The host's token stands for all: such an access, a tombstone, has no other token.
  void surely_host(Pending& p) { p.must = p.may = sets_.one(kHost); }
  [[nodiscard]] bool over(const Pending& p) const { return sets_.has(p.must, kHost); }
  ValueId stream() { return order_.stream_of(values_, store_, index_); }
  bool surely(const Pending& p, ValueId stream) const { return order_.surely_before(values_, sets_, p.must, stream); }
  bool perhaps(const Pending& p, ValueId stream) const {
    return stream == kUnknown || order_.perhaps_before(values_, sets_, p.may, stream);
  }
  bool surely_recorded(const Pending& p, ValueId event) const {
    return values_.precise(event) && sets_.has(p.must, event_token(event));
  }
  bool perhaps_recorded(const Pending& p, ValueId event) const;
  void note_edge(Pending& p) {
    constexpr std::size_t kMost = 16;  // They serve explanations, and the first ones explain most.
    if (sets_[p.since].size() < kMost) p.since = sets_.add(p.since, index_);
  }
  /// R-STR-10: an action in the legacy stream waits for the blocking streams, and they wait for it.
  void barrier(ValueId stream);
  /// New work on the stream: synchronisations before it do not cover it.
  void disturb(ValueId stream);
  /// Something may depend on the last record of the event.
  void use(ValueId event);
  void insert(const Pending& added) { streamsan::analyzer::insert(order_.pending_, added); }
  /// An access of this op without an ir::Access.
  Pending fresh(std::uint16_t access, ValueId pointer, ValueId stream);
  void enqueue();
  /// Work that is captured: it does not run, but becomes part of a graph.
  void capture_work(ValueId stream);
  void capture_wait(ValueId stream, ValueId event);
  /// A message-passing library begins to use memory (post), or the host has waited for it (complete).
  void post();
  void complete();
  bool complete_at_return();
  /// A synchronous call waits, or may wait, for earlier work of its stream.
  void host_waits_for_earlier(ValueId stream);
  /// Even an asynchronous copy may make the host wait, and then also for earlier work of its stream.
  void copy_waits(ValueId stream);
  /// Adds the host to the new access, if the access is complete when the call returns.
  void host_side(Pending& p, const ir::Access& access);
  /// From now on the event may have been recorded, here or by code that has the event.
  void recorded(ValueId event);
  void record();
  void wait();
  /// Keeps the edge of this op for cause.cpp.
  void remember(ValueId stream, ValueId event);
  void sync_stream(ValueId stream);
  void sync_event();
  void sync_device();
  void query();
  void destroy();
  void allocate();
  void forget_memory(ValueId memory);
  /// A tensor ends: its block goes back in the order of its home stream.
  void return_block(ValueId memory, ValueId home);
  /// Today's driver makes the host wait for all pending accesses here, by an assumed rule.
  void lean_all(ordering::Rule rule);
  /// Keeps work of a group back: it is enqueued at the end of the group.
  void hold_back(ValueId stream);
  void release();
  void group_begin();
  void group_end();
  void set_device();
  /// The op has made a handle, which belongs to the current device.
  void made();
  void swap_capture_mode();
  void free();
  void give_back();
  void keep_alive();
  void escape();
  /// Does this op record an event that was made without timing?
  [[nodiscard]] bool records_without_timing();
  /// What stands in front of a programmatic launch. Record: the record of an event without timing.
  enum class Behind : std::uint8_t { Work, Record };
  /// All work in front of this op in the stream comes before the programmatic launches behind it.
  void full_edge(ValueId stream, Behind behind = Behind::Work);
  /// The op is a programmatic launch in the stream.
  void overtake(ValueId stream);

  Values& values_;
  Sets& sets_;
  const Store& store_;
  Order& order_;
  OpIndex index_;
  const ir::Op& op_;
};

}  // namespace streamsan::analyzer
