// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See memory.h.

#include "testsuite/nulldriver/memory.h"

#include <sys/mman.h>

#include <algorithm>

namespace streamsan::null {
namespace {

constexpr std::size_t kGiB = std::size_t{1} << 30;
constexpr std::size_t kCommitStep = std::size_t{2} << 20;

constexpr std::uintptr_t align_up(std::uintptr_t value, std::size_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

constexpr std::size_t kDeviceBytes = 64 * kGiB;

/// Where the device heap of the second and later devices begins; the pool heap follows.
constexpr std::uintptr_t further_device(CUdevice device) {
  return 0x7d1000000000 + static_cast<std::uintptr_t>(device - 1) * 2 * kDeviceBytes;
}

Heap& heap_of(Heap* (&heaps)[kMostDevices], CUdevice device, std::uintptr_t hint) {
  Heap*& heap = heaps[device];
  if (heap == nullptr) heap = new Heap(hint, kDeviceBytes, 512, PROT_READ | PROT_WRITE);
  return *heap;
}

}  // namespace

Heap::Heap(std::uintptr_t hint, std::size_t capacity, std::size_t alignment, int protection)
    : capacity_(capacity), alignment_(alignment), protection_(protection) {
  void* base =
      mmap(reinterpret_cast<void*>(hint), capacity, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    capacity_ = 0;
  } else {
    base_ = reinterpret_cast<std::uintptr_t>(base);
  }
}

std::uintptr_t Heap::take(std::size_t bytes, std::size_t alignment) {
  if (bytes > capacity_) return 0;
  bytes = rounded(bytes);
  alignment = std::max(alignment, alignment_);
  std::uintptr_t base = take_free(bytes, alignment);
  if (base == 0) base = take_new(bytes, alignment);
  if (base == 0) {
    merge_free();
    base = take_free(bytes, alignment);
  }
  if (base != 0) used_ += bytes;
  return base;
}

std::uintptr_t Heap::take_free(std::size_t bytes, std::size_t alignment) {
  for (std::size_t i = free_.size(); i-- > 0;) {
    Block& block = free_[i];
    if (block.bytes < bytes || block.base % alignment != 0) continue;
    const std::uintptr_t base = block.base;
    if (block.bytes == bytes) {
      free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      block = {base + bytes, block.bytes - bytes};
    }
    return base;
  }
  return 0;
}

std::uintptr_t Heap::take_new(std::size_t bytes, std::size_t alignment) {
  const std::size_t start = align_up(base_ + top_, alignment) - base_;
  if (start > capacity_ || bytes > capacity_ - start) return 0;
  const std::size_t end = start + bytes;
  if (protection_ != PROT_NONE && end > committed_) {
    const std::size_t wanted = std::min(align_up(end, kCommitStep), capacity_);
    if (mprotect(reinterpret_cast<void*>(base_ + committed_), wanted - committed_, protection_) != 0) return 0;
    committed_ = wanted;
  }
  top_ = end;
  return base_ + start;
}

void Heap::give(std::uintptr_t base, std::size_t bytes) {
  bytes = rounded(bytes);
  used_ -= bytes;
  free_.push_back({base, bytes});
}

void Heap::merge_free() {
  std::sort(free_.begin(), free_.end(), [](const Block& a, const Block& b) { return a.base < b.base; });
  std::vector<Block> merged;
  for (const Block& block : free_) {
    if (!merged.empty() && merged.back().base + merged.back().bytes == block.base) {
      merged.back().bytes += block.bytes;
    } else {
      merged.push_back(block);
    }
  }
  free_ = std::move(merged);
}

Allocations& allocations() {
  static Allocations& instance = *new Allocations;
  return instance;
}

Heap& device_heap(CUdevice device) {
  static Heap* heaps[kMostDevices] = {};
  return heap_of(heaps, device, device == 0 ? 0x7e0000000000 : further_device(device));
}

Heap& pool_heap(CUdevice device) {
  static Heap* heaps[kMostDevices] = {};
  return heap_of(heaps, device, device == 0 ? 0x7e2000000000 : further_device(device) + kDeviceBytes);
}

Heap& managed_heap() {
  static Heap& heap = *new Heap(0x7e4000000000, 64 * kGiB, 4096, PROT_READ | PROT_WRITE);
  return heap;
}

Heap& host_heap() {
  static Heap& heap = *new Heap(0x7d0000000000, 64 * kGiB, 4096, PROT_READ | PROT_WRITE);
  return heap;
}

Heap& virtual_heap() {
  static Heap& heap = *new Heap(0x7e6000000000, 256 * kGiB, kCommitStep, PROT_NONE);
  return heap;
}

std::uintptr_t allocate(Heap& heap, std::size_t bytes, MemoryKind kind, unsigned flags, CUcontext context) {
  const std::uintptr_t base = heap.take(bytes);
  if (base == 0) return 0;
  allocations()[base] = {.bytes = bytes,
                         .kind = kind,
                         .flags = flags,
                         .device = device_of(context),
                         .context = context,
                         .pool = nullptr,
                         .id = state().next_id++,
                         .heap = &heap};
  return base;
}

Allocations::iterator find_allocation(std::uintptr_t address) {
  auto after = allocations().upper_bound(address);
  if (after == allocations().begin()) return allocations().end();
  const auto candidate = std::prev(after);
  return address - candidate->first < candidate->second.bytes ? candidate : allocations().end();
}

bool device_accessible(std::uintptr_t address, std::size_t bytes) {
  while (bytes != 0) {
    const auto found = find_allocation(address);
    if (found == allocations().end()) return false;
    const std::size_t here = std::min(bytes, found->first + found->second.bytes - address);
    address += here;
    bytes -= here;
    if (bytes != 0 && found->second.kind != MemoryKind::Mapped) return false;
  }
  return true;
}

void release(Allocations::iterator allocation) {
  if (allocation->second.heap != nullptr) allocation->second.heap->give(allocation->first, allocation->second.bytes);
  if (CUmemoryPool pool = allocation->second.pool) pool->used -= allocation->second.bytes;
  allocations().erase(allocation);
}

void release_context_memory(CUcontext context) {
  for (auto at = allocations().begin(); at != allocations().end();) {
    const auto next = std::next(at);
    if (at->second.context == context && at->second.kind != MemoryKind::Mapped) release(at);
    at = next;
  }
}

}  // namespace streamsan::null
