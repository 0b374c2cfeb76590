// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one device: what it says about itself. Attributes that programs read to choose a launch shape or a code path have
// the values of a device of compute capability 9.0; any other known attribute is 0, which for the "is it supported"
// kind means no.

#include "testsuite/nulldriver/memory.h"
#include "testsuite/nulldriver/objects.h"

#include <cstdio>
#include <cstring>

namespace streamsan::null {
namespace {

CUresult check_device(CUdevice device) {
  const Lock lock = lock_state();
  if (!state().initialised) return CUDA_ERROR_NOT_INITIALIZED;
  return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

int attribute(CUdevice_attribute which) {
  switch (static_cast<int>(which)) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
      return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
      return 64;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
      return 0x7fffffff;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
      return 65535;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
      return 48 << 10;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      return 227 << 10;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      return 228 << 10;
    case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY:
      return 64 << 10;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      return 32;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
      return 65536;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      return 2048;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
      return 32;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return 132;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      return 1'980'000;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
      return 3'201'000;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
      return 6144;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      return 50 << 20;
    case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT:
      return 512;
    case CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT:
      return 32;
    case CU_DEVICE_ATTRIBUTE_MAX_PITCH:
      return 0x7fffffff;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return 9;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
      return 3;
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
    case CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
    case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR:
      return 1;
    default:
      return 0;
  }
}

}  // namespace
}  // namespace streamsan::null

using namespace streamsan::null;

SS_EXPORT cuDeviceGetCount(int* count) {
  SS_CALL(cuDeviceGetCount);
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult wrong = check_device(0);
  if (wrong == CUDA_SUCCESS) *count = 1;
  return wrong;
}

SS_EXPORT cuDeviceGet(CUdevice* device, int ordinal) {
  SS_CALL(cuDeviceGet);
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult wrong = check_device(ordinal);
  if (wrong == CUDA_SUCCESS) *device = ordinal;
  return wrong;
}

SS_EXPORT cuDeviceGetName(char* name, int length, CUdevice device) {
  SS_CALL(cuDeviceGetName);
  if (name == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  const CUresult wrong = check_device(device);
  if (wrong == CUDA_SUCCESS) std::snprintf(name, static_cast<std::size_t>(length), "StreamSan null device");
  return wrong;
}

SS_EXPORT cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  SS_CALL(cuDeviceGetUuid);
  if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult wrong = check_device(device);
  if (wrong == CUDA_SUCCESS) std::memcpy(uuid->bytes, "streamsan-null-0", sizeof(uuid->bytes));
  return wrong;
}

SS_EXPORT cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  SS_CALL(cuDeviceTotalMem);
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult wrong = check_device(device);
  const Lock lock = lock_state();
  if (wrong == CUDA_SUCCESS) *bytes = device_heap().capacity();
  return wrong;
}

SS_EXPORT cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice device) {
  SS_CALL(cuDeviceGetAttribute);
  if (value == nullptr || which <= 0 || which >= CU_DEVICE_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
  const CUresult wrong = check_device(device);
  if (wrong == CUDA_SUCCESS) *value = attribute(which);
  return wrong;
}

SS_EXPORT cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  SS_CALL(cuDeviceComputeCapability);
  if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult wrong = check_device(device);
  if (wrong != CUDA_SUCCESS) return wrong;
  *major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  *minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  return CUDA_SUCCESS;
}

SS_EXPORT cuDeviceGetPCIBusId(char* id, int length, CUdevice device) {
  SS_CALL(cuDeviceGetPCIBusId);
  if (id == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  const CUresult wrong = check_device(device);
  if (wrong == CUDA_SUCCESS) std::snprintf(id, static_cast<std::size_t>(length), "0000:00:00.0");
  return wrong;
}

SS_EXPORT cuDeviceGetByPCIBusId(CUdevice* device, const char* id) {
  SS_CALL(cuDeviceGetByPCIBusId);
  if (device == nullptr || id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (std::strcmp(id, "0000:00:00.0") != 0) return CUDA_ERROR_INVALID_DEVICE;
  *device = 0;
  return CUDA_SUCCESS;
}

/// There is one device, and a device is no peer of itself.
SS_EXPORT cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  SS_CALL(cuDeviceCanAccessPeer);
  if (can == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult wrong = check_device(device); wrong != CUDA_SUCCESS) return wrong;
  if (const CUresult wrong = check_device(peer); wrong != CUDA_SUCCESS) return wrong;
  *can = 0;
  return CUDA_SUCCESS;
}
