// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Classic allocation: device, pitched, managed, pinned and registered memory. A free needs the exact address of a live
// allocation of the right kind, else CUDA_ERROR_INVALID_VALUE.

#include "testsuite/nulldriver/memory.h"

#include <type_traits>

namespace streamsan::null {
namespace {

constexpr std::size_t kPitchAlignment = 512;

Heap& heap_of(MemoryKind kind, CUdevice device) {
  switch (kind) {
    case MemoryKind::Managed:
      return managed_heap();
    case MemoryKind::Host:
      return host_heap();
    default:
      return device_heap(device);
  }
}

template <class Pointer>
CUresult allocate_into(Pointer* out, std::size_t bytes, MemoryKind kind, unsigned flags) {
  CUcontext context = nullptr;
  if (const CUresult missing = require_context(&context); missing != CUDA_SUCCESS) return missing;
  if (const CUresult refused = check_unsafe(); refused != CUDA_SUCCESS) return refused;
  const std::uintptr_t base = allocate(heap_of(kind, context->device), bytes, kind, flags, context);
  if (base == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  if constexpr (std::is_pointer_v<Pointer>) {
    *out = reinterpret_cast<Pointer>(base);
  } else {
    *out = base;
  }
  return CUDA_SUCCESS;
}

CUresult allocate_host(void** out, std::size_t bytes, unsigned flags) {
  if (out == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  return allocate_into(out, bytes, MemoryKind::Host, flags);
}

template <class... Kinds>
CUresult free_at(std::uintptr_t base, Kinds... kinds) {
  {
    const Lock lock = lock_state();
    if (!state().initialised) return CUDA_ERROR_NOT_INITIALIZED;
    if (const CUresult refused = check_unsafe(); refused != CUDA_SUCCESS) return refused;
    const auto found = allocations().find(base);
    if (found == allocations().end() || !((found->second.kind == kinds) || ...)) return CUDA_ERROR_INVALID_VALUE;
    release(found);
  }
  block();
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace streamsan::null

using namespace streamsan::null;

SS_EXPORT cuMemAlloc(CUdeviceptr* out, size_t bytes) {
  SS_CALL(cuMemAlloc);
  if (out == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  return allocate_into(out, bytes, MemoryKind::Device, 0);
}

SS_EXPORT cuMemAllocPitch(CUdeviceptr* out, size_t* pitch, size_t width, size_t height, unsigned element) {
  SS_CALL(cuMemAllocPitch);
  if (out == nullptr || pitch == nullptr || width == 0 || height == 0) return CUDA_ERROR_INVALID_VALUE;
  if (element != 4 && element != 8 && element != 16) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t row = (width + kPitchAlignment - 1) & ~(kPitchAlignment - 1);
  const Lock lock = lock_state();
  const CUresult result = allocate_into(out, row * height, MemoryKind::Device, 0);
  if (result == CUDA_SUCCESS) *pitch = row;
  return result;
}

SS_EXPORT cuMemAllocManaged(CUdeviceptr* out, size_t bytes, unsigned flags) {
  SS_CALL(cuMemAllocManaged);
  if (out == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  return allocate_into(out, bytes, MemoryKind::Managed, flags);
}

/// Also takes stream-ordered memory, as the driver does.
SS_EXPORT cuMemFree(CUdeviceptr pointer) {
  SS_CALL(cuMemFree);
  if (pointer == 0) {
    const Lock lock = lock_state();
    return check_unsafe();
  }
  return free_at(pointer, MemoryKind::Device, MemoryKind::Managed, MemoryKind::Pool);
}

SS_EXPORT cuMemAllocHost(void** out, size_t bytes) {
  SS_CALL(cuMemAllocHost);
  return allocate_host(out, bytes, 0);
}

SS_EXPORT cuMemHostAlloc(void** out, size_t bytes, unsigned flags) {
  SS_CALL(cuMemHostAlloc);
  constexpr unsigned kKnown = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
  if ((flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  return allocate_host(out, bytes, flags);
}

SS_EXPORT cuMemFreeHost(void* pointer) {
  SS_CALL(cuMemFreeHost);
  return free_at(reinterpret_cast<std::uintptr_t>(pointer), MemoryKind::Host);
}

SS_EXPORT cuMemHostRegister(void* pointer, size_t bytes, unsigned flags) {
  SS_CALL(cuMemHostRegister);
  if (pointer == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  CUcontext context = nullptr;
  if (const CUresult missing = require_context(&context); missing != CUDA_SUCCESS) return missing;
  if (const CUresult refused = check_unsafe(); refused != CUDA_SUCCESS) return refused;
  const auto base = reinterpret_cast<std::uintptr_t>(pointer);
  const auto next = allocations().lower_bound(base);
  if (find_allocation(base) != allocations().end() || (next != allocations().end() && next->first < base + bytes)) {
    return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  }
  allocations()[base] = {.bytes = bytes,
                         .kind = MemoryKind::Registered,
                         .flags = flags,
                         .device = context->device,
                         .context = context,
                         .pool = nullptr,
                         .id = state().next_id++,
                         .heap = nullptr};
  return CUDA_SUCCESS;
}

SS_EXPORT cuMemHostUnregister(void* pointer) {
  SS_CALL(cuMemHostUnregister);
  const CUresult result = free_at(reinterpret_cast<std::uintptr_t>(pointer), MemoryKind::Registered);
  return result == CUDA_ERROR_INVALID_VALUE ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED : result;
}

SS_EXPORT cuMemHostGetDevicePointer(CUdeviceptr* out, void* pointer, unsigned flags) {
  SS_CALL(cuMemHostGetDevicePointer);
  if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  const auto found = find_allocation(reinterpret_cast<std::uintptr_t>(pointer));
  if (found == allocations().end()) return CUDA_ERROR_INVALID_VALUE;
  if (found->second.kind != MemoryKind::Host && found->second.kind != MemoryKind::Registered) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *out = reinterpret_cast<CUdeviceptr>(pointer);
  return CUDA_SUCCESS;
}

SS_EXPORT cuMemHostGetFlags(unsigned* flags, void* pointer) {
  SS_CALL(cuMemHostGetFlags);
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  const auto found = find_allocation(reinterpret_cast<std::uintptr_t>(pointer));
  if (found == allocations().end() || found->second.kind != MemoryKind::Host) return CUDA_ERROR_INVALID_VALUE;
  *flags = found->second.flags;
  return CUDA_SUCCESS;
}

SS_EXPORT cuMemGetInfo(size_t* available, size_t* total) {
  SS_CALL(cuMemGetInfo);
  if (available == nullptr || total == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  CUcontext context = nullptr;
  if (const CUresult missing = require_context(&context); missing != CUDA_SUCCESS) return missing;
  const Heap& heap = device_heap(context->device);
  *total = heap.capacity();
  *available = *total - heap.used();
  return CUDA_SUCCESS;
}
