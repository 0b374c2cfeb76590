// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An ordered map that keeps the memory of the entry last erased.
//
// Programs allocate and free in turn, so that the map of what lives, and that of what was freed, grow and shrink by one
// entry all the time. An entry that takes the place of an erased one needs no call of the allocator.
#pragma once

#include <iterator>
#include <utility>

namespace streamsan::ordering {

template <typename Map>
class KeptNode {
 public:
  /// As map[key] = value, and returns where that is.
  typename Map::iterator assign(Map& map, const typename Map::key_type& key, const typename Map::mapped_type& value) {
    if (node_.empty()) return map.insert_or_assign(key, value).first;
    node_.key() = key;
    const auto at = map.insert(std::move(node_)).position;
    at->second = value;
    return at;
  }
  /// As map.erase(at), and returns the same.
  typename Map::iterator erase(Map& map, typename Map::iterator at) {
    const auto next = std::next(at);
    node_ = map.extract(at);
    return next;
  }

 private:
  typename Map::node_type node_;
};

}  // namespace streamsan::ordering
