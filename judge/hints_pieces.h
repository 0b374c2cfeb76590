// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `copy-in-pieces`: many small copies where one would do.
//
// A copy costs a few microseconds, even if it is small. Reported for a place that makes RUNS of copies, all of the same
// few bytes (up to kLargestPiece), at equal distances in source and destination, and without another call of the thread
// in between: one copy does the same, or one with a pitch. kShortestRun copies make a run, and
// kFewestSpared copies must be spared in all. If the host writes each piece into the same buffer first, the distance is
// zero, and nothing is reported.
#pragma once

#include <vector>

#include "judge/hints.h"

namespace streamsan::judge {

class PieceHints : public HintSource {
 public:
  static constexpr std::uint64_t kLargestPiece = 64 << 10;
  static constexpr std::uint64_t kShortestRun = 8;
  static constexpr std::uint64_t kFewestSpared = 256;

  void observe(const Seen& seen) override;
  void want(SiteReader& sites) const override;
  void tell(SiteReader& sites, std::vector<HintText>& out) const override;

 private:
  struct Tally {
    ordering::SiteId site{};
    StreamLife stream;
    ordering::OpId first{};
    std::uint64_t copies = 0;  ///< those in runs
    std::uint64_t runs = 0;
    std::uint64_t longest = 0;
    std::uint64_t bytes = 0;  ///< of a piece, in the longest run
    bool pitched = false;     ///< some run leaves gaps on a side

    [[nodiscard]] bool worth_telling() const { return copies - runs >= kFewestSpared; }
  };
  /// What a thread is at.
  struct Run {
    ordering::SiteId site{};
    ordering::StreamId stream{};
    StreamLife life;
    ordering::OpId first{};
    std::uint64_t dst = 0;
    std::uint64_t src = 0;
    std::uint64_t bytes = 0;
    std::uint64_t dst_step = 0;
    std::uint64_t src_step = 0;
    std::uint64_t length = 0;  ///< 0: at none
  };

  void copy(const Seen& seen);
  void end(Run& run);
  static void add(const Run& run, Tally& tally);
  /// With the runs that are not over.
  [[nodiscard]] std::vector<Tally> all() const;

  std::vector<Tally> tallies_;
  ordering::FlatMap<std::uint32_t> by_site_;  ///< index in tallies_, plus one
  ordering::FlatMap<Run> runs_;               ///< by thread
};

}  // namespace streamsan::judge
