// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Questions about an address: cuMemGetAddressRange, cuPointerGetAttribute(s), and the hints that need a known address.
// An address nobody allocated is CUDA_ERROR_INVALID_VALUE for the single question; the list form answers it with zeros,
// as the driver does.

#include "testsuite/nulldriver/memory.h"

#include <cstring>

namespace streamsan::null {
namespace {

bool on_host(MemoryKind kind) { return kind == MemoryKind::Host || kind == MemoryKind::Registered; }

template <class Value>
CUresult put(void* data, Value value) {
  std::memcpy(data, &value, sizeof(value));
  return CUDA_SUCCESS;
}

CUresult answer(void* data, CUpointer_attribute which, CUdeviceptr pointer, Allocations::iterator found) {
  const Allocation& allocation = found->second;
  switch (which) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return put(data, allocation.context);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return put(data, static_cast<unsigned>(on_host(allocation.kind) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return put(data, pointer);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (!on_host(allocation.kind) && allocation.kind != MemoryKind::Managed) return CUDA_ERROR_INVALID_VALUE;
      return put(data, reinterpret_cast<void*>(pointer));
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return put(data, 0);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return put(data, static_cast<unsigned long long>(allocation.id));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return put(data, allocation.kind == MemoryKind::Managed ? 1u : 0u);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return put(data, allocation.device);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return put(data, 0u);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return put(data, static_cast<CUdeviceptr>(found->first));
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return put(data, allocation.bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return put(data, 1u);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return put(data, 0ull);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return put(data, static_cast<unsigned>(CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE));
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return put(data, allocation.pool);
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

/// Bytes that cuPointerGetAttributes clears for an unknown address.
std::size_t answer_bytes(CUpointer_attribute which) {
  switch (which) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return 8;
    default:
      return 4;
  }
}

}  // namespace
}  // namespace streamsan::null

using namespace streamsan::null;

SS_EXPORT cuMemGetAddressRange(CUdeviceptr* base, size_t* bytes, CUdeviceptr pointer) {
  SS_CALL(cuMemGetAddressRange);
  const Lock lock = lock_state();
  const auto found = find_allocation(pointer);
  if (found == allocations().end()) return CUDA_ERROR_NOT_FOUND;
  if (base != nullptr) *base = found->first;
  if (bytes != nullptr) *bytes = found->second.bytes;
  return CUDA_SUCCESS;
}

SS_EXPORT cuPointerGetAttribute(void* data, CUpointer_attribute which, CUdeviceptr pointer) {
  SS_CALL(cuPointerGetAttribute);
  if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  const auto found = find_allocation(pointer);
  if (found == allocations().end()) return CUDA_ERROR_INVALID_VALUE;
  return answer(data, which, pointer, found);
}

SS_EXPORT cuPointerGetAttributes(unsigned count, CUpointer_attribute* which, void** data, CUdeviceptr pointer) {
  SS_CALL(cuPointerGetAttributes);
  if (count == 0 || which == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  const auto found = find_allocation(pointer);
  for (unsigned i = 0; i < count; ++i) {
    std::memset(data[i], 0, answer_bytes(which[i]));
    if (found == allocations().end()) {
      if (which[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) put(data[i], -2);
      continue;
    }
    if (answer(data[i], which[i], pointer, found) == CUDA_ERROR_NOT_SUPPORTED) return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_SUCCESS;
}

/// A hint: nothing to do, but it must name managed memory.
SS_EXPORT cuMemAdvise(CUdeviceptr pointer, size_t bytes, CUmem_advise, CUmemLocation) {
  SS_CALL(cuMemAdvise);
  const Lock lock = lock_state();
  const auto found = find_allocation(pointer);
  if (found == allocations().end() || found->second.kind != MemoryKind::Managed || !device_accessible(pointer, bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

/// The one attribute that can be set. Copies here are complete when they return anyway.
SS_EXPORT cuPointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr pointer) {
  SS_CALL(cuPointerSetAttribute);
  if (value == nullptr || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  return device_accessible(pointer, 1) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
