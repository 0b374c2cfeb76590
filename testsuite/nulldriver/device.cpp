// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The devices: how many there are, and what each says about itself. Attributes that programs read to choose a launch
// shape or a code path have the values of a device of compute capability 9.0; any other known attribute is 0, which for
// the "is it supported" kind means no. Devices differ in name, UUID and place on the bus, and in nothing else.

#include "testsuite/nulldriver/memory.h"
#include "testsuite/nulldriver/objects.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace streamsan::null {

int device_count() {
  static const int count = [] {
    constexpr char kVariable[] = "STREAMSAN_NULL_DEVICES";
    const char* text = std::getenv(kVariable);
    if (text == nullptr) return 1;
    if (text[0] < '1' || text[0] > '0' + kMostDevices || text[1] != '\0') reject(kVariable, text);
    return text[0] - '0';
  }();
  return count;
}

CUresult check_device(CUdevice device) {
  if (!state().initialised) return CUDA_ERROR_NOT_INITIALIZED;
  return is_device(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

namespace {

CUresult lock_and_check(CUdevice device) {
  const Lock lock = lock_state();
  return check_device(device);
}

/// As on Grace: the device reads the page tables of the host.
bool uses_host_page_tables() {
  static const bool uses = std::getenv("STREAMSAN_NULL_HOST_PAGES") != nullptr;
  return uses;
}

std::string bus_id(CUdevice device) { return "0000:0" + std::to_string(device) + ":00.0"; }

int attribute(CUdevice_attribute which, CUdevice device) {
  switch (static_cast<int>(which)) {
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
      return device;
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
    case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS:
    case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES:
      return uses_host_page_tables() ? 1 : 0;
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
  const CUresult wrong = lock_and_check(0);
  if (wrong == CUDA_SUCCESS) *count = device_count();
  return wrong;
}

SS_EXPORT cuDeviceGet(CUdevice* device, int ordinal) {
  SS_CALL(cuDeviceGet);
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult wrong = lock_and_check(ordinal);
  if (wrong == CUDA_SUCCESS) *device = ordinal;
  return wrong;
}

SS_EXPORT cuDeviceGetName(char* name, int length, CUdevice device) {
  SS_CALL(cuDeviceGetName);
  if (name == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  const CUresult wrong = lock_and_check(device);
  if (wrong != CUDA_SUCCESS) return wrong;
  const std::string number = device == 0 ? "" : " " + std::to_string(device);
  std::snprintf(name, static_cast<std::size_t>(length), "StreamSan null device%s", number.c_str());
  return CUDA_SUCCESS;
}

SS_EXPORT cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  SS_CALL(cuDeviceGetUuid);
  if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult wrong = lock_and_check(device);
  if (wrong != CUDA_SUCCESS) return wrong;
  const std::string bytes = "streamsan-null-" + std::to_string(device);
  std::memcpy(uuid->bytes, bytes.c_str(), sizeof(uuid->bytes));
  return CUDA_SUCCESS;
}

SS_EXPORT cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  SS_CALL(cuDeviceTotalMem);
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult wrong = lock_and_check(device);
  const Lock lock = lock_state();
  if (wrong == CUDA_SUCCESS) *bytes = device_heap(device).capacity();
  return wrong;
}

SS_EXPORT cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice device) {
  SS_CALL(cuDeviceGetAttribute);
  if (value == nullptr || which <= 0 || which >= CU_DEVICE_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
  const CUresult wrong = lock_and_check(device);
  if (wrong == CUDA_SUCCESS) *value = attribute(which, device);
  return wrong;
}

SS_EXPORT cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  SS_CALL(cuDeviceComputeCapability);
  if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult wrong = lock_and_check(device);
  if (wrong != CUDA_SUCCESS) return wrong;
  *major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  *minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  return CUDA_SUCCESS;
}

SS_EXPORT cuDeviceGetPCIBusId(char* id, int length, CUdevice device) {
  SS_CALL(cuDeviceGetPCIBusId);
  if (id == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  const CUresult wrong = lock_and_check(device);
  if (wrong == CUDA_SUCCESS) std::snprintf(id, static_cast<std::size_t>(length), "%s", bus_id(device).c_str());
  return wrong;
}

SS_EXPORT cuDeviceGetByPCIBusId(CUdevice* device, const char* id) {
  SS_CALL(cuDeviceGetByPCIBusId);
  if (device == nullptr || id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (CUdevice candidate = 0; candidate < device_count(); ++candidate) {
    if (bus_id(candidate) != id) continue;
    *device = candidate;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_DEVICE;
}
