// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small sorted sets of numbers, interned: a set is an id, equal sets have equal ids, and copying a state copies ids.
// Operations make new sets; none is ever freed before the table is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace streamsan::analyzer {

enum class SetId : std::uint32_t {};
inline constexpr SetId kEmptySet{0};

class Sets {
 public:
  using Elements = std::vector<std::uint32_t>;

  Sets() { intern({}); }

  SetId intern(Elements elements) {
    std::sort(elements.begin(), elements.end());
    elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
    const auto [it, added] = ids_.try_emplace(std::move(elements), SetId{static_cast<std::uint32_t>(sets_.size())});
    if (added) sets_.push_back(&it->first);
    return it->second;
  }
  SetId one(std::uint32_t element) { return intern({element}); }

  [[nodiscard]] const Elements& operator[](SetId id) const { return *sets_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] bool has(SetId id, std::uint32_t element) const {
    return std::binary_search((*this)[id].begin(), (*this)[id].end(), element);
  }

  SetId add(SetId id, std::uint32_t element) {
    const auto [it, added] = added_.try_emplace(std::uint64_t{static_cast<std::uint32_t>(id)} << 32 | element, id);
    if (!added || has(id, element)) return it->second;
    Elements all = (*this)[id];
    all.push_back(element);
    return it->second = intern(std::move(all));
  }
  SetId unite(SetId a, SetId b) {
    if (a == b) return a;
    Elements all = (*this)[a];
    all.insert(all.end(), (*this)[b].begin(), (*this)[b].end());
    return intern(std::move(all));
  }
  SetId intersect(SetId a, SetId b) {
    if (a == b) return a;
    Elements common;
    std::set_intersection((*this)[a].begin(), (*this)[a].end(), (*this)[b].begin(), (*this)[b].end(),
                          std::back_inserter(common));
    return intern(std::move(common));
  }
  template <typename Predicate>
  SetId without(SetId id, Predicate drop) {
    if (std::ranges::none_of((*this)[id], drop)) return id;
    Elements rest = (*this)[id];
    std::erase_if(rest, drop);
    return intern(std::move(rest));
  }
  template <typename Function>
  SetId map(SetId id, Function function) {
    if (std::ranges::all_of((*this)[id], [&](std::uint32_t element) { return function(element) == element; }))
      return id;
    Elements all = (*this)[id];
    for (std::uint32_t& element : all) element = function(element);
    return intern(std::move(all));
  }

 private:
  std::map<Elements, SetId> ids_;
  std::unordered_map<std::uint64_t, SetId> added_;  ///< earlier results of add()
  std::vector<const Elements*> sets_;
};

}  // namespace streamsan::analyzer
