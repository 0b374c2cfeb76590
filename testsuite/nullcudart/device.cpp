// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Devices, peer access between them, versions, properties of kernels. As in the real runtime every host thread has a
// current device, the first one until it calls cudaSetDevice.

#include "testsuite/nullcudart/runtime.h"

using streamsan::nullcudart::contexts_of;
using streamsan::nullcudart::current_device;
using streamsan::nullcudart::entries;
using streamsan::nullcudart::kernel_of;
using streamsan::nullcudart::load_driver;
using streamsan::nullcudart::prepare;
using streamsan::nullcudart::remember;
using streamsan::nullcudart::use_device;

namespace {

int attribute(CUdevice_attribute which, int device) {
  int value = 0;
  entries().cuDeviceGetAttribute(&value, which, device);
  return value;
}

/// A device is no peer of itself.
cudaError_t peer_context(int peer, CUcontext* context) {
  if (peer == current_device()) return cudaErrorInvalidDevice;
  return contexts_of(peer, peer, context, context);
}

}  // namespace

NC_EXPORT cudaGetDeviceCount(int* count) { NC_RETURN_EARLY(cuDeviceGetCount(count)); }

NC_EXPORT cudaSetDevice(int device) { return remember(use_device(device)); }

NC_EXPORT cudaGetDevice(int* device) {
  const cudaError_t result = load_driver();
  if (result == cudaSuccess) *device = current_device();
  return remember(result);
}

NC_EXPORT cudaSetDeviceFlags(unsigned flags) { NC_RETURN_EARLY(cuDevicePrimaryCtxSetFlags(current_device(), flags)); }

NC_EXPORT cudaGetDeviceFlags(unsigned* flags) {
  int active = 0;
  NC_RETURN_EARLY(cuDevicePrimaryCtxGetState(current_device(), flags, &active));
}

NC_EXPORT cudaDeviceSynchronize() { NC_RETURN(cuCtxSynchronize()); }

NC_EXPORT cudaDeviceReset() {
  if (const cudaError_t unready = load_driver(); unready != cudaSuccess) return remember(unready);
  const CUresult result = entries().cuDevicePrimaryCtxReset(current_device());
  streamsan::nullcudart::forget_context();
  return remember(static_cast<cudaError_t>(result));
}

NC_EXPORT cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device) {
  NC_RETURN_EARLY(cuDeviceGetAttribute(value, static_cast<CUdevice_attribute>(which), device));
}

NC_EXPORT cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  NC_RETURN(cuCtxGetStreamPriorityRange(least, greatest));
}

NC_EXPORT cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  NC_RETURN(cuCtxGetLimit(value, static_cast<CUlimit>(limit)));
}

NC_EXPORT cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  NC_RETURN(cuCtxSetLimit(static_cast<CUlimit>(limit), value));
}

NC_EXPORT cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  NC_RETURN_EARLY(cuDeviceCanAccessPeer(can, device, peer));
}

NC_EXPORT cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr which, int source, int destination) {
  NC_RETURN_EARLY(cuDeviceGetP2PAttribute(value, static_cast<CUdevice_P2PAttribute>(which), source, destination));
}

NC_EXPORT cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  CUcontext context = nullptr;
  if (const cudaError_t failed = peer_context(peer, &context); failed != cudaSuccess) return remember(failed);
  NC_RETURN(cuCtxEnablePeerAccess(context, flags));
}

NC_EXPORT cudaDeviceDisablePeerAccess(int peer) {
  CUcontext context = nullptr;
  if (const cudaError_t failed = peer_context(peer, &context); failed != cudaSuccess) return remember(failed);
  NC_RETURN(cuCtxDisablePeerAccess(context));
}

NC_EXPORT cudaDeviceGetByPCIBusId(int* device, const char* id) { NC_RETURN_EARLY(cuDeviceGetByPCIBusId(device, id)); }

NC_EXPORT cudaDeviceGetPCIBusId(char* id, int length, int device) {
  NC_RETURN_EARLY(cuDeviceGetPCIBusId(id, length, device));
}

