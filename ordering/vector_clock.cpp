// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Deviations: three sorted lists are merged, lane by lane. Most lanes have no deviation and take part in no cut; such a
// lane costs one comparison.
#include "ordering/vector_clock.h"

#include <limits>

namespace streamsan::ordering {
namespace {

constexpr VariantId kNoVariant = std::numeric_limits<VariantId>::max();

bool of_lower_lane(const Deviation& deviation, LaneSlot lane) { return deviation.lane < lane; }

}  // namespace

std::span<const Deviation> VectorClock::deviations(LaneSlot lane) const {
  if (deviations_.empty()) return {};
  const auto first = std::lower_bound(deviations_.begin(), deviations_.end(), lane, of_lower_lane);
  const auto last = std::find_if(first, deviations_.end(), [lane](const Deviation& d) { return d.lane != lane; });
  return {first, last};
}

Epoch VectorClock::in(VariantId variant, LaneSlot lane) const {
  for (const Deviation& deviation : deviations(lane)) {
    if (deviation.variant == variant) return deviation.epoch;
  }
  return (*this)[lane];
}

bool VectorClock::deviations_cover(LaneSlot lane, Epoch epoch) const {
  const std::span<const Deviation> own = deviations(lane);
  return std::all_of(own.begin(), own.end(), [epoch](const Deviation& d) { return d.epoch >= epoch; });
}

void VectorClock::drop_deviations(LaneSlot lane) {
  deviations_.erase_if([lane](const Deviation& deviation) { return deviation.lane == lane; });
}

bool VectorClock::deviations_within(const VectorClock& other) const {
  const auto fits = [&](const Deviation& d) { return in(d.variant, d.lane) <= other.in(d.variant, d.lane); };
  return std::all_of(deviations_.begin(), deviations_.end(), fits) &&
         std::all_of(other.deviations_.begin(), other.deviations_.end(), fits);
}

void VectorClock::join_lane(LaneSlot lane, std::span<const Deviation> mine, std::span<const Deviation> theirs,
                            const VectorClock& other, const Among& among, std::vector<Deviation>& out) {
  const Epoch own = (*this)[lane];
  const Epoch given = other[lane];
  const Epoch base = among.base ? std::max(own, given) : own;
  const std::size_t had = out.size();
  std::span<const VariantId> others = among.others;
  for (;;) {
    const VariantId variant =
        std::min({mine.empty() ? kNoVariant : mine.front().variant,
                  theirs.empty() ? kNoVariant : theirs.front().variant, others.empty() ? kNoVariant : others.front()});
    if (variant == kNoVariant) break;
    Epoch known = own, learns = given;
    bool takes_part = among.base;
    if (!mine.empty() && mine.front().variant == variant) {
      known = mine.front().epoch;
      mine = mine.subspan(1);
    }
    if (!theirs.empty() && theirs.front().variant == variant) {
      learns = theirs.front().epoch;
      theirs = theirs.subspan(1);
    }
    if (!others.empty() && others.front() == variant) {
      takes_part = !takes_part;
      others = others.subspan(1);
    }
    const Epoch epoch = takes_part ? std::max(known, learns) : known;
    if (epoch != base) out.push_back({lane, variant, epoch});
  }
  if (lane >= epochs_.size() && (base != 0 || out.size() > had)) epochs_.resize(lane + 1, 0);
  if (base != own) epochs_[lane] = base;
}

void VectorClock::join_deviations(const VectorClock& other) {
  thread_local std::vector<Deviation> joined;  // scratch
  joined.clear();
  const Deviation* mine = deviations_.begin();
  const Deviation* theirs = other.deviations_.begin();
  while (mine != deviations_.end() || theirs != other.deviations_.end()) {
    const bool from_mine =
        theirs == other.deviations_.end() ||
        (mine != deviations_.end() &&
         (mine->lane < theirs->lane || (mine->lane == theirs->lane && mine->variant <= theirs->variant)));
    const bool from_theirs = !from_mine || (theirs != other.deviations_.end() && mine->lane == theirs->lane &&
                                            mine->variant == theirs->variant);
    const Deviation& at = from_mine ? *mine : *theirs;
    const LaneSlot lane = at.lane;
    const VariantId variant = at.variant;
    const Epoch own = (*this)[lane], given = other[lane];
    const Epoch epoch = std::max(from_mine ? mine->epoch : own, from_theirs ? theirs->epoch : given);
    if (epoch != std::max(own, given)) joined.push_back({lane, variant, epoch});
    if (from_mine) ++mine;
    if (from_theirs) ++theirs;
  }
  deviations_.assign(joined.data(), joined.data() + joined.size());
}

void VectorClock::join(const VectorClock& other, const Among& among) {
  if (among.all()) return join(other);
  thread_local std::vector<Deviation> joined;  // scratch
  joined.clear();
  const auto lanes = static_cast<LaneSlot>(std::max(epochs_.size(), other.epochs_.size()));
  std::span<const Deviation> mine = deviations_;
  std::span<const Deviation> theirs = other.deviations_;
  const auto take = [](std::span<const Deviation>& from, LaneSlot lane) {
    std::size_t count = 0;
    while (count < from.size() && from[count].lane == lane) ++count;
    const std::span<const Deviation> taken = from.first(count);
    from = from.subspan(count);
    return taken;
  };
  for (LaneSlot lane = 0; lane < lanes; ++lane) {
    const std::span<const Deviation> of_mine = take(mine, lane), of_theirs = take(theirs, lane);
    // Nothing to learn, nothing that differs.
    if (other[lane] <= (*this)[lane] && of_mine.empty() && of_theirs.empty()) continue;
    join_lane(lane, of_mine, of_theirs, other, among, joined);
  }
  deviations_.assign(joined.data(), joined.data() + joined.size());
}

}  // namespace streamsan::ordering
