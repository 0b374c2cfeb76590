// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The result of replaying a run without one of its waits. Plain data: collected by sync_collector.h, decided in
// sync_replay.h, put into words in explain_syncs.cpp.
//
// A SITE is one call site with one of its two effects (ordering::Cut): the host waits there, or an action in the legacy
// stream is a barrier there. Its verdict, from the strongest reason down:
//   needed    two accesses are less ordered without it, or nothing else waits for some work before the program ends;
//   narrower  the same, but something that orders less has been put in its place, and that replay was clean;
//   unknown   the host may have done something because of it that no trace can show;
//   timing    only the reading of a clock, or of the time between two events, needs it;
//   unneeded  none of these.
// The verdict unneeded holds for this run only, and only if all of it was seen; otherwise the verdict is unknown.
//
// GROUPS. Two waits in a row are each unneeded as long as the other one stays. So all that are unneeded are left out
// together, too. If some must be put back for that replay to be clean, they form a group with those that could replace
// them; the others are removable. The same replay also makes the narrower replacements.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "judge/handles.h"
#include "ordering/what_if.h"
#include "report/common/words.h"

namespace streamsan::judge {

using SyncVerdict = report::Verdict;
/// What a synchronising call is.
using SyncKind = report::Waits;

/// A call that does nothing but wait.
constexpr bool is_explicit(SyncKind kind) {
  return kind == SyncKind::Device || kind == SyncKind::Stream || kind == SyncKind::Event;
}

/// Two accesses that the site alone orders; all of the same two places and streams are one.
struct SyncPair {
  ordering::HazardKind kind{};
  ordering::Certainty certainty = ordering::Certainty::Certain;
  ordering::PairOrder order = ordering::PairOrder::Unordered;  ///< without the site
  ordering::Access earlier;
  ordering::Access later;
  ordering::AllocationInfo allocation;
  // Handles may be destroyed and recycled before the report is made.
  StreamLife earlier_stream;
  StreamLife later_stream;
  std::uint64_t count = 1;
};

/// An unseen action of the host that the site may have allowed. All of the same place and reason are one.
struct SyncExposure {
  ordering::Exposure::Why why{};
  ordering::SiteId site{};  ///< of the operation
  ordering::StreamId stream{};
  StreamLife stream_life;
  ordering::MemoryKind memory = ordering::MemoryKind::Pageable;
  bool comes_after = false;  ///< as in ordering::Exposure
  std::uint64_t count = 1;
};

/// Order that would do in place of a site, proved by replay.
struct SyncReplacement {
  std::vector<ordering::Instead> instead;  ///< all of one kind; none: there is no replacement
};

struct SyncSite {
  ordering::Cut cut;
  SyncKind kind{};
  bool asynchronous = false;  ///< a copy that by its form would not wait
  StreamLife stream;          ///< that is waited for; SyncKind::Stream
  std::uint64_t calls = 0;
  std::uint64_t mattered = 0;  ///< of these, calls that had something to wait for
  std::uint64_t blocked_ns = 0;
  bool timed = false;  ///< blocked_ns is known

  std::vector<SyncPair> pairs;          ///< the first kMostPairs
  std::uint64_t more_pairs = 0;         ///< distinct ones beyond
  std::vector<SyncExposure> exposures;  ///< not refuted; the first kMostExposures
  std::uint64_t clock_reads = 0;        ///< calls that a clock was read right after
  std::string clock;                    ///< the function that read it: "clock_gettime"
  std::uint64_t event_times = 0;        ///< times that the time between two events was asked for because of it

  SyncVerdict verdict = SyncVerdict::Unknown;
  std::vector<std::string> doubts;  ///< Unknown, Needed: what speaks against more than that, for the whole run
  SyncReplacement replacement;      ///< Narrower
  std::uint32_t group = 0;
  bool removable = false;  ///< Unneeded, Narrower: changed in the replay of all such changes, which was clean

  static constexpr std::size_t kMostPairs = 64;
  static constexpr std::size_t kMostExposures = 16;
  [[nodiscard]] bool idle() const { return mattered == 0; }
  [[nodiscard]] bool waits() const { return cut.effect == ordering::Effect::Wait; }
};

/// Memory that the host left alone after an operation was submitted (trace::Kind::HostIdle): for good, or until a touch
/// that the trace tells, which then is an access like others. What the host does with it is seen either way.
struct IdleMemory {
  std::uint64_t position = 0;  ///< of the operation's record
  ordering::Range range;
  bool until_touched = false;
};

}  // namespace streamsan::judge
