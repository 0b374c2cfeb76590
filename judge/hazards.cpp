// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/hazards.h"

#include <algorithm>
#include <utility>

#include "judge/mix.h"

namespace streamsan::judge {
namespace {

/// Equal for hazards that a reader would call the same. A collision folds two different ones: a report less, in one of
/// 2^64 / n^2 runs.
std::uint64_t fold_key(const ordering::Hazard& hazard) {
  std::uint64_t key = mix(0x5374726541ull, static_cast<std::uint64_t>(hazard.kind));
  key = mix(key, static_cast<std::uint64_t>(hazard.awaits_value) << 24 |
                     static_cast<std::uint64_t>(hazard.perhaps_passed_on) << 16 |
                     static_cast<std::uint64_t>(hazard.certainty) << 8 | static_cast<std::uint64_t>(hazard.order));
  key = mix(key, hazard.leaned_on ? static_cast<std::uint64_t>(*hazard.leaned_on) + 1 : 0);
  for (const ordering::Access* access : {&hazard.earlier, &hazard.later}) {
    key = mix(key, static_cast<std::uint64_t>(access->site) << 8 | static_cast<std::uint64_t>(access->source));
  }
  return key;
}

std::uint64_t pair_key(ordering::SiteId earlier, ordering::SiteId later) {
  static_assert(sizeof(ordering::SiteId) == 4);
  return static_cast<std::uint64_t>(earlier) << 32 | static_cast<std::uint64_t>(later);
}
std::uint64_t pair_key(const ordering::Hazard& hazard) { return pair_key(hazard.earlier.site, hazard.later.site); }

bool is_possible(const ordering::Hazard& hazard) { return hazard.certainty == ordering::Certainty::Possible; }

bool in_doubt(const ordering::Access& access) {
  return access.source == ordering::AccessSource::Kernel &&
         ordering::evidence_of_bytes(access) != ordering::Evidence::Sure;
}

/// Does the certain one say all that the possible one says, and more?
bool takes_the_place_of(const ordering::Hazard& certain, const ordering::Hazard& possible) {
  return !is_possible(certain) && is_possible(possible) &&
         (certain.order == ordering::Order::Unordered || possible.order == ordering::Order::Latent);
}

}  // namespace

bool KeptHazard::refuted() const {
  if (!is_possible(hazard) || hazard.perhaps_signalled || hazard.perhaps_passed_on) return false;
  if (hazard.awaits_value != ordering::Hazard::Awaits::No) return false;
  if (refutations >= kEnoughRefutations) return true;
  const bool earlier = in_doubt(hazard.earlier), later = in_doubt(hazard.later);
  return (earlier || later) && (!earlier || earlier_measured) && (!later || later_measured);
}

void KeptHazard::meet_again() {
  if (refuted() && refutations < kEnoughRefutations) ++refutations;
  earlier_measured = later_measured = false;
}

bool Hazards::wants_common_bytes(const ordering::Hazard& hazard) { return !index_.find(fold_key(hazard)); }

std::uint64_t Hazards::refuted() const {
  return static_cast<std::uint64_t>(
      std::count_if(kept_.begin(), kept_.end(), [](const KeptHazard& k) { return !k.superseded && k.refuted(); }));
}

void Hazards::measured(ordering::SiteId site) {
  for (KeptHazard& kept : kept_) {
    // A kernel that races with itself needs two measured launches.
    if (kept.hazard.earlier.site == site && !kept.earlier_measured) {
      kept.earlier_measured = true;
    } else if (kept.hazard.later.site == site) {
      kept.later_measured = true;
    }
  }
}

void Hazards::name_memory(ordering::Address address, ordering::AllocationId allocation, std::string name) {
  names_[address] = {allocation, std::move(name)};
}

std::string Hazards::name_of(const ordering::AllocationInfo& allocation) const {
  const MemoryName* known = names_.find(allocation.range.begin);
  const bool has_life = allocation.kind != ordering::MemoryKind::Pageable;
  return known && (!has_life || known->allocation == allocation.id) ? known->name : "";
}

void Hazards::supersede(KeptHazard& kept) {
  superseded_ += !kept.superseded;
  kept.superseded = true;
}

void Hazards::count_weaker(std::uint32_t last_of_pair, const ordering::Hazard& hazard) {
  bool counted = false;
  for_each_of(last_of_pair, [&](KeptHazard& kept) {
    if (counted || !kept.counts() || !takes_the_place_of(kept.hazard, hazard)) return;
    ++kept.weaker;
    counted = true;
  });
}

bool Hazards::release_or_reuse(const ordering::Hazard& hazard) {
  if (hazard.kind == ordering::HazardKind::ReleaseWhileInUse) {
    const ordering::Certainty* reuse = reuses_.find(pair_key(hazard));
    return reuse && *reuse <= hazard.certainty;
  }
  if (hazard.kind != ordering::HazardKind::ReuseWhileInUse) return false;
  const std::uint64_t release = pair_key(hazard.earlier.site, hazard.freed);
  const ordering::Certainty* known = reuses_.find(release);
  if (!known || hazard.certainty < *known) reuses_[release] = hazard.certainty;
  for_each_of(pairs_[release], [&](KeptHazard& kept) {
    const bool reported =
        kept.hazard.kind == ordering::HazardKind::ReleaseWhileInUse && hazard.certainty <= kept.hazard.certainty;
    if (reported) supersede(kept);
  });
  return false;
}

std::uint32_t Hazards::add(const ordering::Hazard& hazard, const FailedCall* failed) {
  if (release_or_reuse(hazard)) return kNotKept;
  std::uint32_t& pair = pairs_[pair_key(hazard)];
  for_each_of(pair, [](KeptHazard& kept) { kept.meet_again(); });
  std::uint32_t& index = index_[fold_key(hazard)];
  if (index != 0) {
    if (index > kept_.size()) {
      count_weaker(pair, hazard);
      return kNotKept;
    }
    KeptHazard& kept = kept_[index - 1];
    // All before it were withdrawn: this is the first one to report.
    if (kept.count++ == 0) remember(kept, hazard);
    add_tests(kept, hazard);
    return index - 1;
  }
  bool superseded = false;
  std::uint64_t weaker = 0;
  for_each_of(pair, [&](KeptHazard& kept) {
    superseded |= kept.count != 0 && takes_the_place_of(kept.hazard, hazard);
    if (!kept.counts() || !takes_the_place_of(hazard, kept.hazard)) return;
    supersede(kept);
    weaker += kept.count + kept.weaker;
  });
  // Of a program whose threads synchronise in ways that are not seen there may be many of these: they take no more than
  // half of the room.
  const std::size_t room = hazard.perhaps_passed_on ? (most_ + 1) / 2 : most_;
  // A certain one between the same sites is kept already, so this one is not needed.
  if (superseded || kept_.size() - superseded_ >= room) {
    index = kNotKept;
    dropped_ += !superseded;
    count_weaker(pair, hazard);
    return kNotKept;
  }
  KeptHazard& kept = kept_.emplace_back();
  index = static_cast<std::uint32_t>(kept_.size());
  kept.previous_of_pair = pair;
  pair = index;
  kept.weaker = weaker;
  if (failed) kept.failed = *failed;
  remember(kept, hazard);
  add_tests(kept, hazard);
  return index - 1;
}

void Hazards::remember(KeptHazard& kept, const ordering::Hazard& hazard) const {
  kept.hazard = hazard;
  kept.memory = name_of(hazard.allocation);
  kept.earlier_part = marks_.at(trace::MarkLevel::Part, hazard.earlier.moment);
  kept.later_part = marks_.at(trace::MarkLevel::Part, hazard.later.moment);
  if (const StreamLife* life = handles_->life(hazard.earlier.stream)) kept.earlier_stream = *life;
  if (const StreamLife* life = handles_->life(hazard.later.stream)) kept.later_stream = *life;
  if (const EventLife* life = handles_->life(hazard.explanation.event)) kept.event = *life;
  kept.earlier_graph = handles_->graph_of(hazard.earlier);
  kept.later_graph = handles_->graph_of(hazard.later);
  kept.waited_device = handles_->device(hazard.explanation.waited_for);
}

void Hazards::withdraw(std::uint32_t index) {
  KeptHazard& kept = kept_[index];
  if (--kept.count == 0) kept.tests = {};
}

void Hazards::add_tests(KeptHazard& kept, const ordering::Hazard& hazard) const {
  if (!marks_.any(trace::MarkLevel::Test)) return;
  for (const ordering::Access* access : {&hazard.earlier, &hazard.later}) {
    kept.tests.add(marks_.at(trace::MarkLevel::Test, access->moment));
  }
}

void Hazards::name_devices() {
  for (KeptHazard& kept : kept_) {
    kept.earlier_stream.device = handles_->device(kept.earlier_stream.context);
    kept.later_stream.device = handles_->device(kept.later_stream.context);
    kept.waited_device = handles_->device(kept.hazard.explanation.waited_for);
  }
}

}  // namespace streamsan::judge
