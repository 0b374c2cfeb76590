// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fixed-size, lock-free map from driver handles to small values, in static memory.
//
// Handles are aligned pointers, so 0 is free to mean "empty" and 1 "deleted". Insertions and removals may race with
// look-ups of other handles; two threads that insert the same handle at once both see it inserted. A full table refuses
// insertions: a caller treats the handle as "not known" or "known", whichever is safe for it, and loses precision, not
// correctness.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace streamsan::recorder {

inline constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x ^= x >> 32;
  x *= 0x9e3779b97f4a7c15ull;
  x ^= x >> 29;
  return x;
}

/// FNV-1a. The cache of footprints keeps it between runs.
inline std::uint64_t hash_of_text(const char* text) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (; *text; ++text) hash = (hash ^ static_cast<unsigned char>(*text)) * 0x100000001b3ull;
  return hash;
}

template <class Value, std::size_t kCapacity>
class HandleTable {
  static_assert((kCapacity & (kCapacity - 1)) == 0);

 public:
  struct Entry {
    std::atomic<std::uint64_t> handle;
    std::atomic<Value> value;
  };

  /// The entry of the handle, or nullptr.
  Entry* find(std::uint64_t handle) {
    for (std::size_t probe = 0; probe < kMostProbes; ++probe) {
      Entry& entry = at(handle, probe);
      std::uint64_t found = entry.handle.load(std::memory_order_acquire);
      if (found == handle) return &entry;
      if (found == kEmpty) return nullptr;
    }
    return nullptr;
  }

  /// The entry of the handle, made if there was none (value zero). nullptr: no room. The value of a free entry is zero
  /// already: to write it here would wipe what another thread has just made of the same entry.
  Entry* insert(std::uint64_t handle) {
    if (Entry* known = find(handle)) return known;
    for (std::size_t probe = 0; probe < kMostProbes; ++probe) {
      Entry& entry = at(handle, probe);
      std::uint64_t found = entry.handle.load(std::memory_order_acquire);
      if (found == handle) return &entry;
      if (found != kEmpty && found != kDeleted) continue;
      if (entry.handle.compare_exchange_strong(found, handle, std::memory_order_acq_rel) || found == handle)
        return &entry;
    }
    return nullptr;
  }

  void erase(std::uint64_t handle) {
    if (Entry* entry = find(handle)) release(*entry, kDeleted);
  }

  /// Calls visit(handle) for each. The visitor may erase.
  template <class Visit>
  void for_each(Visit visit) {
    for (Entry& entry : entries_) {
      const std::uint64_t handle = entry.handle.load(std::memory_order_acquire);
      if (handle != kEmpty && handle != kDeleted) visit(handle);
    }
  }

  void clear() {
    for (Entry& entry : entries_) {
      if (entry.handle.load(std::memory_order_relaxed) != kEmpty) release(entry, kEmpty);
    }
  }

 private:
  static constexpr std::uint64_t kEmpty = 0;
  static constexpr std::uint64_t kDeleted = 1;
  static constexpr std::size_t kMostProbes = 64;

  static void release(Entry& entry, std::uint64_t state) {
    entry.value.store(Value{}, std::memory_order_relaxed);
    entry.handle.store(state, std::memory_order_release);
  }

  Entry& at(std::uint64_t handle, std::size_t probe) { return entries_[(mix_bits(handle) + probe) & (kCapacity - 1)]; }

  std::array<Entry, kCapacity> entries_;
};

}  // namespace streamsan::recorder
