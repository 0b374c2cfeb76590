// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/footprints/tensor_code.h"

#include <atomic>
#include <cstdint>
#include <cstring>

#include "interposer/footprints/cubin_image.h"

namespace streamsan::footprints {
namespace {

constexpr std::size_t kInstructionBytes = 16;
// Nine bits say what is done, the three above in which form: the one with im2col offsets or a multicast mask differs.
constexpr std::uint64_t kOperationMask = 0x1ff;
constexpr std::uint64_t kTensorLoad = 0x1b4;       // UTMALDG
constexpr std::uint64_t kTensorStore = 0x1b5;      // UTMASTG
constexpr std::uint64_t kTensorReduction = 0x1b6;  // UTMAREDG

// Hashes of names, open addressing. A full table forgets: such a kernel would be believed complete, so it says "yes"
// then.
constexpr std::size_t kNames = 1 << 14;
constinit std::atomic<std::uint64_t> g_names[kNames] = {};
constinit std::atomic<std::size_t> g_count{0};
constinit std::atomic<bool> g_unreadable{false};  // a module's code was: any kernel may be in it

bool is_full() { return g_count.load(std::memory_order_relaxed) > kNames / 2; }

void remember(const char* name) {
  if (is_full()) return;
  const std::uint64_t hash = hash_of_name(name);
  for (std::size_t at = hash % kNames;; at = (at + 1) % kNames) {
    std::uint64_t found = g_names[at].load(std::memory_order_relaxed);
    if (found == hash) return;
    if (found == 0 && g_names[at].compare_exchange_strong(found, hash)) {
      g_count.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    if (found == hash) return;
  }
}

bool has_tensor_copy(const char* code, std::size_t bytes) {
  for (std::size_t at = 0; at + kInstructionBytes <= bytes; at += kInstructionBytes) {
    std::uint64_t word;
    std::memcpy(&word, code + at, sizeof word);
    const std::uint64_t operation = word & kOperationMask;
    if (operation == kTensorLoad || operation == kTensorStore || operation == kTensorReduction) return true;
  }
  return false;
}

/// Code that cannot be read may.
bool moves_tensors(const CubinImage& image, std::size_t index) {
  const CubinImage::Section code = image.section(index);
  return code.has_bytes && (!code.bytes || has_tensor_copy(code.bytes, code.size));
}

}  // namespace

void note_tensor_code(const char* cubin, std::size_t bytes) {
  const CubinImage image(cubin, bytes);
  if (image.count() == 0) g_unreadable.store(true, std::memory_order_relaxed);
  // Separately compiled functions have code of their own, and any kernel of the image may call them.
  bool any_kernel = false;
  for (std::size_t i = 0; i < image.count(); ++i) {
    const char* name = image.name_after(kCodePrefix, i);
    if (!name || !moves_tensors(image, i)) continue;
    remember(name);
    any_kernel = any_kernel || !image.is_kernel(name);
  }
  for (std::size_t i = 0; any_kernel && i < image.count(); ++i) {
    if (const char* name = image.name_after(kCodePrefix, i)) remember(name);
  }
}

bool uses_tensor_maps(const char* kernel) {
  if (is_full() || g_unreadable.load(std::memory_order_relaxed)) return true;
  const std::uint64_t hash = hash_of_name(kernel);
  for (std::size_t at = hash % kNames;; at = (at + 1) % kNames) {
    const std::uint64_t found = g_names[at].load(std::memory_order_relaxed);
    if (found == hash) return true;
    if (found == 0) return false;
  }
}

}  // namespace streamsan::footprints
