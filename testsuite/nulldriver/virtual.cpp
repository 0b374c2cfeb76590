// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Virtual memory management: addresses are reserved, memory is made, one is mapped to the other. The memory is a memfd,
// so that two mappings of one handle really show the same bytes. Access rights are the host's: memory is unreachable
// until cuMemSetAccess, and what the last such call gave any device, every device has.

#include "testsuite/nulldriver/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <iterator>

namespace streamsan::null {
namespace {

constexpr std::size_t kGranularity = std::size_t{2} << 20;

struct Physical {
  int file = -1;
  CUdevice device = 0;
  std::size_t bytes = 0;
  unsigned references = 0;  ///< the handle itself, and each mapping
  bool released = false;
};

using Physicals = std::map<CUmemGenericAllocationHandle, Physical>;

Physicals& physicals() {
  static Physicals& instance = *new Physicals;
  return instance;
}

std::map<std::uintptr_t, std::size_t>& reservations() {
  static auto& instance = *new std::map<std::uintptr_t, std::size_t>;
  return instance;
}

std::map<std::uintptr_t, CUmemGenericAllocationHandle>& mappings() {
  static auto& instance = *new std::map<std::uintptr_t, CUmemGenericAllocationHandle>;
  return instance;
}

void drop(Physicals::iterator physical) {
  if (--physical->second.references != 0) return;
  close(physical->second.file);
  physicals().erase(physical);
}

bool reserved(std::uintptr_t address, std::size_t bytes) {
  auto after = reservations().upper_bound(address);
  if (after == reservations().begin()) return false;
  --after;
  return address + bytes <= after->first + after->second;
}

bool aligned(std::uintptr_t value) { return value % kGranularity == 0; }

bool supported(const CUmemAllocationProp* property) {
  return property->type == CU_MEM_ALLOCATION_TYPE_PINNED && property->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
         is_device(property->location.id);
}

int protection_of(CUmemAccess_flags flags) {
  switch (flags) {
    case CU_MEM_ACCESS_FLAGS_PROT_READWRITE:
      return PROT_READ | PROT_WRITE;
    case CU_MEM_ACCESS_FLAGS_PROT_READ:
      return PROT_READ;
    default:
      return PROT_NONE;
  }
}

}  // namespace
}  // namespace streamsan::null

using namespace streamsan::null;

SS_EXPORT cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* property,
                                        CUmemAllocationGranularity_flags) {
  SS_CALL(cuMemGetAllocationGranularity);
  if (granularity == nullptr || property == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!supported(property)) return CUDA_ERROR_NOT_SUPPORTED;
  *granularity = kGranularity;
  return CUDA_SUCCESS;
}

SS_EXPORT cuMemAddressReserve(CUdeviceptr* out, size_t bytes, size_t alignment, CUdeviceptr, unsigned long long flags) {
  SS_CALL(cuMemAddressReserve);
  if (out == nullptr || bytes == 0 || !aligned(bytes) || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if ((alignment & (alignment - 1)) != 0) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  if (!state().initialised) return CUDA_ERROR_NOT_INITIALIZED;
  const std::uintptr_t base = virtual_heap().take(bytes, alignment);
  if (base == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  reservations()[base] = bytes;
  *out = base;
  return CUDA_SUCCESS;
}

SS_EXPORT cuMemAddressFree(CUdeviceptr base, size_t bytes) {
  SS_CALL(cuMemAddressFree);
  const Lock lock = lock_state();
  const auto found = reservations().find(base);
  if (found == reservations().end() || found->second != bytes) return CUDA_ERROR_INVALID_VALUE;
  const auto mapped = mappings().lower_bound(base);
  if (mapped != mappings().end() && mapped->first < base + bytes) return CUDA_ERROR_INVALID_VALUE;
  virtual_heap().give(base, bytes);
  reservations().erase(found);
  return CUDA_SUCCESS;
}

SS_EXPORT cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp* property,
                      unsigned long long flags) {
  SS_CALL(cuMemCreate);
  if (handle == nullptr || property == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (bytes == 0 || !aligned(bytes)) return CUDA_ERROR_INVALID_VALUE;
  if (!supported(property)) return CUDA_ERROR_NOT_SUPPORTED;
  const int file = memfd_create("streamsan-null", MFD_CLOEXEC);
  if (file < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  if (ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    close(file);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  const Lock lock = lock_state();
  *handle = state().next_id++;
  physicals()[*handle] = {
      .file = file, .device = property->location.id, .bytes = bytes, .references = 1, .released = false};
  return CUDA_SUCCESS;
}

SS_EXPORT cuMemRelease(CUmemGenericAllocationHandle handle) {
  SS_CALL(cuMemRelease);
  const Lock lock = lock_state();
  const auto found = physicals().find(handle);
  if (found == physicals().end() || found->second.released) return CUDA_ERROR_INVALID_VALUE;
  found->second.released = true;
  drop(found);
  return CUDA_SUCCESS;
}

SS_EXPORT cuMemMap(CUdeviceptr base, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                   unsigned long long flags) {
  SS_CALL(cuMemMap);
  if (bytes == 0 || !aligned(bytes) || !aligned(base) || offset != 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  const auto found = physicals().find(handle);
  if (found == physicals().end() || found->second.released || bytes > found->second.bytes) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto next = allocations().lower_bound(base);
  if (!reserved(base, bytes) || find_allocation(base) != allocations().end() ||
      (next != allocations().end() && next->first < base + bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (mmap(reinterpret_cast<void*>(base), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, found->second.file, 0) ==
      MAP_FAILED) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  ++found->second.references;
  mappings()[base] = handle;
  allocations()[base] = {.bytes = bytes,
                         .kind = MemoryKind::Mapped,
                         .flags = 0,
                         .device = found->second.device,
                         .context = nullptr,
                         .pool = nullptr,
                         .id = state().next_id++,
                         .heap = nullptr};
  return CUDA_SUCCESS;
}

SS_EXPORT cuMemSetAccess(CUdeviceptr base, size_t bytes, const CUmemAccessDesc* descriptors, size_t count) {
  SS_CALL(cuMemSetAccess);
  if (bytes == 0 || descriptors == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  int protection = PROT_NONE;
  for (std::size_t i = 0; i < count; ++i) {
    const CUmemLocation& location = descriptors[i].location;
    if (location.type != CU_MEM_LOCATION_TYPE_DEVICE || !is_device(location.id)) return CUDA_ERROR_NOT_SUPPORTED;
    protection |= protection_of(descriptors[i].flags);
  }
  const Lock lock = lock_state();
  const auto found = find_allocation(base);
  if (found == allocations().end() || found->second.kind != MemoryKind::Mapped || !device_accessible(base, bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return mprotect(reinterpret_cast<void*>(base), bytes, protection) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/// The range must be whole mappings.
SS_EXPORT cuMemUnmap(CUdeviceptr base, size_t bytes) {
  SS_CALL(cuMemUnmap);
  const Lock lock = lock_state();
  std::uintptr_t covered = base;
  for (auto at = mappings().find(base); at != mappings().end() && at->first == covered && covered < base + bytes;
       ++at) {
    covered += allocations().at(at->first).bytes;
  }
  if (bytes == 0 || covered != base + bytes) return CUDA_ERROR_INVALID_VALUE;
  void* start = reinterpret_cast<void*>(base);
  if (mmap(start, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  for (auto at = mappings().find(base); at != mappings().end() && at->first < base + bytes;) {
    allocations().erase(at->first);
    drop(physicals().find(at->second));
    at = mappings().erase(at);
  }
  return CUDA_SUCCESS;
}
