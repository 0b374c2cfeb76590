// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ordering/variants.h"

#include <algorithm>

namespace streamsan::ordering {
namespace {

std::uint64_t key_of(const Cut& cut) {
  return static_cast<std::uint64_t>(cut.site) << 1 | static_cast<std::uint64_t>(cut.effect);
}

}  // namespace

Variants::Variants(const WhatIf& what_if)
    : sink_(what_if.sink), each_(what_if.plan.each), count_(static_cast<VariantId>(what_if.plan.variants.size())) {
  const Plan& plan = what_if.plan;
  for (const Cut& cut : plan.base.cuts) makers_[key_of(cut)].cut_in_base = true;
  put(kBase, plan.base.instead);
  for (VariantId variant = 1; variant <= count_; ++variant) {
    const World& world = plan.variants[variant - 1];
    for (const Cut& cut : world.cuts) {
      std::vector<VariantId>& others = makers_[key_of(cut)].others;
      if (others.empty() || others.back() != variant) others.push_back(variant);
    }
    put(variant, world.instead);
  }
}

void Variants::put(VariantId variant, const std::vector<Instead>& instead) {
  for (const Instead& each : instead) {
    Put& put = puts_.emplace_back(Put{.variant = variant, .instead = each, .kept = {}});
    at_[static_cast<std::uint64_t>(each.at)].push_back(&put);
    const auto other = static_cast<std::uint64_t>(each.other);
    if (each.kind == Instead::Kind::Move) to_[other].push_back(&put);
    if (each.kind == Instead::Kind::EventSync) behind_[other].push_back(&put);
  }
}

Among Variants::makes(SiteId site, Effect effect) {
  const Cut cut{site, effect};
  Maker* known = makers_.find(key_of(cut));
  if (!known) {
    if (!each_) return {};
    known = &makers_[key_of(cut)];
    known->others.push_back(++count_);
    sink_.variant(count_, cut);
  }
  std::erase_if(known->others, [this](VariantId variant) { return sink_.settled(variant); });
  return {.base = !known->cut_in_base, .others = known->others};
}

}  // namespace streamsan::ordering
