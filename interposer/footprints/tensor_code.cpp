// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/footprints/tensor_code.h"

#include <atomic>
#include <cstdint>
#include <cstring>

#include "interposer/footprints/cubin_image.h"
#include "interposer/footprints/kernel_names.h"

namespace streamsan::footprints {
namespace {

constexpr std::size_t kInstructionBytes = 16;
// Nine bits say what is done, the three above in which form: the one with im2col offsets or a multicast mask differs.
constexpr std::uint64_t kOperationMask = 0x1ff;
constexpr std::uint64_t kTensorLoad = 0x1b4;       // UTMALDG
constexpr std::uint64_t kTensorStore = 0x1b5;      // UTMASTG
constexpr std::uint64_t kTensorReduction = 0x1b6;  // UTMAREDG

// A full table forgets: such a kernel would be believed complete, so the answer is "yes" then.
constinit KernelNames<1 << 14> g_movers;          // kernels that may move tensors
constinit std::atomic<bool> g_unreadable{false};  // a module's code was: any kernel may be in it

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
    g_movers.find_or_add(name);
    any_kernel = any_kernel || !image.is_kernel(name);
  }
  for (std::size_t i = 0; any_kernel && i < image.count(); ++i) {
    if (const char* name = image.name_after(kCodePrefix, i)) g_movers.find_or_add(name);
  }
}

bool uses_tensor_maps(const char* kernel) {
  return g_movers.is_full() || g_unreadable.load(std::memory_order_relaxed) || g_movers.find(kernel);
}

}  // namespace streamsan::footprints
