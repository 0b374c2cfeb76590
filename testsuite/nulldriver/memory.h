// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device memory that is really host memory, and the list of what is allocated.
//
// A Heap is one reserved range of addresses, far from where the C library and the loader put things, so that an address
// tells by itself what it is and, for device memory, on which device. The block freed last is the first to be handed
// out again: a tool that takes an address for an identity is found out. Freed blocks stay mapped: a program with a use
// after free gets old bytes, as on a device, and not a signal.
#pragma once

#include "testsuite/nulldriver/objects.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace streamsan::null {

class Heap {
 public:
  /// `hint`: the wanted address; elsewhere if it is taken.
  Heap(std::uintptr_t hint, std::size_t capacity, std::size_t alignment, int protection);
  /// 0 when the range is used up.
  std::uintptr_t take(std::size_t bytes, std::size_t alignment = 0);
  void give(std::uintptr_t base, std::size_t bytes);
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] std::size_t used() const { return used_; }

 private:
  struct Block {
    std::uintptr_t base;
    std::size_t bytes;
  };
  [[nodiscard]] std::size_t rounded(std::size_t bytes) const { return (bytes + alignment_ - 1) & ~(alignment_ - 1); }
  std::uintptr_t take_free(std::size_t bytes, std::size_t alignment);
  std::uintptr_t take_new(std::size_t bytes, std::size_t alignment);
  void merge_free();

  std::uintptr_t base_ = 0;
  std::size_t capacity_ = 0;
  std::size_t alignment_ = 1;
  int protection_ = 0;
  std::size_t top_ = 0;        ///< handed out at least once, from base_
  std::size_t committed_ = 0;  ///< accessible, from base_
  std::size_t used_ = 0;
  std::vector<Block> free_;  ///< in the order they were freed
};

enum class MemoryKind : std::uint8_t { Device, Pool, Managed, Host, Registered, Mapped, Global, Array };

struct Allocation {
  std::size_t bytes = 0;
  MemoryKind kind = MemoryKind::Device;
  unsigned flags = 0;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmemoryPool pool = nullptr;
  std::uint64_t id = 0;
  Heap* heap = nullptr;
};

using Allocations = std::map<std::uintptr_t, Allocation>;

// ---- all of these need the lock
// ---------------------------------------------------------------------------------------

Allocations& allocations();
Heap& device_heap(CUdevice device);
Heap& pool_heap(CUdevice device);
Heap& managed_heap();
Heap& host_heap();
Heap& virtual_heap();  ///< addresses only: cuMemMap makes them accessible

/// Takes from the heap and lists it, for the context and its device. 0 when memory is used up.
std::uintptr_t allocate(Heap& heap, std::size_t bytes, MemoryKind kind, unsigned flags, CUcontext context);
/// The first device's if there is no context.
inline CUdevice device_of(CUcontext context) { return context != nullptr ? context->device : 0; }
/// The allocation that contains the address, or end().
Allocations::iterator find_allocation(std::uintptr_t address);
/// Is [address, address + bytes) inside one allocation, or inside neighbouring mapped ranges?
bool device_accessible(std::uintptr_t address, std::size_t bytes);
void release(Allocations::iterator allocation);
void release_context_memory(CUcontext context);

}  // namespace streamsan::null
