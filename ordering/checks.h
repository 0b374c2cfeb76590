// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The comparison of accesses: each is compared with the past of its allocation, hazards go to the sink, and it is
// remembered there.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ordering/lives.h"
#include "ordering/progress.h"

namespace streamsan::ordering {

/// The accesses are made while kernels of the actor's own stream may still be running (dependents.h). The clock is cut
/// back to before the oldest of them; of what is behind the cut, all others are complete.
struct Overlap {
  std::span<const Running> running;
  DependentUse use{};
  Chain::Kernel front;  ///< the kernel right in front
};

/// The lane that makes an access, and when.
struct Actor {
  LaneSlot lane = 0;
  Epoch epoch = 0;
  const TwoClocks& clock;
  const HostClock& host;
  /// The rule by which the clock's assumed side knows more than lane and host do: a free that is assumed to wait.
  std::optional<Rule> waits_by{};
  const Overlap* overlap = nullptr;
  bool out_of_order = false;  ///< the access keeps no stream order: the clock is the host's
  /// A node of a graph, if blocks that it may use went back: as which graph of all that one was made.
  GraphCount graph_made = 0;
};

/// Bytes that an access touches in one way. A kernel touches several, in several ways.
struct Part {
  Allocation* allocation = nullptr;
  Touch touch;
};

class Checks {
 public:
  Checks(HazardSink& sink, Progress& progress, Lives& lives) : sink_(sink), progress_(progress), lives_(lives) {}

  std::uint64_t accesses = 0;
  std::uint64_t hazards = 0;

  /// Compares the exact access with everything earlier, reports, and remembers. The parts are what one operation
  /// touches of the allocation: for each unordered lane, one hazard is reported, the worst. The access's own range is
  /// not used.
  void touch(const Access& access, std::span<const Part> parts, const Actor& actor);
  /// The same for what is inferred from a kernel's pointers, one after the other.
  void touch_pointers(const Access& inferred, std::span<const PointerArgument> pointers, const Actor& actor);
  /// Compares and reports only.
  void check(const Access& access, std::span<const Part> parts, const Actor& actor);

  // checks_of_ends.cpp
  /// The end of an allocation and of the blocks in it: everything before it must be complete.
  void check_end(Allocation& allocation, const Access& free, const Actor& actor);
  /// The block goes back, or bytes are handed out again: compares with the accesses of the life that ends, or of those
  /// that ended before.
  void check_release(const Allocation& block, const TwoClocks& waited, const Access& access, const Actor& actor);
  void check_reuse(const Access& access, const Actor& actor);
  /// The host frees the range: compares with the copies that borrowed from it.
  void check_loans(const Access& access, const Actor& actor);

  // checks_of_freed.cpp
  /// Nothing holds the bytes: perhaps something did (R-SOA-04). The access's own range and mode are used.
  void touch_freed(const Access& access);
  /// R-ANN-04: the access of a node whose graph was made as the `made`-th. The same of blocks that lived then and went
  /// back since.
  void touch_freed_block(const Access& access, GraphCount made);
  /// The calls succeeded, so the address leads to something: the free of a life that was kept, if so.
  void report_second_free(const Access& access);

 private:
  struct Conflict {
    LaneSlot lane = 0;
    Epoch epoch = 0;
    Access earlier;
    Access later;
    Range overlap;
    Certainty certainty{};
    bool perhaps_signalled = false;
    bool perhaps_passed_on = false;
    Order order{};
    HazardKind kind{};
    const Shadow* past = nullptr;  ///< that the earlier one is in
    AllocationInfo allocation;
    SiteId freed{};
    std::optional<Rule> leaned_on{};  ///< known already
  };
  /// Earlier accesses, and how a hazard with one of them is reported.
  struct Past {
    const Shadow& shadow;
    const AllocationInfo& allocation;
    SiteId freed{};
    bool released = false;  ///< the later access is a block's return to its pool
    /// The later access is made in this later life of the bytes, and not at its beginning.
    const AllocationInfo* reused_by = nullptr;
  };

  /// check(), as the others have it, too. Returns what the access's clock knows of the allocation.
  inline Shadow::Known check_parts(const Access& access, std::span<const Part> parts, const Actor& actor);
  inline void stay_bounded();
  void clear_if_over(Allocation& allocation, const HostClock& host);
  /// As check(), for a past that the summary does not clear, or that earlier blocks belong to.
  void compare(const Access& access, std::span<const Part> parts, const Actor& actor);
  /// Compares the access with what is past and keeps the conflicts for report().
  void collect(const Past& past, Shadow::Later later, bool also_inferred, const Actor& actor);
  /// The place of a conflict with the lane, unless one as bad and newer is there.
  Conflict* place_of(LaneSlot lane, Order order, Certainty certainty, const Access& earlier);
  /// The same for what one operation touches of an allocation.
  void collect_parts(const Past& past, Access access, std::span<const Part> parts, const Actor& actor);
  /// Accesses of the earlier lives of a block for which the pool named no stream.
  void collect_earlier_lives(Allocation& block, const Access& access, std::span<const Part> parts, const Actor& actor);
  /// Compares with what is past in an earlier life, of which the hazard names `named`.
  void collect_retired(const RetiredBlock& life, const AllocationInfo& named, const Access& access, const Actor& actor);
  /// `parts`: what the later operation touches, to look for all common bytes; none: it is no matter of bytes.
  void report(const Actor& actor, std::span<const Part> parts = {});
  [[nodiscard]] Explanation explain_conflict(const Conflict& conflict, const Actor& actor);
  [[nodiscard]] CommonBytes common_bytes_of(const Conflict& conflict, std::span<const Part> parts);
  void report_use(FreedLife& life, const Access& access, Certainty certainty);

  HazardSink& sink_;
  Progress& progress_;
  Lives& lives_;
  std::vector<Conflict> conflicts_;  // scratch
  std::vector<Range> runs_;          // scratch of common_bytes_of()
};

}  // namespace streamsan::ordering
