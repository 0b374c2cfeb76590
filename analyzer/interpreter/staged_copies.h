// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Captured copies whose host memory was given to another user, or was freed.
//
// A captured copy from host memory keeps the address, not the bytes: each launch of the graph reads the bytes that are
// there by then. If the block goes back to a pool after the capture, the next user may capture a copy from the same
// block, and from then on the first graph copies that user's bytes. All of it is ordered: every launch comes after the
// write. So the error shows only in the purpose of the bytes:
//
//     host writes P; captured: copy P -> A        (graph G)
//     host writes P; captured: copy P -> B        (graph H) the second write was for B
//     launch G                                    A gets what was written for B
//
// Two graphs may share one input on purpose. So it counts only if P has other bytes at the launch than when G was
// captured, the second write is the last one, and G was launched before: a single launch may be for warming up. A copy
// that is not captured does not count: a frame may be written for a preview and for a graph. Errs to silence.
//
// If the memory was freed there is no such doubt: each later launch uses freed memory. (The order model does not keep
// freed host memory, ordering/freed_lives.h, because its addresses are used again. Those of an interpreted program are
// not.) Variables of a function that has returned are left out, and copies of three dimensions.
//
// Each call that captures a copy has its own site, so a copy that is captured again is another copy.
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
  ordering::SiteId used_by{};   ///< the copy that this write was for
  ordering::SiteId launched{};  ///< where the graph was launched after it
};

/// Freed host memory of a captured copy.
struct FreedSide {
  ordering::AllocationInfo memory;
  ordering::Range bytes;  ///< the bytes that the copy uses
  bool written = false;   ///< the copy writes them
  ordering::SiteId freed{};
};

class StagedCopies {
 public:
  /// There are captured copies.
  [[nodiscard]] bool any() const { return !sides_.empty() || !captured_.empty(); }
  /// The captured copy uses these host bytes.
  void keeps(ordering::SiteId copy, ordering::Range bytes, bool written);
  void freed(const ordering::AllocationInfo& memory, ordering::SiteId site);
  /// The freed side of a captured copy that is launched. Each is reported once.
  std::optional<FreedSide> freed_side(ordering::SiteId copy);
  /// A copy was captured into a graph. `bytes`: a hash of the bytes at the source.
  void captured(ordering::SiteId site, ordering::Range source, std::uint64_t destination, std::uint64_t bytes);
  /// The range was written: at a site by the host; without a site by other means, for an unknown purpose.
  void written(ordering::Range range, std::optional<ordering::SiteId> site);
  /// A graph with the captured copy is launched. `bytes`: hashes the bytes in a range. Each copy is reported once.
  std::optional<OvertakenCopy> launched(ordering::SiteId copy, ordering::SiteId launch,
                                        const std::function<std::uint64_t(ordering::Range)>& bytes);

 private:
  struct Captured {
    ordering::Range source{};
    std::uint64_t destination = 0, bytes = 0;
    std::optional<ordering::SiteId> written, used_by;  ///< both since the capture
    int launches = 0;                                  ///< since the capture, with other bytes
    bool reported = false;
  };
  std::map<ordering::SiteId, Captured> captured_;
  std::map<ordering::SiteId, std::vector<FreedSide>> sides_;  ///< `freed` is unset until the memory is freed
};

}  // namespace streamsan::analyzer::interpreter
