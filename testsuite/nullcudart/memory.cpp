// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocation without a stream, questions about memory, memory pools; and the peer copies, which have no per-thread
// variant in the runtime: stream 0 is the legacy stream there however the program was compiled.

#include "testsuite/nullcudart/runtime.h"

using streamsan::nullcudart::contexts_of;
using streamsan::nullcudart::entries;
using streamsan::nullcudart::prepare;
using streamsan::nullcudart::remember;

namespace {

CUdeviceptr* device_out(void** out) { return reinterpret_cast<CUdeviceptr*>(out); }
CUdeviceptr device(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

}  // namespace

NC_EXPORT cudaMalloc(void** out, size_t bytes) { NC_RETURN(cuMemAlloc(device_out(out), bytes)); }

NC_EXPORT cudaMallocPitch(void** out, size_t* pitch, size_t width, size_t height) {
  NC_RETURN(cuMemAllocPitch(device_out(out), pitch, width, height, 4));
}

NC_EXPORT cudaMalloc3D(cudaPitchedPtr* out, cudaExtent extent) {
  out->xsize = extent.width;
  out->ysize = extent.height;
  NC_RETURN(cuMemAllocPitch(device_out(&out->ptr), &out->pitch, extent.width, extent.height * extent.depth, 4));
}

NC_EXPORT cudaMallocManaged(void** out, size_t bytes, unsigned flags) {
  NC_RETURN(cuMemAllocManaged(device_out(out), bytes, flags));
}

/// cudaFree(0) is how many programs make the context. It reaches the driver: a capture refuses it.
NC_EXPORT cudaFree(void* pointer) { NC_RETURN(cuMemFree(device(pointer))); }

NC_EXPORT cudaMallocHost(void** out, size_t bytes) { NC_RETURN(cuMemAllocHost(out, bytes)); }

NC_EXPORT cudaHostAlloc(void** out, size_t bytes, unsigned flags) { NC_RETURN(cuMemHostAlloc(out, bytes, flags)); }

NC_EXPORT cudaFreeHost(void* pointer) {
  if (pointer == nullptr) return remember(prepare());
  NC_RETURN(cuMemFreeHost(pointer));
}

NC_EXPORT cudaHostRegister(void* pointer, size_t bytes, unsigned flags) {
  NC_RETURN(cuMemHostRegister(pointer, bytes, flags));
}

NC_EXPORT cudaHostUnregister(void* pointer) { NC_RETURN(cuMemHostUnregister(pointer)); }

NC_EXPORT cudaHostGetDevicePointer(void** out, void* pointer, unsigned flags) {
  NC_RETURN(cuMemHostGetDevicePointer(device_out(out), pointer, flags));
}

NC_EXPORT cudaHostGetFlags(unsigned* flags, void* pointer) { NC_RETURN(cuMemHostGetFlags(flags, pointer)); }

NC_EXPORT cudaMemGetInfo(size_t* available, size_t* total) { NC_RETURN(cuMemGetInfo(available, total)); }

NC_EXPORT cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice, cudaMemLocation location) {
  const CUmemLocation driver_location{static_cast<CUmemLocationType>(location.type), location.id};
  NC_RETURN(cuMemAdvise(device(pointer), bytes, static_cast<CUmem_advise>(advice), driver_location));
}

NC_EXPORT cudaPointerGetAttributes(cudaPointerAttributes* out, const void* pointer) {
  if (const cudaError_t unready = prepare(); unready != cudaSuccess) return remember(unready);
  unsigned type = 0;
  unsigned managed = 0;
  CUdeviceptr device_pointer = 0;
  void* host_pointer = nullptr;
  int ordinal = 0;
  CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                 CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER,
                                 CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void* answers[] = {&type, &managed, &device_pointer, &host_pointer, &ordinal};
  const CUresult result = entries().cuPointerGetAttributes(5, which, answers, device(pointer));
  if (result != CUDA_SUCCESS) return remember(static_cast<cudaError_t>(result));
  *out = {};
  out->type = managed != 0                   ? cudaMemoryTypeManaged
              : type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
              : type == CU_MEMORYTYPE_HOST   ? cudaMemoryTypeHost
                                             : cudaMemoryTypeUnregistered;
  out->device = ordinal;
  out->devicePointer = reinterpret_cast<void*>(device_pointer);
  out->hostPointer = out->type == cudaMemoryTypeUnregistered ? const_cast<void*>(pointer) : host_pointer;
  return cudaSuccess;
}

NC_EXPORT cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device_number) {
  NC_RETURN(cuDeviceGetDefaultMemPool(pool, device_number));
}

NC_EXPORT cudaDeviceGetMemPool(cudaMemPool_t* pool, int device_number) {
  NC_RETURN(cuDeviceGetMemPool(pool, device_number));
}

NC_EXPORT cudaDeviceSetMemPool(int device_number, cudaMemPool_t pool) {
  NC_RETURN(cuDeviceSetMemPool(device_number, pool));
}

NC_EXPORT cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  // Both structures have the same members in the same places, as have those of access.
  NC_RETURN(cuMemPoolCreate(pool, reinterpret_cast<const CUmemPoolProps*>(properties)));
}

NC_EXPORT cudaMemPoolDestroy(cudaMemPool_t pool) { NC_RETURN(cuMemPoolDestroy(pool)); }

NC_EXPORT cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes) { NC_RETURN(cuMemPoolTrimTo(pool, bytes)); }

NC_EXPORT cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* map, size_t count) {
  NC_RETURN(cuMemPoolSetAccess(pool, reinterpret_cast<const CUmemAccessDesc*>(map), count));
}

NC_EXPORT cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr which, void* value) {
  NC_RETURN(cuMemPoolSetAttribute(pool, static_cast<CUmemPool_attribute>(which), value));
}

NC_EXPORT cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr which, void* value) {
  NC_RETURN(cuMemPoolGetAttribute(pool, static_cast<CUmemPool_attribute>(which), value));
}

NC_EXPORT cudaMemcpyPeer(void* destination, int destination_device, const void* source, int source_device,
                         size_t bytes) {
  CUcontext to = nullptr;
  CUcontext from = nullptr;
  const cudaError_t failed = contexts_of(destination_device, source_device, &to, &from);
  if (failed != cudaSuccess) return remember(failed);
  NC_RETURN(cuMemcpyPeer(device(destination), to, device(source), from, bytes));
}

NC_EXPORT cudaMemcpyPeerAsync(void* destination, int destination_device, const void* source, int source_device,
                              size_t bytes, cudaStream_t stream) {
  CUcontext to = nullptr;
  CUcontext from = nullptr;
  const cudaError_t failed = contexts_of(destination_device, source_device, &to, &from);
  if (failed != cudaSuccess) return remember(failed);
  NC_RETURN(cuMemcpyPeerAsync(device(destination), to, device(source), from, bytes, stream));
}
