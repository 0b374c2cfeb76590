// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeps the hazards that are worth a report, and counts the rest.
//
// A loop with a race gives a hazard for every iteration. Hazards of the same kind between the same two sites count as
// one: the first is kept, and each other one only costs a look-up and an increment. No text is made here (explain.h
// does that, at the end), so this is cheap enough to sit inside the model's hottest path.
//
// WHAT BECOMES OF A POSSIBLE HAZARD. It is possible because what a kernel touches is inferred, learned or widened.
// Later launches may settle it. Between the same earlier and the same later site:
//   * a certain hazard that is at least as bad (unordered is worse than latent) takes its place: one bug, one report;
//   * it is refuted when, since the two sites last met in any hazard, each kernel side that was in doubt has been
//     measured at its site: the bytes were looked at, and they did not meet. If the conflict comes up again, the hazard
//     is back, until it was refuted kEnoughRefutations times: a kernel whose bytes depend on data cannot be measured
//     for ever.
// A BLOCK that goes back to its pool too early does harm only when the pool hands it out again. So the hazard of a
// release is dropped if the reuse of the same block is a hazard with the same use.
//
// A refutation is less than a proof: the measured launches may have worked on other buffers than those that met, or in
// an order the program does not always take. So it may hide a race, but only one that was never more than possible:
// what is certain stays, whatever is measured later, and so does what a host function or unseen order
// makes doubtful while its bytes surely meet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "judge/failed_calls.h"
#include "judge/handles.h"
#include "judge/marks.h"
#include "ordering/flat_map.h"
#include "ordering/hazard.h"

namespace streamsan::judge {

inline constexpr std::uint32_t kNotKept = 0xffffffff;  ///< in place of an index

struct KeptHazard {
  ordering::Hazard hazard;
  std::uint64_t count = 1;   ///< 0: all were withdrawn
  std::uint64_t weaker = 0;  ///< times its two sites met and this one said all that there was to say, and more
  // Handles may be destroyed and recycled before the report is made.
  StreamLife earlier_stream;
  StreamLife later_stream;
  EventLife event;
  ordering::SiteId earlier_graph{};  ///< where the graph of a node was created; kNoSite: not known
  ordering::SiteId later_graph{};
  std::optional<std::uint32_t> waited_device{};  ///< that the host waited for in vain
  std::optional<FailedCall> failed;              ///< a call that would have ordered the two
  std::string memory;                            ///< the name that the program gave the buffer; empty: none
  MarkId earlier_part{};                         ///< of the run, at the first one
  MarkId later_part{};
  TestSet tests;  ///< that one of the two was submitted in, all times

  bool superseded = false;  ///< by one that says all that this one does, and more
  static constexpr unsigned kEnoughRefutations = 8;
  unsigned refutations = 0;  ///< times it was refuted and came up again
  // The kernel was measured at this side's site since the two sites last met.
  bool earlier_measured = false;
  bool later_measured = false;
  std::uint32_t previous_of_pair = 0;  ///< index + 1 of the one kept before between the same sites; 0: none

  [[nodiscard]] bool refuted() const;
  /// Its sites have met again.
  void meet_again();
  /// Is it still worth a report?
  [[nodiscard]] bool stands() const { return counts() && !refuted(); }
  [[nodiscard]] bool counts() const { return count != 0 && !superseded; }
};

class Hazards : public ordering::HazardSink {
 public:
  explicit Hazards(std::size_t most) : most_(most) {}
  /// The handles to take names from; needed before the first hazard. (The model, which the handles refer to, wants its
  /// sink first.)
  void take_names_from(const Handles& handles) { handles_ = &handles; }

  void hazard(const ordering::Hazard& hazard) override { add(hazard, nullptr); }
  /// True for the first hazard of two places only: that is the one whose bytes are reported.
  bool wants_common_bytes(const ordering::Hazard& hazard) override;
  /// `failed`: a call that would have ordered the two; nullptr: none is known. Returns which of kept() counts it, or
  /// kNotKept.
  std::uint32_t add(const ordering::Hazard& hazard, const FailedCall* failed);
  /// One of those that kept()[index] counts turned out to be harmless (releases.h).
  void withdraw(std::uint32_t index);
  /// The program names the allocation that begins at the address; no id: memory without a life, see MemoryKind.
  void name_memory(ordering::Address address, ordering::AllocationId allocation, std::string name);
  /// What the program calls the parts of its run.
  [[nodiscard]] Marks& marks() { return marks_; }
  [[nodiscard]] const Marks& marks() const { return marks_; }
  /// All that a launch at the site touches was measured. Called before the hazards of that launch are added, so that
  /// these can undo the refutation.
  void measured(ordering::SiteId site);

  /// At the end: says the devices of what was met before a second device was.
  void name_devices();

  /// In the order in which they were met; also those that no longer stand.
  [[nodiscard]] const std::vector<KeptHazard>& kept() const { return kept_; }
  /// Distinct hazards beyond the limit: counted, not kept.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  /// How many of those kept are refuted now.
  [[nodiscard]] std::uint64_t refuted() const;

 private:
  /// Calls visit(KeptHazard&) for those kept between the two sites.
  template <typename Visit>
  void for_each_of(std::uint32_t last_of_pair, Visit visit) {
    for (std::uint32_t i = last_of_pair; i != 0; i = kept_[i - 1].previous_of_pair) visit(kept_[i - 1]);
  }

  struct MemoryName {
    ordering::AllocationId allocation{};
    std::string name;
  };

  [[nodiscard]] std::string name_of(const ordering::AllocationInfo& allocation) const;
  /// What is reported of a hazard that counts as kept, from the first one on that was not withdrawn.
  void remember(KeptHazard& kept, const ordering::Hazard& hazard) const;
  void supersede(KeptHazard& kept);
  /// One that is not kept because a certain one of the pair says more. `last_of_pair`: as for_each_of().
  void count_weaker(std::uint32_t last_of_pair, const ordering::Hazard& hazard);
  void add_tests(KeptHazard& kept, const ordering::Hazard& hazard) const;
  /// Release and reuse of one block after one use: does the other one report it already?
  bool release_or_reuse(const ordering::Hazard& hazard);

  std::size_t most_;
  const Handles* handles_ = nullptr;
  Marks marks_;
  std::vector<KeptHazard> kept_;
  std::size_t superseded_ = 0;                     ///< of those kept: they do not count towards the limit
  ordering::FlatMap<std::uint32_t> index_;         ///< fold key -> index in kept_, plus one
  ordering::FlatMap<std::uint32_t> pairs_;         ///< earlier and later site -> the last kept, index plus one
  ordering::FlatMap<ordering::Certainty> reuses_;  ///< user's site and site of release of the reuses met
  ordering::FlatMap<MemoryName> names_;            ///< by the address at which the memory begins
  std::uint64_t dropped_ = 0;
};

}  // namespace streamsan::judge
