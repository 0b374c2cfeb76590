// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory pools as objects: the default pool of each device, pools of the program, their attributes. The stream-ordered
// allocations themselves are in by_stream/pool_memory.cpp.

#include "testsuite/nulldriver/pool.h"

#include <cstring>

namespace streamsan::null {

CUmemoryPool default_pool(CUdevice device) {
  CUmemoryPool& pool = state().devices[device].default_pool;
  if (pool == nullptr) {
    pool = state().pools.create();
    pool->device = device;
    pool->is_default = true;
  }
  return pool;
}

CUmemoryPool current_pool(CUdevice device) {
  CUmemoryPool pool = state().devices[device].current_pool;
  return pool != nullptr && state().pools.alive(pool) ? pool : default_pool(device);
}

namespace {

CUresult get_pool(CUmemoryPool* out, CUdevice device, CUmemoryPool (*pool)(CUdevice)) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  if (const CUresult wrong = check_device(device); wrong != CUDA_SUCCESS) return wrong;
  *out = pool(device);
  return CUDA_SUCCESS;
}

template <class Value>
CUresult copy_value(void* destination, const Value& source) {
  std::memcpy(destination, &source, sizeof(source));
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace streamsan::null

using namespace streamsan::null;

SS_EXPORT cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  SS_CALL(cuDeviceGetDefaultMemPool);
  return get_pool(pool, device, default_pool);
}

SS_EXPORT cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  SS_CALL(cuDeviceGetMemPool);
  return get_pool(pool, device, current_pool);
}

SS_EXPORT cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
  SS_CALL(cuDeviceSetMemPool);
  const Lock lock = lock_state();
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (!state().pools.alive(pool)) return CUDA_ERROR_INVALID_HANDLE;
  if (pool->device != device) return CUDA_ERROR_INVALID_VALUE;
  state().devices[device].current_pool = pool;
  return CUDA_SUCCESS;
}

SS_EXPORT cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  SS_CALL(cuMemPoolCreate);
  if (pool == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (properties->handleTypes != CU_MEM_HANDLE_TYPE_NONE || properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (!is_device(properties->location.id)) return CUDA_ERROR_INVALID_DEVICE;
  const Lock lock = lock_state();
  if (!state().initialised) return CUDA_ERROR_NOT_INITIALIZED;
  *pool = state().pools.create();
  (*pool)->device = properties->location.id;
  return CUDA_SUCCESS;
}

SS_EXPORT cuMemPoolDestroy(CUmemoryPool pool) {
  SS_CALL(cuMemPoolDestroy);
  const Lock lock = lock_state();
  if (!state().pools.alive(pool)) return CUDA_ERROR_INVALID_HANDLE;
  if (pool->is_default) return CUDA_ERROR_INVALID_VALUE;
  // Its live allocations outlive it.
  for (auto& [base, allocation] : allocations()) {
    if (allocation.pool == pool) allocation.pool = nullptr;
  }
  if (Device& home = state().devices[pool->device]; home.current_pool == pool) home.current_pool = nullptr;
  state().pools.destroy(pool);
  return CUDA_SUCCESS;
}

SS_EXPORT cuMemPoolTrimTo(CUmemoryPool pool, size_t) {
  SS_CALL(cuMemPoolTrimTo);
  const Lock lock = lock_state();
  return state().pools.alive(pool) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

SS_EXPORT cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute which, void* value) {
  SS_CALL(cuMemPoolSetAttribute);
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  if (!state().pools.alive(pool)) return CUDA_ERROR_INVALID_HANDLE;
  const auto flag = [value](int& target) {
    std::memcpy(&target, value, sizeof(target));
    return CUDA_SUCCESS;
  };
  switch (which) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      return flag(pool->reuse_follow_event_dependencies);
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
      return flag(pool->reuse_allow_opportunistic);
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      return flag(pool->reuse_allow_internal_dependencies);
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      std::memcpy(&pool->release_threshold, value, sizeof(pool->release_threshold));
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      pool->used_high = pool->used;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

SS_EXPORT cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute which, void* value) {
  SS_CALL(cuMemPoolGetAttribute);
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  if (!state().pools.alive(pool)) return CUDA_ERROR_INVALID_HANDLE;
  switch (which) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      return copy_value(value, pool->reuse_follow_event_dependencies);
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
      return copy_value(value, pool->reuse_allow_opportunistic);
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      return copy_value(value, pool->reuse_allow_internal_dependencies);
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      return copy_value(value, pool->release_threshold);
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      return copy_value(value, pool->used);
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return copy_value(value, pool->used_high);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

SS_EXPORT cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* map, size_t count) {
  SS_CALL(cuMemPoolSetAccess);
  const Lock lock = lock_state();
  if (!state().pools.alive(pool)) return CUDA_ERROR_INVALID_HANDLE;
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_device(map[i].location.id) || map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
      return CUDA_ERROR_NOT_SUPPORTED;
    }
  }
  return CUDA_SUCCESS;
}
