// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What synchronising costs, by call site: from the times of blocking calls (CallEnd, always recorded) and the times of
// operations on the GPU (GpuTime, option timings).
//
//   host   ----[submit]--[ wait ............ ]---[submit]----
//   GPU    ------------[ operation ]               [ operation ]
//                      w1          E          w2   B
//
// BLOCKED is w2 - w1: from the call to its return. Of a copy that waits it includes the copy.
//
// IDLE is the part of [E, B] in which the GPU did nothing: E is the end of the last operation that was over when the
// call returned, B the start of the next one that the same thread submitted. Had the call not waited, that operation
// would have been submitted earlier, but by no more than w2 - w1: so no more than that is counted. The time that the
// host would have needed anyway is not known, so this is an upper bound of what could be saved. A gap counts for the
// first call that waited before it. Operations of other threads and streams that keep the GPU busy are taken off.
//
// OVERLAP: operations that the thread submitted between the call and its next blocking call could have run beside those
// that the call waited for, had it not waited: for each of their streams, the time from w1, or from the end of what
// that stream already held, to E; no more than they took, and altogether no more than E - w1. None in a stream that
// would have waited anyway (the same one, or the legacy stream). Whether the GPU had room for both is not known: again
// an upper bound.
//
// Memory is bounded: operations are kept until enough have followed for their times to have come, and a call is judged
// from the few hundred operations around it; one that ran for long is not forgotten. What comes later than that is
// lost, and counted.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "judge/judge.h"

namespace streamsan::judge {

/// The cost of all calls of one site together.
struct SyncCost {
  std::uint64_t calls = 0;
  std::optional<double> blocked_ms;   ///< nothing: the trace does not tell (before format 4)
  std::optional<double> gpu_idle_ms;  ///< nothing: no operation has times
  std::optional<double> overlap_ms;   ///< likewise
};

struct TimeTotals {
  std::uint64_t operations = 0;  ///< that reach the GPU
  std::uint64_t timed = 0;       ///< of these, with times
  std::uint64_t late = 0;        ///< times that came when their operation was forgotten
  std::uint64_t calls = 0;       ///< blocking ones
  double span_ms = 0;            ///< from the first time that is known to the last
  double blocked_ms = 0;         ///< all threads together
  double gpu_busy_ms = 0;        ///< sum over operations
  double gpu_idle_ms = 0;
  double overlap_ms = 0;
};

class Times : public Observer {
 public:
  static constexpr std::size_t kPatience = std::size_t{1} << 19;  ///< operations after a call before it is judged
  static constexpr std::size_t kAround = 256;  ///< operations before and after a call that are looked at

  /// Register it with judge.add_observer(). `patience` may be smaller in tests.
  explicit Times(Judge& judge, std::size_t patience = kPatience) : judge_(judge), patience_(patience) {}

  void observe(const trace::Item& item, ordering::OpId first, ordering::OpId last) override;
  /// The trace has ended: judges what is left. Before the questions below.
  void finish();

  /// nullptr: no blocking call of this site has returned.
  [[nodiscard]] const SyncCost* cost(ordering::SiteId site) const;
  [[nodiscard]] const TimeTotals& totals() const { return totals_; }
  /// One line for people, or empty: nothing is known.
  [[nodiscard]] std::string text() const;
  /// Start and end on the GPU of the operation whose record stands there, as long as it is kept.
  [[nodiscard]] std::optional<std::pair<std::uint64_t, std::uint64_t>> gpu_time(std::uint64_t position) const;

 private:
  struct Op {
    std::uint64_t position;
    std::uint64_t start = 0;  ///< 0: no time
    std::uint64_t end = 0;
    ordering::StreamId stream{};
    std::uint16_t thread = 0;
    ordering::StreamKind kind{};
    [[nodiscard]] bool timed() const { return end != 0; }
  };
  struct Sync {
    std::uint64_t position;  ///< of its CallEnd
    std::uint64_t begin;
    std::uint64_t end;
    std::uint64_t until = UINT64_MAX;  ///< position of the thread's next blocking call
    ordering::SiteId site{};
    std::uint16_t thread = 0;
  };
  struct Pending {
    std::uint64_t position = UINT64_MAX;  ///< of the record of the call the thread is in
    ordering::SiteId site{};
    std::uint64_t last_sync = UINT64_MAX;   ///< number of its last blocking call
    std::uint64_t gap_before = UINT64_MAX;  ///< the gap in front of this operation has been counted
  };
  struct Span {
    std::uint64_t begin;
    std::uint64_t end;
  };

  void begin_call(const trace::Item& item);
  void end_call(const trace::Item& item);
  void add_operation(const trace::Item& item);
  void add_time(const trace::Record& record);
  void note_moment(std::uint64_t time);
  void judge_sync(const Sync& sync);
  void pass(std::uint64_t operations);
  [[nodiscard]] std::size_t first_after(std::uint64_t position) const;
  [[nodiscard]] std::uint64_t idle(const Sync& sync, std::size_t middle);
  [[nodiscard]] std::uint64_t overlap(const Sync& sync, std::size_t middle) const;
  [[nodiscard]] std::uint64_t busy_within(Span span, std::size_t middle) const;
  [[nodiscard]] std::size_t window_begin(std::size_t middle) const { return middle > kAround ? middle - kAround : 0; }
  [[nodiscard]] std::size_t window_end(std::size_t middle) const { return std::min(middle + kAround, ops_.size()); }
  void forget();

  Judge& judge_;
  std::size_t patience_;
  std::deque<Op> ops_;         ///< by position
  std::deque<Sync> syncs_;     ///< those not judged yet, by position
  std::uint64_t judged_ = 0;   ///< syncs that were
  std::uint64_t dropped_ = 0;  ///< operations no longer kept
  std::uint64_t passed_ = 0;   ///< operations that no further call looks at one by one
  Span longest_{};             ///< of these the one that ended last
  std::unordered_map<std::uint16_t, Pending> threads_;
  struct Sum {
    SyncCost cost;
    std::uint64_t blocked = 0;
    std::uint64_t idle = 0;
    std::uint64_t overlap = 0;
  };
  std::unordered_map<std::uint32_t, Sum> sites_;
  TimeTotals totals_;
  std::uint64_t first_moment_ = UINT64_MAX;
  std::uint64_t last_moment_ = 0;
};

}  // namespace streamsan::judge
