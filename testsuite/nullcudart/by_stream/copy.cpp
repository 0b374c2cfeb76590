// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies and memsets. Compiled twice, see runtime.h.
//
// The kind chooses the driver function: HostToDevice cuMemcpyHtoD, DeviceToHost cuMemcpyDtoH, DeviceToDevice
// cuMemcpyDtoD, Default and HostToHost cuMemcpy, which finds the sides from the addresses.

#include "testsuite/nullcudart/runtime.h"

using streamsan::nullcudart::contexts_of;
using streamsan::nullcudart::remember;
using streamsan::nullcudart::symbol_of;

namespace {

CUdeviceptr device(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

CUmemorytype destination_type(cudaMemcpyKind kind) {
  if (kind == cudaMemcpyDefault) return CU_MEMORYTYPE_UNIFIED;
  return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
}

CUmemorytype source_type(cudaMemcpyKind kind) {
  if (kind == cudaMemcpyDefault) return CU_MEMORYTYPE_UNIFIED;
  return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
}

template <class Shape>
void set_sides(Shape& shape, void* destination, const void* source, cudaMemcpyKind kind) {
  shape.dstMemoryType = destination_type(kind);
  shape.srcMemoryType = source_type(kind);
  shape.dstHost = destination;
  shape.dstDevice = device(destination);
  shape.srcHost = source;
  shape.srcDevice = device(source);
}

CUDA_MEMCPY2D rectangle(void* destination, size_t destination_pitch, const void* source, size_t source_pitch,
                        size_t width, size_t height, cudaMemcpyKind kind) {
  CUDA_MEMCPY2D shape{};
  set_sides(shape, destination, source, kind);
  shape.dstPitch = destination_pitch;
  shape.srcPitch = source_pitch;
  shape.WidthInBytes = width;
  shape.Height = height;
  return shape;
}

/// CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER have the members set here in common.
template <class Shape, class Parameters>
Shape box(const Parameters& parameters, cudaMemcpyKind kind) {
  Shape shape{};
  set_sides(shape, parameters.dstPtr.ptr, parameters.srcPtr.ptr, kind);
  shape.dstPitch = parameters.dstPtr.pitch;
  shape.dstHeight = parameters.dstPtr.ysize;
  shape.srcPitch = parameters.srcPtr.pitch;
  shape.srcHeight = parameters.srcPtr.ysize;
  shape.dstXInBytes = parameters.dstPos.x;
  shape.dstY = parameters.dstPos.y;
  shape.dstZ = parameters.dstPos.z;
  shape.srcXInBytes = parameters.srcPos.x;
  shape.srcY = parameters.srcPos.y;
  shape.srcZ = parameters.srcPos.z;
  shape.WidthInBytes = parameters.extent.width;
  shape.Height = parameters.extent.height;
  shape.Depth = parameters.extent.depth;
  return shape;
}

bool has_array(const cudaMemcpy3DParms* parameters) {
  return parameters->srcArray != nullptr || parameters->dstArray != nullptr;
}

CUDA_MEMCPY2D into_array(cudaArray_t array, size_t x, size_t y, const void* source, size_t pitch, size_t width,
                         size_t height, cudaMemcpyKind kind) {
  CUDA_MEMCPY2D shape = rectangle(nullptr, 0, source, pitch, width, height, kind);
  shape.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  shape.dstArray = reinterpret_cast<CUarray>(array);
  shape.dstXInBytes = x;
  shape.dstY = y;
  return shape;
}

CUDA_MEMCPY2D out_of_array(void* destination, size_t pitch, cudaArray_const_t array, size_t x, size_t y, size_t width,
                           size_t height, cudaMemcpyKind kind) {
  CUDA_MEMCPY2D shape = rectangle(destination, pitch, nullptr, 0, width, height, kind);
  shape.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  shape.srcArray = reinterpret_cast<CUarray>(const_cast<cudaArray*>(array));
  shape.srcXInBytes = x;
  shape.srcY = y;
  return shape;
}

cudaError_t set_contexts(CUDA_MEMCPY3D_PEER& shape, const cudaMemcpy3DPeerParms& parameters) {
  return contexts_of(parameters.dstDevice, parameters.srcDevice, &shape.dstContext, &shape.srcContext);
}

}  // namespace

NC_EXPORT cudaMemcpy(void* destination, const void* source, size_t bytes, cudaMemcpyKind kind) {
  switch (kind) {
    case cudaMemcpyHostToDevice:
      NC_RETURN(cuMemcpyHtoD(device(destination), source, bytes));
    case cudaMemcpyDeviceToHost:
      NC_RETURN(cuMemcpyDtoH(destination, device(source), bytes));
    case cudaMemcpyDeviceToDevice:
      NC_RETURN(cuMemcpyDtoD(device(destination), device(source), bytes));
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
      NC_RETURN(cuMemcpy(device(destination), device(source), bytes));
  }
  return remember(cudaErrorInvalidMemcpyDirection);
}

NC_EXPORT cudaMemcpyAsync(void* destination, const void* source, size_t bytes, cudaMemcpyKind kind,
                          cudaStream_t stream) {
  switch (kind) {
    case cudaMemcpyHostToDevice:
      NC_RETURN(cuMemcpyHtoDAsync(device(destination), source, bytes, stream));
    case cudaMemcpyDeviceToHost:
      NC_RETURN(cuMemcpyDtoHAsync(destination, device(source), bytes, stream));
    case cudaMemcpyDeviceToDevice:
      NC_RETURN(cuMemcpyDtoDAsync(device(destination), device(source), bytes, stream));
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
      NC_RETURN(cuMemcpyAsync(device(destination), device(source), bytes, stream));
  }
  return remember(cudaErrorInvalidMemcpyDirection);
}

NC_EXPORT cudaMemcpyToSymbol(const void* symbol, const void* source, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  CUdeviceptr address = 0;
  if (const cudaError_t failed = symbol_of(symbol, &address, nullptr); failed != cudaSuccess) return remember(failed);
  if (kind == cudaMemcpyHostToDevice) NC_RETURN(cuMemcpyHtoD(address + offset, source, bytes));
  if (kind == cudaMemcpyDeviceToDevice) NC_RETURN(cuMemcpyDtoD(address + offset, device(source), bytes));
  if (kind == cudaMemcpyDefault) NC_RETURN(cuMemcpy(address + offset, device(source), bytes));
  return remember(cudaErrorInvalidMemcpyDirection);
}

NC_EXPORT cudaMemcpyToSymbolAsync(const void* symbol, const void* source, size_t bytes, size_t offset,
                                  cudaMemcpyKind kind, cudaStream_t stream) {
  CUdeviceptr address = 0;
  if (const cudaError_t failed = symbol_of(symbol, &address, nullptr); failed != cudaSuccess) return remember(failed);
  if (kind == cudaMemcpyHostToDevice) NC_RETURN(cuMemcpyHtoDAsync(address + offset, source, bytes, stream));
  if (kind == cudaMemcpyDeviceToDevice) NC_RETURN(cuMemcpyDtoDAsync(address + offset, device(source), bytes, stream));
  if (kind == cudaMemcpyDefault) NC_RETURN(cuMemcpyAsync(address + offset, device(source), bytes, stream));
  return remember(cudaErrorInvalidMemcpyDirection);
}

NC_EXPORT cudaMemcpyFromSymbol(void* destination, const void* symbol, size_t bytes, size_t offset,
                               cudaMemcpyKind kind) {
  CUdeviceptr address = 0;
  if (const cudaError_t failed = symbol_of(symbol, &address, nullptr); failed != cudaSuccess) return remember(failed);
  if (kind == cudaMemcpyDeviceToHost) NC_RETURN(cuMemcpyDtoH(destination, address + offset, bytes));
  if (kind == cudaMemcpyDeviceToDevice) NC_RETURN(cuMemcpyDtoD(device(destination), address + offset, bytes));
  if (kind == cudaMemcpyDefault) NC_RETURN(cuMemcpy(device(destination), address + offset, bytes));
  return remember(cudaErrorInvalidMemcpyDirection);
}

NC_EXPORT cudaMemcpyFromSymbolAsync(void* destination, const void* symbol, size_t bytes, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream) {
  CUdeviceptr address = 0;
  if (const cudaError_t failed = symbol_of(symbol, &address, nullptr); failed != cudaSuccess) return remember(failed);
  if (kind == cudaMemcpyDeviceToHost) NC_RETURN(cuMemcpyDtoHAsync(destination, address + offset, bytes, stream));
  if (kind == cudaMemcpyDeviceToDevice) {
    NC_RETURN(cuMemcpyDtoDAsync(device(destination), address + offset, bytes, stream));
  }
  if (kind == cudaMemcpyDefault) NC_RETURN(cuMemcpyAsync(device(destination), address + offset, bytes, stream));
  return remember(cudaErrorInvalidMemcpyDirection);
}

NC_EXPORT cudaMemcpy2D(void* destination, size_t destination_pitch, const void* source, size_t source_pitch,
                       size_t width, size_t height, cudaMemcpyKind kind) {
  const CUDA_MEMCPY2D shape = rectangle(destination, destination_pitch, source, source_pitch, width, height, kind);
  NC_RETURN(cuMemcpy2DUnaligned(&shape));
}

NC_EXPORT cudaMemcpy2DAsync(void* destination, size_t destination_pitch, const void* source, size_t source_pitch,
                            size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  const CUDA_MEMCPY2D shape = rectangle(destination, destination_pitch, source, source_pitch, width, height, kind);
  NC_RETURN(cuMemcpy2DAsync(&shape, stream));
}

NC_EXPORT cudaMemcpy2DToArray(cudaArray_t array, size_t x, size_t y, const void* source, size_t pitch, size_t width,
                              size_t height, cudaMemcpyKind kind) {
  const CUDA_MEMCPY2D shape = into_array(array, x, y, source, pitch, width, height, kind);
  NC_RETURN(cuMemcpy2DUnaligned(&shape));
}

NC_EXPORT cudaMemcpy2DToArrayAsync(cudaArray_t array, size_t x, size_t y, const void* source, size_t pitch,
                                   size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  const CUDA_MEMCPY2D shape = into_array(array, x, y, source, pitch, width, height, kind);
  NC_RETURN(cuMemcpy2DAsync(&shape, stream));
}

NC_EXPORT cudaMemcpy2DFromArrayAsync(void* destination, size_t pitch, cudaArray_const_t array, size_t x, size_t y,
                                     size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  const CUDA_MEMCPY2D shape = out_of_array(destination, pitch, array, x, y, width, height, kind);
  NC_RETURN(cuMemcpy2DAsync(&shape, stream));
}

NC_EXPORT cudaMemcpy3D(const cudaMemcpy3DParms* parameters) {
  if (has_array(parameters)) return remember(cudaErrorNotSupported);
  const auto shape = box<CUDA_MEMCPY3D>(*parameters, parameters->kind);
  NC_RETURN(cuMemcpy3D(&shape));
}

NC_EXPORT cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
  if (has_array(parameters)) return remember(cudaErrorNotSupported);
  const auto shape = box<CUDA_MEMCPY3D>(*parameters, parameters->kind);
  NC_RETURN(cuMemcpy3DAsync(&shape, stream));
}

