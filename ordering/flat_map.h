// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A map from integers (ids, addresses) to small values: open addressing, linear probing, no tombstones.
//
// The model looks up a stream, an event or a pointer several times for every operation, and creates and destroys
// millions of them in a long run. std::unordered_map costs an allocation for each entry and a cache miss for each
// look-up; tables with tombstones degrade when entries come and go. Here erasing moves later entries of the same run
// back, so the table after any history is as good as one built afresh, and it shrinks when it has become mostly empty.
//
// Invariant: between an entry and the home slot of its key there is no empty slot.
// Pointers to values are valid until the next insertion or erasure. What has been moved from may only be assigned to or
// destroyed; std::exchange() leaves a map that can be used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace streamsan::ordering {

template <typename Value>
class FlatMap {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }

  [[nodiscard]] Value* find(std::uint64_t key) { return const_cast<Value*>(std::as_const(*this).find(key)); }
  [[nodiscard]] const Value* find(std::uint64_t key) const {
    if (size_ == 0) return nullptr;
    const Slot* const slots = slots_.data();
    for (std::size_t i = home(key);; i = next(i)) {
      if (!slots[i].used) return nullptr;
      if (slots[i].key == key) return &slots[i].value;
    }
  }

  /// The value of the key, made by default if there was none.
  /// Moves values only when the key is new: references to others stay valid until then.
  Value& operator[](std::uint64_t key) {
    if (Value* known = find(key)) return *known;
    return add(key);
  }
  /// The same of a key that is not in the map.
  Value& add(std::uint64_t key) {
    if ((size_ + 1) * 4 > slots_.size() * 3) resize(slots_.empty() ? kSmallest : slots_.size() * 2);
    std::size_t i = home(key);
    while (slots_[i].used) i = next(i);
    slots_[i].used = true;
    slots_[i].key = key;
    latest_ = i;
    ++size_;
    return slots_[i].value;
  }

  bool erase(std::uint64_t key) {
    if (size_ == 0) return false;
    std::size_t hole = home(key);
    for (;; hole = next(hole)) {
      if (!slots_[hole].used) return false;
      if (slots_[hole].key == key) break;
    }
    for (std::size_t i = next(hole); slots_[i].used; i = next(i)) {
      // The entry at i may fill the hole unless its home lies after the hole.
      const std::size_t distance_of_home = (i - home(slots_[i].key)) & mask_;
      const std::size_t distance_of_hole = (i - hole) & mask_;
      if (distance_of_home >= distance_of_hole) {
        slots_[hole] = std::move(slots_[i]);
        hole = i;
      }
    }
    slots_[hole] = Slot{};
    --size_;
    if (slots_.size() > kSmallest && size_ * 8 < slots_.size()) resize(slots_.size() / 4);
    return true;
  }

  void clear() {
    slots_.clear();
    slots_.shrink_to_fit();
    mask_ = 0;
    size_ = 0;
  }
  /// As clear(), but a table of the smallest size keeps its memory, and its values theirs: empty(value) leaves one that
  /// is as good as a new one.
  template <typename Empty>
  void clear_small(Empty empty) {
    if (slots_.size() > kSmallest) return clear();
    for_each_slot(slots_, [&](Slot& slot) {
      empty(slot.value);
      slot.used = false;
    });
    size_ = 0;
  }

  /// Calls visit(key, value) for every entry, in no particular order.
  template <typename Visit>
  void for_each(Visit visit) {
    for_each_slot(slots_, [&](Slot& slot) { visit(slot.key, slot.value); });
  }
  template <typename Visit>
  void for_each(Visit visit) const {
    for_each_slot(slots_, [&](const Slot& slot) { visit(slot.key, slot.value); });
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    Value value{};
    bool used = false;
  };
  static constexpr std::size_t kSmallest = 8;

  /// Those in use.
  template <typename Slots, typename Visit>
  void for_each_slot(Slots& slots, Visit visit) const {
    if (size_ == 0) return;
    if (size_ == 1 && slots[latest_].used) return visit(slots[latest_]);  // no search for a lone entry
    for (auto& slot : slots) {
      if (slot.used) visit(slot);
    }
  }

  [[nodiscard]] std::size_t home(std::uint64_t key) const {
    const std::uint64_t mixed = key * 0x9E3779B97F4A7C15ull;
    return static_cast<std::size_t>(mixed ^ (mixed >> 32)) & mask_;
  }
  [[nodiscard]] std::size_t next(std::size_t i) const { return (i + 1) & mask_; }

  void resize(std::size_t slots) {
    if (slots < kSmallest) slots = kSmallest;
    std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots));
    mask_ = slots - 1;
    for (Slot& slot : old) {
      if (!slot.used) continue;
      std::size_t i = home(slot.key);
      while (slots_[i].used) i = next(i);
      slots_[i] = std::move(slot);
    }
    latest_ = 0;
  }

  std::vector<Slot> slots_;
  std::size_t mask_ = 0;  ///< one less than their number, a power of two
  std::size_t size_ = 0;
  std::size_t latest_ = 0;  ///< a slot: the last one that was taken, if no entry has moved since
};

}  // namespace streamsan::ordering
