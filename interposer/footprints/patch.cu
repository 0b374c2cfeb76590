// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The patches: device functions that the Sanitizer puts in front of every instruction that touches global memory. They
// mark the bytes (marks.h) and let the instruction go on.
//
// A patch runs inside somebody else's kernel, with his registers at stake: no local memory, no loops but those over
// words, no assumption about which lanes are active. `user` is null in a launch that is not measured; such a launch may
// meet patched code when another thread measures a kernel of the same module.
//
// What each instruction reports, seen on the GPU with driver 580: atomics and reductions come as read and write at once
// without a pointer to the data, stores with one; prefetches do not come at all; the bulk copies give their size in
// blocks of 16 bytes. Tensor-map copies (UTMALDG and its kin) are reported by no instruction class: see tensor_code.h.
#include <sanitizer_patching.h>

#include "interposer/footprints/marks.h"

namespace {

using namespace streamsan::footprints;

/// The marks of the region; null: no slot is free, or nothing is to be marked any more.
__device__ uint32_t* slot_for(Marks* marks, uint64_t region) {
  const unsigned long long key = region + 1;
  uint32_t slot = slot_of(region) & marks->mask;
  for (unsigned probe = 0; probe < kMostProbes; ++probe) {
    unsigned long long* place = &marks->keys[slot];
    unsigned long long found = *static_cast<volatile unsigned long long*>(place);
    if (found == 0) {
      found = atomicCAS(place, 0ull, key);
      if (found == 0) found = key;
    }
    if (found == key) return marks->words + uint64_t{slot} * kSlotWords;
    if (found == kStopped) return nullptr;
    if (probe == kFewProbes && *static_cast<volatile uint32_t*>(&marks->overflow)) return nullptr;
    slot = (slot + 1) & marks->mask;
  }
  marks->overflow = 1;
  return nullptr;
}

__device__ void set_bits(uint32_t* word, uint32_t bits) {
  if ((*static_cast<volatile uint32_t*>(word) & bits) != bits) atomicOr(word, bits);
}

/// Marks bytes that do not leave their aligned 32: any single access of a thread.
__device__ void mark_access(Marks* marks, uint64_t address, uint32_t bytes, Mode mode) {
  uint32_t* words = slot_for(marks, address >> kRegionShift);
  if (!words) return;
  const uint32_t in_region = static_cast<uint32_t>(address) & ((1u << kRegionShift) - 1);
  const uint32_t bits = (bytes >= 32 ? ~0u : (1u << bytes) - 1) << (in_region & 31);
  set_bits(words + mode * kModeWords + in_region / 32, bits);
}

/// A bulk copy of blocks of 16 bytes. All active lanes are handed the same copy.
__device__ void mark_bulk(Marks* marks, uint64_t address, uint32_t blocks, Mode mode) {
  const unsigned active = __activemask();
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  if (lane != static_cast<unsigned>(__ffs(static_cast<int>(active)) - 1)) return;
  for (uint32_t block = 0; block < blocks; ++block) mark_access(marks, address + 16ull * block, 16, mode);
}

}  // namespace

extern "C" {

__device__ __noinline__ SanitizerPatchResult streamsan_access(void* user, uint64_t, void* pointer, uint32_t bytes,
                                                              uint32_t flags, const void* data) {
  // A generic access may turn out to be one of shared or local memory.
  if (!user || (flags & SANITIZER_MEMORY_DEVICE_FLAG_PREFETCH) || !__isGlobal(pointer)) return SANITIZER_PATCH_SUCCESS;
  const bool writes = (flags & SANITIZER_MEMORY_DEVICE_FLAG_WRITE) != 0;
  const Mode mode = !writes ? kRead : data ? kWrite : kAtomic;
  mark_access(static_cast<Marks*>(user), reinterpret_cast<uint64_t>(pointer), bytes, mode);
  return SANITIZER_PATCH_SUCCESS;
}

__device__ __noinline__ SanitizerPatchResult streamsan_async_copy(void* user, uint64_t, void* source, uint32_t,
                                                                  uint32_t bytes) {
  if (user && source) mark_access(static_cast<Marks*>(user), reinterpret_cast<uint64_t>(source), bytes, kRead);
  return SANITIZER_PATCH_SUCCESS;
}

__device__ __noinline__ SanitizerPatchResult streamsan_bulk_load(void* user, uint64_t, uint64_t source, uint32_t,
                                                                 uint32_t, uint32_t data, uint32_t) {
  if (user) mark_bulk(static_cast<Marks*>(user), source, data & 0xffff, kRead);
  return SANITIZER_PATCH_SUCCESS;
}

__device__ __noinline__ SanitizerPatchResult streamsan_bulk_store(void* user, uint64_t, uint64_t target, uint32_t,
                                                                  uint32_t blocks) {
  if (user) mark_bulk(static_cast<Marks*>(user), target, blocks, kWrite);
  return SANITIZER_PATCH_SUCCESS;
}

__device__ __noinline__ SanitizerPatchResult streamsan_bulk_reduction(void* user, uint64_t, uint64_t target, uint32_t,
                                                                      uint32_t blocks) {
  if (user) mark_bulk(static_cast<Marks*>(user), target, blocks, kAtomic);
  return SANITIZER_PATCH_SUCCESS;
}
}