NC_EXPORT cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* parameters) {
  auto shape = box<CUDA_MEMCPY3D_PEER>(*parameters, cudaMemcpyDeviceToDevice);
  if (const cudaError_t failed = set_contexts(shape, *parameters); failed != cudaSuccess) return remember(failed);
  NC_RETURN(cuMemcpy3DPeer(&shape));
}

NC_EXPORT cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* parameters, cudaStream_t stream) {
  auto shape = box<CUDA_MEMCPY3D_PEER>(*parameters, cudaMemcpyDeviceToDevice);
  if (const cudaError_t failed = set_contexts(shape, *parameters); failed != cudaSuccess) return remember(failed);
  NC_RETURN(cuMemcpy3DPeerAsync(&shape, stream));
}

NC_EXPORT cudaMemset(void* pointer, int value, size_t bytes) {
  NC_RETURN(cuMemsetD8(device(pointer), static_cast<unsigned char>(value), bytes));
}

NC_EXPORT cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream) {
  NC_RETURN(cuMemsetD8Async(device(pointer), static_cast<unsigned char>(value), bytes, stream));
}

NC_EXPORT cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  NC_RETURN(cuMemsetD2D8(device(pointer), pitch, static_cast<unsigned char>(value), width, height));
}

NC_EXPORT cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
  NC_RETURN(cuMemsetD2D8Async(device(pointer), pitch, static_cast<unsigned char>(value), width, height, stream));
}
