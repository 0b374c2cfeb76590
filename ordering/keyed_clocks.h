// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Clocks by a key whose end the model does not see: executable graphs, objects of annotations.
//
// Bounded: past kMostKeys all are joined into one clock, which from then on stands for every key that is not in the
// table. The dropped keys keep their order and get more: that can only hide a race.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ordering/flat_map.h"
#include "ordering/two_clocks.h"

namespace streamsan::ordering {

class KeyedClocks {
 public:
  static constexpr std::size_t kMostKeys = 256;

  [[nodiscard]] const TwoClocks& of(std::uint64_t key) const {
    const TwoClocks* known = table_.find(key);
    return known ? *known : dropped_;
  }
  /// The clock of the key, to be changed. Valid until the next call.
  TwoClocks& at(std::uint64_t key) {
    if (TwoClocks* known = table_.find(key)) return *known;
    if (table_.size() >= kMostKeys) {
      table_.for_each([&](std::uint64_t, const TwoClocks& clock) { dropped_.join(clock); });
      table_.clear();
    }
    return table_[key] = dropped_;
  }

 private:
  FlatMap<TwoClocks> table_;
  TwoClocks dropped_;
};

}  // namespace streamsan::ordering
