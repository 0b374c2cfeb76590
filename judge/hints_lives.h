// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `alloc-in-loop`: memory, streams and events that are created and destroyed again and again between kernels.
//
// cudaMalloc and cudaFree may synchronise the device (R-ALC-02), to pin pages takes longer still, and streams and
// events are not free either. A TURN is counted: a call at the same place of the program, after something made there
// before has ended, with kernels launched in between. So a set-up that makes many buffers, each with its first kernel,
// has no turns, nor has a pool that grows. Reported from kFewestTurns turns on, if they cost a millisecond in all
// (cost()), and if the program launched at most kMostKernels kernels for each turn: what it does once for ten thousand
// kernels costs nothing beside them.
//
// Stream-ordered memory, mapped ranges, imports and module variables are not looked at; nor handles whose creation was
// not seen. Traces of older recorders, and those without stacks, do not have the place where a stream was created.
// There streams are counted where they are destroyed, and a turn is the end of a stream that was created after the last
// one's end.
#pragma once

#include <vector>

#include "judge/hints.h"

namespace streamsan::judge {

class LifeHints : public HintSource {
 public:
  static constexpr std::uint64_t kFewestTurns = 8;
  static constexpr std::uint64_t kLeastCost = 1'000'000;
  static constexpr std::uint64_t kMostKernels = 200;

  void observe(const Seen& seen) override;
  void want(SiteReader& sites) const override;
  void tell(SiteReader& sites, std::vector<HintText>& out) const override;

 private:
  enum class Thing : std::uint8_t { Memory, Managed, Pinned, Registered, Stream, Event };

  /// One call site where such things are created; for streams whose creation was not recorded, where they end.
  struct Tally {
    ordering::SiteId site{};
    Thing thing{};
    std::uint64_t made = 0;
    std::uint64_t least = 0;  ///< bytes of memory
    std::uint64_t most = 0;
    std::uint64_t turns = 0;
    bool ended_since = false;  ///< since the last call
    std::uint64_t first_kernels = 0;
    std::uint64_t last_kernels = 0;
    std::uint64_t ended = 0;
    ordering::SiteId end{};          ///< where, the first time
    std::uint64_t blocked = 0;       ///< nanoseconds in the ends
    std::uint64_t streams_made = 0;  ///< streams counted where they end: streams_made_ at the last end

    std::uint64_t bytes = 0;  ///< of all that was made

    /// The cost of the turns, in nanoseconds: an estimate (docs/hints.md), or the time in the ends if that is more.
    [[nodiscard]] std::uint64_t cost() const;
    [[nodiscard]] bool worth_telling() const;
  };

  void made(const Seen& seen, Thing thing, std::uint64_t bytes, ordering::FlatMap<std::uint32_t>& lives,
            std::uint64_t handle);
  void ended(const Seen& seen, ordering::FlatMap<std::uint32_t>& lives, std::uint64_t handle);
  void allocated(const Seen& seen);
  void stream_destroyed(const Seen& seen);
  Tally& tally_of(const Seen& seen, Thing thing, std::uint32_t& index);

  std::vector<Tally> tallies_;
  ordering::FlatMap<std::uint32_t> by_site_;  ///< index in tallies_, plus one; the same below
  ordering::FlatMap<std::uint32_t> memory_;   ///< by address
  ordering::FlatMap<std::uint32_t> streams_;  ///< by handle
  ordering::FlatMap<std::uint32_t> events_;
  ordering::FlatMap<std::uint64_t> placeless_streams_;  ///< by handle: streams_made_ when it was created
  std::uint64_t streams_made_ = 0;
  BlockedCalls calls_;
};

}  // namespace streamsan::judge
