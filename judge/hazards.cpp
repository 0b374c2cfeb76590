// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/hazards.h"

namespace streamsan::judge {
namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15ull;
  return hash ^ (hash >> 29);
}

/// Equal for hazards that a reader would call the same. A collision folds two different ones: a report less, in one of
/// 2^64 / n^2 runs.
std::uint64_t fold_key(const ordering::Hazard& hazard) {
  std::uint64_t key = mix(0x5374726541ull, static_cast<std::uint64_t>(hazard.kind));
  key = mix(key, static_cast<std::uint64_t>(hazard.certainty) << 8 | static_cast<std::uint64_t>(hazard.order));
  key = mix(key, hazard.leaned_on ? static_cast<std::uint64_t>(*hazard.leaned_on) + 1 : 0);
  for (const ordering::Access* access : {&hazard.earlier, &hazard.later}) {
    key = mix(key, static_cast<std::uint64_t>(access->site) << 8 | static_cast<std::uint64_t>(access->source));
  }
  return key;
}

}  // namespace

void Hazards::hazard(const ordering::Hazard& hazard) {
  std::uint32_t& index = index_[fold_key(hazard)];
  if (index != 0) {
    if (index <= kept_.size()) ++kept_[index - 1].count;
    return;
  }
  if (kept_.size() >= most_) {
    index = 0xffffffff;
    ++dropped_;
    return;
  }
  KeptHazard& kept = kept_.emplace_back();
  index = static_cast<std::uint32_t>(kept_.size());
  kept.hazard = hazard;
  if (const StreamLife* life = handles_->life(hazard.earlier.stream)) kept.earlier_stream = *life;
  if (const StreamLife* life = handles_->life(hazard.later.stream)) kept.later_stream = *life;
  if (const EventLife* life = handles_->life(hazard.explanation.event)) kept.event = *life;
}

}  // namespace streamsan::judge
