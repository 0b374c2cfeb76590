// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/footprints/kernel_code.h"

#include <atomic>
#include <bit>

#include "interposer/footprints/cubin_image.h"
#include "interposer/footprints/kernel_names.h"

namespace streamsan::footprints {
namespace {

constexpr std::uint64_t kSeveral = 1;  // instead of a hash

constinit KernelNames<1 << 16> g_codes;  // what finds no room in a full table is not known

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

}  // namespace

void note_kernel_code(const char* cubin, std::size_t bytes) {
  const CubinImage image(cubin, bytes);
  if (image.count() == 0) return;
  const std::uint64_t code = hash_of_bytes(cubin, bytes);
  for (std::size_t i = 0; i < image.count(); ++i) {
    const char* name = image.name_after(kArgumentsPrefix, i);
    std::atomic<std::uint64_t>* code_of_name = name ? g_codes.find_or_add(name) : nullptr;
    if (!code_of_name) continue;
    std::uint64_t known = 0;
    if (!code_of_name->compare_exchange_strong(known, code) && known != code) code_of_name->store(kSeveral);
  }
}

std::uint64_t kernel_code(const char* name) {
  const std::atomic<std::uint64_t>* found = g_codes.find(name);
  const std::uint64_t code = found ? found->load(std::memory_order_acquire) : 0;
  return code == kSeveral ? 0 : code;
}

}  // namespace streamsan::footprints
