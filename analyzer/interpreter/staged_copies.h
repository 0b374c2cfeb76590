// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Captured copies whose source has become somebody else's.
//
// A copy from host memory that is captured keeps the address, not the bytes: each launch of the graph reads what lies there
// by then. Where the block goes back to a pool when the capture is over, the next user writes to it for a copy of its own,
// and from then on the graph copies that user's bytes. Nothing is unordered in that: every launch comes behind the write. So
// it is told by what the bytes were written for:
//
//     host writes P; captured: copy P -> A        (graph G)
//     host writes P; copy P -> B                  the second write was for B
//     launch G                                    A gets what was written for B
//
// Whoever means to give a graph new input writes it, and launches: a write after the other copy ends the suspicion. Where
// that copy is of another graph, both have just been captured, and the first launch may be there to warm up.
#pragma once

#include <map>
#include <optional>

#include "ordering/types.h"

namespace streamsan::analyzer::interpreter {

struct OvertakenCopy {
  ordering::SiteId copy{};      ///< the captured one
  ordering::SiteId written{};   ///< where the host wrote its source again
  ordering::SiteId used_by{};   ///< the copy that this was for
  ordering::SiteId launched{};  ///< where the graph was launched after it
};

class StagedCopies {
 public:
  /// `captured`: into a graph; else it is done as the program goes.
  void copied(ordering::SiteId site, ordering::Range source, std::uint64_t destination, bool captured);
  void written(ordering::Range range, ordering::SiteId site);
  /// A graph that has the captured copy is launched. Reported once.
  std::optional<OvertakenCopy> launched(ordering::SiteId copy, ordering::SiteId launch);

 private:
  struct Captured {
    ordering::Range source{};
    std::uint64_t destination = 0;
    std::optional<ordering::SiteId> written, used_by;  ///< since it was captured
    int launches_for_nothing = 0;                      ///< to come
    bool reported = false;
  };
  std::map<ordering::SiteId, Captured> captured_;
};

}  // namespace streamsan::analyzer::interpreter
