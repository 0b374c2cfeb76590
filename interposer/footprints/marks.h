// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The marks: what the patches write on the GPU while a kernel runs, and the agent reads afterwards.
//
// Three bits for each byte (read, written, touched by an atomic), so edges are exact. Memory is looked at in regions of
// 256 KiB, and only a region that is touched gets marks: an open-addressing hash table from region number to a slot of
// 96 KiB. It needs no list of allocations, so module variables, managed, mapped host and peer memory, and what other
// libraries allocated behind our back, are all alike. A byte costs a look-up, one load, and an atomic only when its
// bits are not yet set.
//
// This header is read by nvcc for the device side and by the host's compiler.
#pragma once

#include <stdint.h>

namespace streamsan::footprints {

inline constexpr unsigned kRegionShift = 18;
inline constexpr unsigned kModes = 3;                              // in the order of StreamSanMode's bits
inline constexpr uint32_t kModeWords = (1u << kRegionShift) / 32;  // one bit for each byte
inline constexpr uint32_t kSlotWords = kModes * kModeWords;        // marks of one region
inline constexpr uint64_t kSlotBytes = uint64_t{kSlotWords} * 4;
inline constexpr unsigned kGroupShift = 3;  // regions in a row that have slots in a row, if these are free
inline constexpr unsigned kMostProbes = 128;
inline constexpr unsigned kFewProbes = 16;  // after so many it is asked whether there are too many regions anyway

inline constexpr unsigned long long kStopped = ~0ull;  // instead of a key: nothing is to be marked any more

enum Mode : uint32_t { kRead = 0, kWrite = 1, kAtomic = 2 };

/// In device memory; its address is what the patches are given.
struct Marks {
  unsigned long long* keys;  ///< region number + 1 of each slot; 0: free; kStopped
  uint32_t* words;           ///< kSlotWords for each slot
  uint32_t mask;             ///< number of slots - 1, a power of two less one
  uint32_t overflow;         ///< set when a region found no slot: the marks are not all there is
};

#ifdef __CUDACC__
#define STREAMSAN_BOTH __host__ __device__
#else
#define STREAMSAN_BOTH
#endif

/// The first slot to try. Neighbours stay together, so that their marks are read and cleared by one call of the driver:
/// 2 MiB, the size of PyTorch's small segments. With more of them a table would fill less before it overflows.
STREAMSAN_BOTH inline uint32_t slot_of(uint64_t region) {
  const uint64_t group = (region >> kGroupShift) * 0x9e3779b97f4a7c15ull;
  const uint32_t in_group = static_cast<uint32_t>(region) & ((1u << kGroupShift) - 1);
  return static_cast<uint32_t>(group >> 32) << kGroupShift | in_group;
}

#undef STREAMSAN_BOTH

}  // namespace streamsan::footprints
