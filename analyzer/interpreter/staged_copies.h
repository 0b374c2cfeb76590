// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Captured copies whose memory of the host has become somebody else's, or is gone.
//
// A copy from host memory that is captured keeps the address, not the bytes: each launch of the graph reads what lies
// there by then. Where the block goes back to a pool when the capture is over, the next user captures a copy of its own
// from it, and from then on the first graph copies that user's bytes. Nothing is unordered in that: every launch comes
// behind the write. So the fault shows only in what the bytes were written for:
//
//     host writes P; captured: copy P -> A        (graph G)
//     host writes P; captured: copy P -> B        (graph H) the second write was for B
//     launch G                                    A gets what was written for B
//
// Two graphs may share one input on purpose. So it counts only if P has other bytes by then than when G was captured,
// the second write is the last one, and G was launched before: what is launched once may be there to warm up. A copy
// that is not captured shows nothing: a frame may be written for a preview and for a graph. Errs to say nothing.
//
// Where the memory was freed there is no such doubt: each launch from then on uses what is nobody's. (The order model
// keeps no host memory that was freed, ordering/freed_lives.h: its addresses come again. Those of an interpreted
// program do not.) Variables of a function that has returned are left out, and copies of three dimensions.
//
// Each call that captures a copy has a site of its own, so a copy that is captured again is another one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "ordering/hazard.h"
#include "ordering/types.h"

namespace streamsan::analyzer::interpreter {

struct OvertakenCopy {
  ordering::SiteId copy{};      ///< the captured one
  ordering::SiteId written{};   ///< where the host wrote its source again
  ordering::SiteId used_by{};   ///< the copy that this was for
  ordering::SiteId launched{};  ///< where the graph was launched after it
};

/// Host memory of a captured copy that is gone.
struct FreedSide {
  ordering::AllocationInfo memory;
  ordering::Range bytes;  ///< of the copy
  bool written = false;   ///< by the copy
  ordering::SiteId freed{};
};

class StagedCopies {
 public:
  /// Is any copy kept?
  [[nodiscard]] bool any() const { return !sides_.empty() || !captured_.empty(); }
  /// The captured copy uses these bytes of the host's.
  void keeps(ordering::SiteId copy, ordering::Range bytes, bool written);
  void freed(const ordering::AllocationInfo& memory, ordering::SiteId site);
  /// The freed side of a captured copy that is launched. Each is reported once.
  std::optional<FreedSide> freed_side(ordering::SiteId copy);
  /// Into a graph. `bytes`: a hash of those at the source.
  void captured(ordering::SiteId site, ordering::Range source, std::uint64_t destination, std::uint64_t bytes);
  /// By the host, as the program goes. Without a site in another way: who it is for is not known.
  void written(ordering::Range range, std::optional<ordering::SiteId> site);
  /// A graph that has the captured copy is launched. `bytes`: the hash of those at a place. Reported once.
  std::optional<OvertakenCopy> launched(ordering::SiteId copy, ordering::SiteId launch,
                                        const std::function<std::uint64_t(ordering::Range)>& bytes);

 private:
  struct Captured {
    ordering::Range source{};
    std::uint64_t destination = 0, bytes = 0;
    std::optional<ordering::SiteId> written, used_by;  ///< since it was captured
    int launches = 0;                                  ///< since then, with other bytes
    bool reported = false;
  };
  std::map<ordering::SiteId, Captured> captured_;
  std::map<ordering::SiteId, std::vector<FreedSide>> sides_;  ///< `freed`: none yet
};

}  // namespace streamsan::analyzer::interpreter
