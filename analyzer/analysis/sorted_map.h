// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A map of small keys and values, as a sorted array. States are copied, compared and walked through at every block, and
// changed in one place. An array is cheap for that; a tree would spend its time on allocations.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace streamsan::analyzer {

template <typename Key, typename Mapped>
class SortedMap {
 public:
  struct Entry {
    Key first;
    Mapped second;
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  using iterator = typename std::vector<Entry>::iterator;
  using const_iterator = typename std::vector<Entry>::const_iterator;

  SortedMap() = default;
  /// `sorted` is in order, each key once.
  static SortedMap from(std::vector<Entry> sorted) {
    SortedMap result;
    result.entries_ = std::move(sorted);
    return result;
  }
  /// `others` may have any order. Of entries with equal keys this map's counts, else the last one.
  void add(std::vector<Entry> others) {
    if (others.empty()) return;
    std::stable_sort(others.begin(), others.end(), before);
    const std::vector<Entry> own = std::exchange(entries_, {});
    entries_.reserve(own.size() + others.size());
    const auto take = [&](const Entry& entry) {
      if (entries_.empty() || entries_.back().first != entry.first)
        entries_.push_back(entry);
      else
        entries_.back() = entry;
    };
    auto next = others.begin();
    for (const Entry& entry : own) {
      while (next != others.end() && !before(entry, *next)) take(*next++);
      take(entry);
    }
    while (next != others.end()) take(*next++);
  }

  iterator begin() { return entries_.begin(); }
  iterator end() { return entries_.end(); }
  [[nodiscard]] const_iterator begin() const { return entries_.begin(); }
  [[nodiscard]] const_iterator end() const { return entries_.end(); }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

  [[nodiscard]] const_iterator find(const Key& key) const {
    const auto it = std::ranges::lower_bound(entries_, key, {}, &Entry::first);
    return it != entries_.end() && it->first == key ? it : entries_.end();
  }
  [[nodiscard]] bool contains(const Key& key) const { return find(key) != end(); }

  std::pair<iterator, bool> try_emplace(const Key& key, Mapped mapped) {
    const auto it = std::ranges::lower_bound(entries_, key, {}, &Entry::first);
    if (it != entries_.end() && it->first == key) return {it, false};
    return {entries_.insert(it, {key, std::move(mapped)}), true};
  }
  Mapped& operator[](const Key& key) { return try_emplace(key, {}).first->second; }

  template <typename Predicate>
  void erase_if(Predicate predicate) {
    std::erase_if(entries_, predicate);
  }

  friend bool operator==(const SortedMap&, const SortedMap&) = default;

 private:
  static bool before(const Entry& a, const Entry& b) { return a.first < b.first; }
  std::vector<Entry> entries_;
};

}  // namespace streamsan::analyzer
