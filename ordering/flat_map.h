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
// Pointers to values are valid until the next insertion or erasure.
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
    if (slots_.empty()) return nullptr;
    for (std::size_t i = home(key);; i = next(i)) {
      if (!slots_[i].used) return nullptr;
      if (slots_[i].key == key) return &slots_[i].value;
    }
  }

  /// The value of the key, made by default if there was none.
  /// Moves values only when the key is new: references to others stay valid until then.
  Value& operator[](std::uint64_t key) {
    if (Value* known = find(key)) return *known;
    if ((size_ + 1) * 4 > slots_.size() * 3) resize(slots_.empty() ? kSmallest : slots_.size() * 2);
    std::size_t i = home(key);
    while (slots_[i].used) i = next(i);
    slots_[i].used = true;
    slots_[i].key = key;
    ++size_;
    return slots_[i].value;
  }

  bool erase(std::uint64_t key) {
    if (slots_.empty()) return false;
    std::size_t hole = home(key);
    for (;; hole = next(hole)) {
      if (!slots_[hole].used) return false;
      if (slots_[hole].key == key) break;
    }
    for (std::size_t i = next(hole); slots_[i].used; i = next(i)) {
      // The entry at i may fill the hole unless its home lies after the hole.
      const std::size_t distance_of_home = (i - home(slots_[i].key)) & (slots_.size() - 1);
      const std::size_t distance_of_hole = (i - hole) & (slots_.size() - 1);
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
    size_ = 0;
  }

  /// Calls visit(key, value) for every entry, in no particular order.
  template <typename Visit>
  void for_each(Visit visit) {
    for (Slot& slot : slots_) {
      if (slot.used) visit(slot.key, slot.value);
    }
  }
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const Slot& slot : slots_) {
      if (slot.used) visit(slot.key, slot.value);
    }
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    Value value{};
    bool used = false;
  };
  static constexpr std::size_t kSmallest = 8;

  [[nodiscard]] std::size_t home(std::uint64_t key) const {
    const std::uint64_t mixed = key * 0x9E3779B97F4A7C15ull;
    return static_cast<std::size_t>(mixed ^ (mixed >> 32)) & (slots_.size() - 1);
  }
  [[nodiscard]] std::size_t next(std::size_t i) const { return (i + 1) & (slots_.size() - 1); }

  void resize(std::size_t slots) {
    if (slots < kSmallest) slots = kSmallest;
    std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots));
    for (Slot& slot : old) {
      if (!slot.used) continue;
      std::size_t i = home(slot.key);
      while (slots_[i].used) i = next(i);
      slots_[i] = std::move(slot);
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace streamsan::ordering