NC_EXPORT cudaGetDeviceProperties(cudaDeviceProp* out, int device) {
  if (const cudaError_t unready = load_driver(); unready != cudaSuccess) return remember(unready);
  *out = {};
  const CUresult result = entries().cuDeviceGetName(out->name, sizeof(out->name), device);
  if (result != CUDA_SUCCESS) return remember(static_cast<cudaError_t>(result));
  entries().cuDeviceGetUuid(&out->uuid, device);
  entries().cuDeviceTotalMem(&out->totalGlobalMem, device);
  const auto get = [device](CUdevice_attribute which) { return attribute(which, device); };
  out->sharedMemPerBlock = static_cast<size_t>(get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK));
  out->sharedMemPerBlockOptin = static_cast<size_t>(get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
  out->sharedMemPerMultiprocessor = static_cast<size_t>(get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR));
  out->regsPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  out->regsPerMultiprocessor = get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  out->warpSize = get(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  out->memPitch = static_cast<size_t>(get(CU_DEVICE_ATTRIBUTE_MAX_PITCH));
  out->maxThreadsPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  for (int i = 0; i < 3; ++i) {
    out->maxThreadsDim[i] = get(static_cast<CUdevice_attribute>(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + i));
    out->maxGridSize[i] = get(static_cast<CUdevice_attribute>(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + i));
  }
  out->totalConstMem = static_cast<size_t>(get(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY));
  out->major = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  out->minor = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  out->textureAlignment = static_cast<size_t>(get(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT));
  out->texturePitchAlignment = static_cast<size_t>(get(CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT));
  out->multiProcessorCount = get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  out->maxThreadsPerMultiProcessor = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  out->maxBlocksPerMultiProcessor = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  out->pciBusID = get(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
  out->canMapHostMemory = get(CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
  out->concurrentKernels = get(CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS);
  out->asyncEngineCount = get(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
  out->unifiedAddressing = get(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
  out->memoryBusWidth = get(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  out->l2CacheSize = get(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  out->streamPrioritiesSupported = get(CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED);
  out->managedMemory = get(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
  out->concurrentManagedAccess = get(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
  out->computePreemptionSupported = get(CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED);
  out->canUseHostPointerForRegisteredMem = get(CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM);
  out->cooperativeLaunch = get(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
  out->hostRegisterSupported = get(CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED);
  out->memoryPoolsSupported = get(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
  return cudaSuccess;
}

NC_EXPORT cudaDriverGetVersion(int* version) {
  // No driver is version 0, not an error.
  if (load_driver() == cudaErrorInsufficientDriver) {
    *version = 0;
    return cudaSuccess;
  }
  NC_RETURN_EARLY(cuDriverGetVersion(version));
}

NC_EXPORT cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

NC_EXPORT cudaFuncGetAttributes(cudaFuncAttributes* out, const void* function) {
  CUkernel kernel = nullptr;
  if (const cudaError_t failed = kernel_of(function, &kernel); failed != cudaSuccess) return remember(failed);
  CUresult result = CUDA_SUCCESS;
  const auto get = [&](CUfunction_attribute which) {
    int value = 0;
    const CUresult one = entries().cuKernelGetAttribute(&value, which, kernel, current_device());
    if (one != CUDA_SUCCESS) result = one;
    return value;
  };
  *out = {};
  out->sharedSizeBytes = static_cast<size_t>(get(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  out->constSizeBytes = static_cast<size_t>(get(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES));
  out->localSizeBytes = static_cast<size_t>(get(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
  out->maxThreadsPerBlock = get(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  out->numRegs = get(CU_FUNC_ATTRIBUTE_NUM_REGS);
  out->ptxVersion = get(CU_FUNC_ATTRIBUTE_PTX_VERSION);
  out->binaryVersion = get(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  out->maxDynamicSharedSizeBytes = get(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  return remember(static_cast<cudaError_t>(result));
}

NC_EXPORT cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int block_size,
                                                        size_t shared) {
  CUkernel kernel = nullptr;
  if (const cudaError_t failed = kernel_of(function, &kernel); failed != cudaSuccess) return remember(failed);
  NC_RETURN(
      cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, reinterpret_cast<CUfunction>(kernel), block_size, shared));
}
