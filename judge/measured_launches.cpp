// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/measured_launches.h"

#include <algorithm>

namespace streamsan::judge {
namespace {

constexpr std::uint64_t kEnoughTimes = 2;  // more are not distinguished

bool leads_nowhere(const trace::Piece& piece) { return piece.pointer == trace::Piece::kAbsolute; }

}  // namespace

void MeasuredLaunches::add(const trace::Record& record, std::uint32_t kernel, const Footprints& footprints) {
  const auto& w = record.as<trace::Kind::MeasuredLaunch>();
  const KernelFootprint* footprint = footprints.find(w.footprint);
  const std::uint32_t* known = index_.find(w.key);
  if (!known) {
    if (!footprint || known_.size() == kMost || footprint->pieces.size() > kMostPieces - pieces_) return;
    known_.push_back({.key = w.key, .kernel = kernel, .footprint = w.footprint, .bytes = *footprint, .launches = {}});
    known_.back().varies = std::ranges::any_of(footprint->pieces, leads_nowhere);
    pieces_ += footprint->pieces.size();
    index_[w.key] = static_cast<std::uint32_t>(known_.size());
    known = index_.find(w.key);
  }
  Known& of_key = known_[*known - 1];
  // The recorder gives equal footprints one id.
  of_key.varies |= !footprint || w.footprint != of_key.footprint;
  const std::uint64_t times = std::max(w.earlier, std::uint64_t{1});
  const auto same = std::ranges::find(of_key.launches, w.launch, &Times::launch);
  if (same != of_key.launches.end()) {
    same->times += times;
  } else if (of_key.launches.size() < kMostKeys) {
    of_key.launches.push_back({w.launch, times});
  }
}

std::vector<MeasuredLaunch> MeasuredLaunches::all(const Hazards& hazards) const {
  std::vector<bool> met(launches_.size(), false);
  for (const KeptHazard& kept : hazards.kept()) {
    for (const ordering::Access* access : {&kept.hazard.earlier, &kept.hazard.later}) {
      const auto kernel = static_cast<std::size_t>(access->function);
      if (access->source == ordering::AccessSource::Kernel && kernel < met.size()) met[kernel] = true;
    }
  }
  const bool any_unkept = hazards.dropped() != 0;
  std::vector<MeasuredLaunch> out;
  out.reserve(known_.size());
  for (const Known& known : known_) {
    MeasuredLaunch& launch = out.emplace_back();
    launch.key = known.key;
    launch.varies = known.varies;
    launch.incomplete = known.bytes.incomplete;
    if (!launch.varies) launch.pieces = known.bytes.pieces;
    launch.keys = static_cast<std::uint8_t>(known.launches.size());
    const Times& least = *std::ranges::min_element(known.launches, {}, &Times::times);
    launch.times = static_cast<std::uint8_t>(std::min(least.times, kEnoughTimes));
    const bool was_launched = known.kernel < launches_.size();
    launch.kernel_launches = was_launched ? launches_[known.kernel] : 0;
    launch.met = any_unkept || (was_launched && met[known.kernel]);
  }
  return out;
}

}  // namespace streamsan::judge
