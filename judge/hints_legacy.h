// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `legacy-serialisation`: work in the legacy default stream that makes independent streams wait for each other.
//
// An action in the legacy stream is after all earlier work of the blocking streams and before all their later work
// (R-STR-10). So a kernel launched without a stream between work of streams A and B ends their concurrency:
//
//        A:  before ---+
//   legacy:            +-- action --+
//        B:                         +-- after
//
// Reported for the call site of the legacy action, if it stands kFewest times between work of two blocking streams, and
// each time
//   * the host had not learned that A's work is complete, neither when the action nor when B's work was submitted;
//   * A's and B's work touch no common allocation, and the action shares none with one of the two, so that nothing
//     depends on the order, through the action either;
//   * B and the legacy stream have waited for no event in between, which would show that the program wants order.
// Actions with no work of blocking streams in between count as one. Where it is not known what was touched
// (hints_memory.h), nothing is counted.
#pragma once

#include <optional>
#include <vector>

#include "judge/hints.h"
#include "judge/hints_memory.h"

namespace streamsan::judge {

class LegacyHints : public HintSource {
 public:
  static constexpr std::uint64_t kFewest = 8;
  static constexpr std::size_t kMostStreams = 32;  ///< remembered between two actions

  void observe(const Seen& seen) override;
  void want(SiteReader& sites) const override;
  void tell(SiteReader& sites, std::vector<HintText>& out) const override;

 private:
  /// What a blocking stream was given between two actions of the legacy stream.
  struct Work {
    ordering::StreamId stream{};
    ordering::SiteId site{};  ///< of the last operation
    ordering::OpId op{};
    ordering::Moment moment;
    TouchedMemory memory;
    bool waited = false;  ///< for an event
  };
  /// Actions of the legacy stream of one context with no work of blocking streams in between.
  struct Barrier {
    ordering::StreamId legacy{};
    ordering::SiteId site{};  ///< of the first one
    ordering::OpId op{};
    TouchedMemory memory;
    bool counted = false;
    bool made = false;
    std::vector<Work> before;
    std::vector<Work> after;
  };
  struct Tally {
    ordering::SiteId site{};
    std::uint64_t times = 0;
    ordering::OpId op{};  ///< an example: the action, the work before and the work after
    Work before;
    Work after;
    StreamLife legacy;
    StreamLife before_stream;
    StreamLife after_stream;

    [[nodiscard]] bool worth_telling() const { return times >= kFewest; }
  };

  Barrier& barrier_of(ordering::ContextId context);
  void action(const Seen& seen, ordering::StreamId stream, Barrier& barrier);
  void work(const Seen& seen, ordering::StreamId stream, Barrier& barrier);
  void count(const Seen& seen, Barrier& barrier, const Work& before, const Work& after);

  std::vector<Tally> tallies_;
  ordering::FlatMap<std::uint32_t> by_site_;  ///< index in tallies_, plus one
  ordering::FlatMap<Barrier> barriers_;       ///< by context
};

}  // namespace streamsan::judge
