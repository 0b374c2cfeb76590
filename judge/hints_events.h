// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `timing-event`: events made to measure time that only make order.
//
// Unless it was created with cudaEventDisableTiming, each record of an event writes a time stamp, and a wait for it
// takes longer. Reported for a place that creates events if in the whole run these are recorded kFewest times and
// waited for kFewest times, and the program never asks for the time of any of them. That needs a complete trace of a
// recorder that writes EventTime records. Events of other processes, and records and waits inside of a capture, do not
// count.
#pragma once

#include <vector>

#include "judge/hints.h"

namespace streamsan::judge {

class EventHints : public HintSource {
 public:
  static constexpr std::uint64_t kFewest = 1000;  ///< cost a millisecond

  void observe(const Seen& seen) override;
  void want(SiteReader& sites) const override;
  void tell(SiteReader& sites, std::vector<HintText>& out) const override;

 private:
  /// The events of one place of the program that creates events with timing.
  struct Tally {
    ordering::SiteId site{};
    std::uint64_t created = 0;
    std::uint64_t records = 0;
    std::uint64_t stream_waits = 0;
    std::uint64_t host_waits = 0;  ///< queries that succeeded as well
    bool timed = false;
    ordering::SiteId record{};  ///< where one was recorded first

    [[nodiscard]] bool worth_telling() const {
      return !timed && records >= kFewest && stream_waits + host_waits >= kFewest;
    }
  };

  void created(const Seen& seen);
  [[nodiscard]] Tally* of(std::uint64_t event);

  std::vector<Tally> tallies_;
  ordering::FlatMap<std::uint32_t> by_site_;  ///< index in tallies_, plus one
  ordering::FlatMap<std::uint32_t> events_;   ///< by handle, the same
};

}  // namespace streamsan::judge
