// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/footprints/kernel_code.h"

#include <atomic>
#include <bit>

#include "interposer/footprints/cubin_image.h"

namespace streamsan::footprints {
namespace {

constexpr std::uint64_t kSeveral = 1;  // instead of a hash

/// Open addressing. What finds no room in a full table is not known.
constexpr std::size_t kNames = 1 << 16;
struct Entry {
  std::atomic<std::uint64_t> name;
  std::atomic<std::uint64_t> code;
};
constinit Entry g_entries[kNames] = {};
constinit std::atomic<std::size_t> g_count{0};

/// Four words at a time, each with a hash of its own: a multiplication need not wait for the one before.
std::uint64_t hash_of_bytes(const char* at, std::size_t bytes) {
  constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15ull;
  std::uint64_t lanes[4] = {1, 2, 3, 4};
  std::uint64_t words[4];
  constexpr std::size_t kBlock = sizeof words;
  std::uint64_t hash = bytes;
  const auto add_words = [&] {
    for (int i = 0; i < 4; ++i) lanes[i] = std::rotl((lanes[i] ^ words[i]) * kFactor, 29);
  };
  for (; bytes >= kBlock; at += kBlock, bytes -= kBlock) {
    std::memcpy(words, at, kBlock);
    add_words();
  }
  std::memset(words, 0, sizeof words);
  std::memcpy(words, at, bytes);
  add_words();
  for (const std::uint64_t lane : lanes) {
    hash = (hash ^ lane) * kFactor;
    hash ^= hash >> 32;
  }
  return hash > kSeveral ? hash : kSeveral + 1;
}

/// Null: there is none. `make`: then it is made, if there is room.
Entry* entry_of(const char* kernel, bool make) {
  const std::uint64_t name = hash_of_name(kernel);
  for (std::size_t at = name % kNames;; at = (at + 1) % kNames) {
    Entry& entry = g_entries[at];
    std::uint64_t found = entry.name.load(std::memory_order_acquire);
    if (found == name) return &entry;
    if (found != 0) continue;
    if (!make || g_count.load(std::memory_order_relaxed) > kNames / 2) return nullptr;
    if (entry.name.compare_exchange_strong(found, name)) {
      g_count.fetch_add(1, std::memory_order_relaxed);
      return &entry;
    }
    if (found == name) return &entry;
  }
}

}  // namespace

void note_kernel_code(const char* cubin, std::size_t bytes) {
  const CubinImage image(cubin, bytes);
  if (image.count() == 0) return;
  const std::uint64_t code = hash_of_bytes(cubin, bytes);
  for (std::size_t i = 0; i < image.count(); ++i) {
    const char* name = image.name_after(kArgumentsPrefix, i);
    Entry* entry = name ? entry_of(name, true) : nullptr;
    if (!entry) continue;
    std::uint64_t known = 0;
    if (!entry->code.compare_exchange_strong(known, code) && known != code) entry->code.store(kSeveral);
  }
}

std::uint64_t kernel_code(const char* name) {
  const Entry* entry = entry_of(name, false);
  const std::uint64_t code = entry ? entry->code.load(std::memory_order_acquire) : 0;
  return code == kSeveral ? 0 : code;
}

}  // namespace streamsan::footprints
