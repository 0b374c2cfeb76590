// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `pageable-copy`: asynchronous copies from or to pageable host memory, which are not as asynchronous as they look.
//
// The driver stages such a copy through a pinned buffer of its own, at half the speed or less, and the host takes part
// in it (R-CPY-13); one to the host returns when it is complete (R-CPY-14): a synchronisation that nobody wrote.
// Reported for a place of the program that makes such copies repeatedly while it works, for one of two reasons:
//   * BYTES. Copies of more than kStagedAtOnce bytes, kFewestTurns of them with kernels in between, kLeastBytes in all.
//     A set-up that uploads weights has no kernels between its copies; pinning memory for one use costs more than it
//     saves.
//   * WAITS. Copies to the host, however small, after which the thread goes on to launch kernels without having waited:
//     kFewestWaits of them. Where a synchronisation follows (the value is wanted now) the wait costs nothing, and
//     nothing is said: loss.item() is no hint.
//
// Memory that the model does not know counts as pageable; of the copy's two sides the other one must be device memory.
#pragma once

#include <vector>

#include "judge/hints.h"
#include "judge/pageable.h"

namespace streamsan::judge {

class CopyHints : public HintSource {
 public:
  static constexpr std::uint64_t kFewestTurns = 4;
  static constexpr std::uint64_t kLeastBytes = 16 << 20;  ///< cost a millisecond more than pinned
  static constexpr std::uint64_t kFewestWaits = 16;

  void observe(const Seen& seen) override;
  void want(SiteReader& sites) const override;
  void tell(SiteReader& sites, std::vector<HintText>& out) const override;

 private:
  /// The copies of one place of the program.
  struct Tally {
    ordering::SiteId site{};
    StreamLife stream;
    ordering::OpId first{};
    bool to_device = false;
    std::uint64_t copies = 0;
    std::uint64_t bytes = 0;
    std::uint64_t large = 0;  ///< copies of more than kStagedAtOnce
    std::uint64_t large_bytes = 0;
    std::uint64_t turns = 0;         ///< of these, with kernels since the one before
    std::uint64_t last_kernels = 0;  ///< Seen::kernels at the last large one
    std::uint64_t waits = 0;
    std::uint64_t timed_bytes = 0;  ///< of copies whose time on the GPU is known
    std::uint64_t gpu_time = 0;     ///< nanoseconds

    [[nodiscard]] bool many_bytes() const { return turns >= kFewestTurns && large_bytes >= kLeastBytes; }
    [[nodiscard]] bool many_waits() const { return waits >= kFewestWaits; }
  };

  /// A copy whose time may become known later.
  struct Untimed {
    std::uint32_t tally = 0;
    std::uint64_t bytes = 0;
  };
  static constexpr std::size_t kMostUntimed = 1 << 16;

  void copy(const Seen& seen);
  void timed(const trace::Record& record);

  std::vector<Tally> tallies_;
  ordering::FlatMap<std::uint32_t> by_site_;    ///< index in tallies_, plus one
  ordering::FlatMap<std::uint32_t> downloads_;  ///< by thread: its last copy to the host, as in by_site_, unless
                                                ///< waited for
  ordering::FlatMap<Untimed> untimed_;          ///< by position
};

}  // namespace streamsan::judge
