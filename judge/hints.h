// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hints: what a program does that costs time, proved by numbers of the very run (docs/hints.md).
//
// A hint is advice, not a bug. So it needs two things: proof in the trace (counts, bytes and times), and a cost above a
// threshold, which each source defines. What a program does once, or before its work begins, is no hint. What CUDA's
// own libraries do internally is no hint either, but one line of the details.
//
// Each SOURCE watches the records for one or two kinds of hints and keeps a tally for each place of the program:
// hints_copies.h, hints_lives.h, hints_pieces.h,
// hints_legacy.h, hints_overlap.h, hints_events.h. This file feeds them records, collects their hints and ranks them.
//
// Bounded: by the places of the program, by its live allocations, streams and events, and by
// OverlapHints::kMostStreams.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "judge/judge.h"
#include "judge/site_reader.h"
#include "judge/symbolizer.h"
#include "report/finding.h"
#include "trace/reader.h"

namespace streamsan::judge {

/// A record, after the judge has taken it.
struct Seen {
  const trace::Item& item;
  ordering::OpId first{};  ///< first > last: the record made no operation
  ordering::OpId last{};
  std::uint64_t kernels = 0;  ///< launches of kernels and graphs that were executed before this record
  Judge& judge;

  [[nodiscard]] const trace::Record& record() const { return *item.record; }
  [[nodiscard]] bool made_operation() const { return first <= last; }
};

/// Does the record, which made an operation, bring work (and not only order) into a stream?
constexpr bool is_work(trace::Kind kind) {
  return kind == trace::Kind::Launch || kind == trace::Kind::GraphLaunch || kind == trace::Kind::Copy ||
         kind == trace::Kind::Fill;
}
constexpr bool is_kernel(trace::Kind kind) { return kind == trace::Kind::Launch || kind == trace::Kind::GraphLaunch; }

/// The place of an operation, with the kernel's name for a launch.
ordering::SiteId site_of(const Seen& seen);

/// What was called or launched there: "cudaMemset", "kernel step(float*)".
std::string action_of(SiteReader& sites, ordering::SiteId site);

/// "512 bytes", "64 KiB", "1.5 MiB".
std::string bytes_text(std::uint64_t bytes);
/// Does the thread wait for something itself, or learn that it is done?
bool waits(const trace::Record& record);
/// "45 us", "12.3 ms", "1.5 s".
std::string time_text(std::uint64_t nanoseconds);

/// An operation to be shown with its stack.
struct Shown {
  ordering::SiteId site{};
  std::optional<StreamLife> stream{};  ///< none: not known
  ordering::OpId op{};                 ///< kNoOp: none
};

/// A hint in words. `where`: the first one is the place that it is about.
struct HintText {
  report::Hazard hazard{};
  double microseconds = 0;  ///< what it costs, roughly; for the ranking only
  std::string message;
  std::string evidence;
  std::string fix;
  std::vector<Shown> where;
  /// Another hint at one of these places makes this one superfluous.
  std::vector<ordering::SiteId> unless_reported;
};

class HintSource {
 public:
  virtual ~HintSource() = default;
  virtual void observe(const Seen& seen) = 0;
  /// The sites that tell() will ask for.
  virtual void want(SiteReader& sites) const = 0;
  virtual void tell(SiteReader& sites, std::vector<HintText>& out) const = 0;
};

/// How long blocking calls took: remembers which call a thread is in.
class BlockedCalls {
 public:
  /// The record is a call whose end will be recorded; `owner` is any number.
  void began(const trace::Item& item, std::uint32_t owner);
  struct Ended {
    std::uint32_t owner = 0;
    std::uint64_t nanoseconds = 0;
  };
  /// A CallEnd: the owner, if the call began here and its times are recorded.
  std::optional<Ended> ended(const trace::Item& item);

 private:
  struct Call {
    std::uint64_t position = 0;  ///< plus one; 0: none
    std::uint32_t owner = 0;
  };
  ordering::FlatMap<Call> calls_;  ///< by thread
};

struct Hinted {
  std::vector<report::Finding> findings;  ///< the costliest first
  std::string in_libraries;               ///< hints about calls inside libraries, one line; empty: none
};

class Hints : public Observer {
 public:
  /// `knows_event_times`: the trace would tell if the program asked for the time between two events.
  Hints(Judge& judge, bool knows_event_times);
  ~Hints() override;

  void observe(const trace::Item& item, ordering::OpId first, ordering::OpId last) override;
  /// `whole_run`: nothing of the run is missing from the trace.
  Hinted explain(Symbolizer& symbolizer, bool whole_run = true);

 private:
  Judge& judge_;
  std::uint64_t kernels_ = 0;
  std::vector<std::unique_ptr<HintSource>> sources_;
  std::vector<std::unique_ptr<HintSource>> of_order_;  ///< speak only where all order is seen
  std::unique_ptr<HintSource> events_;                 ///< speaks of what never happened, and so only of whole runs
};

}  // namespace streamsan::judge
