// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `streams-never-overlap`: streams that take turns, so that one stream would be as fast.
//
// Two pieces of work may overlap if neither is ordered before the other. A stream that in the whole run has no piece of
// work that may overlap with any of another stream (the default streams included) gains nothing. Reported for a group
// of streams that the program created and that take turns with one another, each kFewestTurns times or more: streams of
// two phases of a program, or of fork-join with rare branches, are not reported. A turn is a piece of work in a stream
// when the one before, of the group, was in another; what ordered the two is remembered: the host has waited in
// between, the stream has waited for an event, or the legacy stream stands between them.
//
// Only documented order counts (docs/model.md), so what orders two pieces by accident today counts as overlap. Only
// streams fed by a single host thread are considered, and no other thread may wait for anything. For what one thread
// waits for counts as known to all others, while two threads may take turns by chance, and one may learn by chance, in
// time, from another that waits. Past kMostStreams streams nothing is reported.
#pragma once

#include <optional>
#include <vector>

#include "judge/hints.h"
#include "judge/hints_memory.h"

namespace streamsan::judge {

class OverlapHints : public HintSource {
 public:
  static constexpr std::uint64_t kFewestTurns = 8;
  static constexpr std::size_t kMostStreams = 32;

  void observe(const Seen& seen) override;
  void want(SiteReader& sites) const override;
  void tell(SiteReader& sites, std::vector<HintText>& out) const override;

 private:
  enum class Orders : std::uint8_t { Host, Event, Legacy, Other };

  struct Reason {
    Orders how{};
    ordering::SiteId site{};
    std::uint32_t from = 0;  ///< index of the stream that had the turn before
    std::uint64_t turns = 0;
    std::uint64_t apart = 0;  ///< in which this work and the one before share no memory
  };
  struct Use {
    ordering::StreamId stream{};
    StreamLife life;
    std::uint16_t thread = 0;
    bool many_threads = false;
    bool overlaps = false;
    bool ended = false;
    std::uint64_t works = 0;
    std::uint64_t turns = 0;
    ordering::Moment last;
    TouchedMemory memory;        ///< of its last work
    ordering::SiteId waited{};   ///< the last wait for an event since its last work; kNoSite: none
    ordering::SiteId learned{};  ///< where the host got to know that its last work is complete; kNoSite: it has not
    std::vector<Reason> reasons;

    [[nodiscard]] bool candidate() const {
      return !overlaps && !many_threads && turns >= kFewestTurns &&
             (life.kind == ordering::StreamKind::Blocking || life.kind == ordering::StreamKind::NonBlocking);
    }
  };
  /// Streams that take turns, by index.
  struct Group {
    std::vector<std::uint32_t> streams;
    std::uint64_t works = 0;
    std::uint64_t turns = 0;
    std::uint64_t apart = 0;
    std::vector<Reason> reasons;  ///< of one place each, the most frequent first
  };

  Use* use_of(const Seen& seen, ordering::StreamId stream);
  void work(const Seen& seen, Use& use);
  void learn(const Seen& seen);
  void turn(Use& use, std::uint32_t from, const TouchedMemory& memory);
  [[nodiscard]] bool waits_alone(std::uint16_t thread) const;
  [[nodiscard]] std::vector<Group> groups() const;

  std::vector<Use> uses_;
  ordering::FlatMap<std::uint32_t> by_stream_;   ///< index in uses_, plus one
  std::optional<std::uint32_t> last_;            ///< which created stream had work last
  ordering::FlatMap<ordering::SiteId> waiting_;  ///< by thread: the last call that waits
  ordering::SiteId legacy_acted_{};              ///< the last action in a legacy stream
  std::vector<std::uint16_t> waiters_;           ///< threads that have waited; two are as good as many
  bool too_many_ = false;
};

}  // namespace streamsan::judge
