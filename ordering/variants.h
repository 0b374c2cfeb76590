// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The model's view of a plan: which variants have the order that this call makes?
//
// The model asks makes() where a call makes order that may be cut, and applies what the plan puts in its place. With
// Plan::each a variant is made when its call is first met. A settled variant has all order from then on, so that its
// deviations disappear.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "ordering/flat_map.h"
#include "ordering/two_clocks.h"
#include "ordering/what_if.h"

namespace streamsan::ordering {

/// Order that is put in, and for whom.
struct Put {
  VariantId variant = kBase;  ///< kBase: everybody
  Instead instead;
  TwoClocks kept;  ///< Move: what the host is going to know; EventSync: at the event

  [[nodiscard]] Among among() const {
    return variant == kBase ? Among{} : Among{.base = false, .others = {&variant, 1}};
  }
};

class Variants {
 public:
  explicit Variants(const WhatIf& what_if);

  /// The variants in which the call's order exists. Valid until the next call with the same site and effect.
  [[nodiscard]] Among makes(SiteId site, Effect effect);
  /// What is put in where the site's wait is made; moved there; recorded behind its operations. Few.
  [[nodiscard]] std::span<Put* const> put_at(SiteId site) const { return list(at_, site); }
  [[nodiscard]] std::span<Put* const> moved_to(SiteId site) const { return list(to_, site); }
  [[nodiscard]] std::span<Put* const> recorded_behind(SiteId site) const { return list(behind_, site); }

  [[nodiscard]] VariantId count() const { return count_; }
  [[nodiscard]] WhatIfSink& sink() const { return sink_; }

 private:
  struct Maker {
    bool cut_in_base = false;
    std::vector<VariantId> others;  ///< cut here and not in the base, or the other way round
  };
  using Lists = FlatMap<std::vector<Put*>>;

  void put(VariantId variant, const std::vector<Instead>& instead);
  [[nodiscard]] static std::span<Put* const> list(const Lists& lists, SiteId site) {
    const std::vector<Put*>* found = lists.find(static_cast<std::uint64_t>(site));
    return found ? std::span<Put* const>(*found) : std::span<Put* const>();
  }

  WhatIfSink& sink_;
  bool each_ = false;
  VariantId count_ = 0;
  FlatMap<Maker> makers_;
  std::deque<Put> puts_;  // addresses stay valid
  Lists at_, to_, behind_;
};

}  // namespace streamsan::ordering
