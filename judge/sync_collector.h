// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The first replay of a run: one variant for each wait, without that wait, all in one pass.
//
// As a sink it keeps, for each variant, the distinct pairs that are worse than in the run, and what the host may have
// done unseen. As an observer it sees what the calls are, how often they are made and how long they blocked, which of
// them are followed by the reading of a clock, and which memory the host provably left alone. It sits in the hottest
// path of a replay: a known pair costs one look-up, and a variant is dropped from the replay once enough is known about
// it.
//
// WHICH CALL THE TIME BETWEEN TWO EVENTS NEEDS: the one by which the host came to know that the second event is
// complete. For each event that measures time and was recorded last, that is looked at when a blocking call returns.
//
// What is lost: of more than kOpenEvents such events at a time the oldest is forgotten, so a call that only the time
// between events needs may be called unneeded; distinct pairs beyond SyncSite::kMostPairs are counted only. Only the
// first clock that is read after a wait is recorded: where CUDA's run-time reads that one for itself, which is rare, a
// reading of the program's behind it is not seen.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "judge/judge.h"
#include "judge/syncs.h"
#include "ordering/flat_map.h"

namespace streamsan::judge {

/// Operations for which the trace has what the host did with their host memory, by number: the ranges.
class IdleOperations {
 public:
  void add(ordering::OpId op, ordering::Range range) { ranges_[static_cast<std::uint64_t>(op)].push_back(range); }
  /// Is the exposure refuted: nothing that the host did with the memory is unseen?
  [[nodiscard]] bool refutes(const ordering::Exposure& exposure) const;

 private:
  ordering::FlatMap<std::vector<ordering::Range>> ranges_;
};

class SyncCollector final : public ordering::WhatIfSink, public Observer {
 public:
  /// `idle`: of the whole trace, by position.
  explicit SyncCollector(std::span<const IdleMemory> idle) : idle_(idle) {}
  /// The judge that is observed; before its first record.
  void watch(Judge& judge) { judge_ = &judge; }

  void variant(ordering::VariantId variant, const ordering::Cut& cut) override;
  void mattered(ordering::VariantId variant, ordering::OpId call) override;
  void pair(const ordering::Pair& pair) override;
  void exposed(const ordering::Exposure& exposure) override;
  [[nodiscard]] bool settled(ordering::VariantId variant) const override {
    return variant < variants_.size() && variants_[variant].settled;
  }
  void observe(const trace::Item& item, ordering::OpId first, ordering::OpId last) override;

  /// After the end: where clocks were read right after a wait, each place once.
  [[nodiscard]] std::vector<ordering::SiteId> clock_sites() const;
  /// After the end: the sites in the order in which they were met, without verdicts. Barriers that had nothing to order
  /// are none. Clocks read at one of the places `not_counted` are nobody's reason to wait.
  std::vector<SyncSite> take(std::span<const ordering::SiteId> not_counted);
  [[nodiscard]] const IdleOperations& idle_operations() const { return idle_operations_; }
  /// Threads that made calls which block.
  [[nodiscard]] std::size_t blocked_threads() const { return blocking_.size(); }
  /// Launches of which not all bytes were known.
  [[nodiscard]] std::uint64_t inferred_launches() const { return inferred_launches_; }

 private:
  struct Variant {
    SyncSite site;
    std::uint64_t pairs = 0;
    std::uint64_t pairs_at_newest = 0;  ///< value of `pairs` when the last new one was met
    bool settled = false;
  };
  struct ClockReads {
    ordering::SiteId site{};
    std::string function;
    std::uint64_t calls = 0;
  };
  /// What is seen of a call site, whether or not the model makes a variant of it.
  struct Seen {
    SyncKind kind{};
    bool asynchronous = false;
    StreamLife stream;
    std::uint64_t calls = 0;
    std::uint64_t blocked_ns = 0;
    bool timed = false;
    std::vector<ClockReads> clocks;  ///< by place; of more than kMostClocks, the others are the last one's
    std::uint64_t event_times = 0;
    std::uint64_t record_times = 0;  ///< of events recorded in the legacy stream
  };
  struct Blocking {
    std::uint64_t position = 0;
    ordering::SiteId site{};
    std::vector<ordering::SiteId> before;  ///< others that blocked since the thread last submitted something
    bool submitted = false;                ///< the thread has submitted something since
  };
  static constexpr std::size_t kMostBefore = 16;
  static constexpr std::size_t kMostClocks = 16;
  static constexpr std::size_t kOpenEvents = 64;
  ordering::FlatMap<std::uint32_t> recorded_at_;  ///< event -> site of its last record, if in the legacy stream

  static constexpr std::uint64_t kPairsUntilSettled = 4096;  ///< without a new one among them

  Seen& see(const trace::Record& record, SyncKind kind, std::uint32_t kernel = 0);
  void blocks(const trace::Item& item, SyncKind kind);
  void call_end(const trace::Item& item);
  void clock_read(const trace::Item& item);
  void event_time(const trace::Record& record);

  Judge* judge_ = nullptr;
  std::span<const IdleMemory> idle_;
  IdleOperations idle_operations_;
  std::vector<Variant> variants_;           ///< by number; the first is the base
  ordering::FlatMap<std::uint32_t> pairs_;  ///< key of pair and variant -> index in SyncSite::pairs, plus one
  ordering::FlatMap<std::uint32_t> exposures_;
  ordering::FlatMap<Seen> seen_;               ///< by site
  ordering::FlatMap<Blocking> blocking_;       ///< thread -> its last blocking call
  ordering::FlatMap<bool> untimed_;            ///< raw handles of events that measure no time
  std::deque<ordering::EventId> open_events_;  ///< recorded, and not known to be complete
  ordering::FlatMap<std::uint32_t> known_by_;  ///< event -> site of the call from which the host learned of it
  std::uint64_t inferred_launches_ = 0;
};

}  // namespace streamsan::judge
