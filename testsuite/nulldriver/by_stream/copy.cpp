// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every copy. Compiled twice, see kDefaultStream in call.h.
//
// The synchronous forms are the driver's: they run in the default stream and return when done, also those between two
// device buffers, which the real driver may return from earlier; a program cannot rely on that.

#include <cstdint>
#include <utility>

#include "testsuite/nulldriver/transfer.h"

namespace streamsan::null {
namespace {

CUresult copy_now(Side destination, Side source, std::size_t bytes) {
  Work work;
  const CUresult result = plan_copy(destination, source, Box{.width = bytes}, &work);
  return result != CUDA_SUCCESS ? result : run_and_wait(kDefaultStream, work);
}

NodeParameters node_of(const CUDA_MEMCPY3D& shape) {
  NodeParameters node;
  node.copy = shape;
  return node;
}

/// What all the structures have.
template <class Shape>
CUDA_MEMCPY3D sides_of(const Shape& shape) {
  return {.srcXInBytes = shape.srcXInBytes,
          .srcY = shape.srcY,
          .srcMemoryType = shape.srcMemoryType,
          .srcHost = shape.srcHost,
          .srcDevice = shape.srcDevice,
          .srcArray = shape.srcArray,
          .srcPitch = shape.srcPitch,
          .dstXInBytes = shape.dstXInBytes,
          .dstY = shape.dstY,
          .dstMemoryType = shape.dstMemoryType,
          .dstHost = shape.dstHost,
          .dstDevice = shape.dstDevice,
          .dstArray = shape.dstArray,
          .dstPitch = shape.dstPitch,
          .WidthInBytes = shape.WidthInBytes,
          .Height = shape.Height,
          .Depth = 1};
}

NodeParameters node_of(const CUDA_MEMCPY2D& shape) { return node_of(sides_of(shape)); }

NodeParameters node_of(const CUDA_MEMCPY3D_PEER& shape) {
  CUDA_MEMCPY3D sides = sides_of(shape);
  sides.srcZ = shape.srcZ;
  sides.srcHeight = shape.srcHeight;
  sides.dstZ = shape.dstZ;
  sides.dstHeight = shape.dstHeight;
  sides.Depth = shape.Depth;
  return node_of(sides);
}

CUresult copy_later(Side destination, Side source, std::size_t bytes, CUstream stream) {
  Work work;
  const CUresult result = plan_copy(destination, source, Box{.width = bytes}, &work);
  if (result != CUDA_SUCCESS) return result;
  const auto type = [](const Side& side) { return side.device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_UNIFIED; };
  return submit(stream, kDefaultStream, CU_GRAPH_NODE_TYPE_MEMCPY, std::move(work),
                node_of(CUDA_MEMCPY3D{.srcMemoryType = type(source),
                                      .srcDevice = source.base,
                                      .dstMemoryType = type(destination),
                                      .dstDevice = destination.base,
                                      .WidthInBytes = bytes,
                                      .Height = 1,
                                      .Depth = 1}));
}

template <class Shape>
CUresult copy_shape_now(const Shape* shape) {
  Work work;
  const CUresult result = plan_copy(shape, &work);
  return result != CUDA_SUCCESS ? result : run_and_wait(kDefaultStream, work);
}

template <class Shape>
CUresult copy_shape_later(const Shape* shape, CUstream stream) {
  Work work;
  const CUresult result = plan_copy(shape, &work);
  if (result != CUDA_SUCCESS) return result;
  return submit(stream, kDefaultStream, CU_GRAPH_NODE_TYPE_MEMCPY, std::move(work), node_of(*shape));
}

/// An address that may be pageable host memory.
Side unified_side(CUdeviceptr pointer) { return host_side(reinterpret_cast<const void*>(pointer)); }

CUresult check_contexts(CUcontext destination, CUcontext source) {
  const Lock lock = lock_state();
  const bool alive = state().contexts.alive(destination) && state().contexts.alive(source);
  return alive ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUDA_MEMCPY3D linear(CUmemorytype to, CUmemorytype from, std::size_t bytes) {
  return {.srcMemoryType = from, .dstMemoryType = to, .WidthInBytes = bytes, .Height = 1, .Depth = 1};
}

CUDA_MEMCPY3D into_array(CUarray array, std::size_t offset, CUdeviceptr device, const void* host, std::size_t bytes) {
  CUDA_MEMCPY3D shape = linear(CU_MEMORYTYPE_ARRAY, host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE, bytes);
  shape.dstArray = array;
  shape.dstXInBytes = offset;
  shape.srcDevice = device;
  shape.srcHost = host;
  return shape;
}

CUDA_MEMCPY3D out_of_array(CUarray array, std::size_t offset, CUdeviceptr device, void* host, std::size_t bytes) {
  CUDA_MEMCPY3D shape = linear(host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_ARRAY, bytes);
  shape.srcArray = array;
  shape.srcXInBytes = offset;
  shape.dstDevice = device;
  shape.dstHost = host;
  return shape;
}

/// A batch has no place in a capture, nor in the default streams.
CUresult check_batch_stream(CUstream handle) {
  if (handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
    return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  CUstream stream = nullptr;
  return resolve_uncaptured(handle, kDefaultStream, &stream);
}

/// The copies of a batch have no order among themselves; here they are done one after another. All are checked before
/// the first moves a byte: `plan` is asked for the work of each. `failed` may be null.
template <class Plan>
CUresult run_batch(std::size_t count, Plan plan, std::size_t* failed, CUstream handle) {
  if (const CUresult refused = check_batch_stream(handle); refused != CUDA_SUCCESS) return refused;
  std::vector<Work> works(count);
  for (std::size_t i = 0; i < count; ++i) {
    const CUresult result = plan(i, &works[i]);
    if (result != CUDA_SUCCESS) {
      if (failed != nullptr) *failed = i;
      return result;
    }
  }
  for (const Work& work : works) {
    if (work) work();
  }
  return CUDA_SUCCESS;
}

CUresult copy_batch(CUdeviceptr* destinations, CUdeviceptr* sources, const std::size_t* sizes, std::size_t count,
                    const std::size_t* attribute_indices, std::size_t attributes, std::size_t* failed,
                    CUstream handle) {
  if (failed != nullptr) *failed = SIZE_MAX;
  if (count == 0 || attributes == 0 || attributes > count || attribute_indices[0] != 0) return CUDA_ERROR_INVALID_VALUE;
  const auto plan = [&](std::size_t i, Work* work) {
    return plan_copy(unified_side(destinations[i]), unified_side(sources[i]), Box{.width = sizes[i]}, work);
  };
  return run_batch(count, plan, failed, handle);
}

CUresult copy_batch_3d(std::size_t count, const CUDA_MEMCPY3D_BATCH_OP* copies, std::size_t* failed, CUstream handle) {
  if (failed != nullptr) *failed = SIZE_MAX;
  if (count == 0) return CUDA_ERROR_INVALID_VALUE;
  const auto plan = [&](std::size_t i, Work* work) {
    const CUDA_MEMCPY3D_BATCH_OP& copy = copies[i];
    if (copy.srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_INVALID) return CUDA_ERROR_INVALID_VALUE;
    Side sides[2];
    for (int s = 0; s < 2; ++s) {
      const CUmemcpy3DOperand& operand = s == 0 ? copy.dst : copy.src;
      if (operand.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) return CUDA_ERROR_NOT_SUPPORTED;
      sides[s] = unified_side(operand.op.ptr.ptr);
      sides[s].pitch = operand.op.ptr.rowLength ? operand.op.ptr.rowLength : copy.extent.width;
      sides[s].slice = sides[s].pitch * (operand.op.ptr.layerHeight ? operand.op.ptr.layerHeight : copy.extent.height);
    }
    const Box box{.width = copy.extent.width, .height = copy.extent.height, .depth = copy.extent.depth};
    return plan_copy(sides[0], sides[1], box, work);
  };
  return run_batch(count, plan, failed, handle);
}

}  // namespace
}  // namespace streamsan::null

using namespace streamsan::null;

SS_EXPORT cuMemcpy(CUdeviceptr destination, CUdeviceptr source, size_t bytes) {
  SS_CALL(cuMemcpy);
  return copy_now(unified_side(destination), unified_side(source), bytes);
}

SS_EXPORT cuMemcpyHtoD(CUdeviceptr destination, const void* source, size_t bytes) {
  SS_CALL(cuMemcpyHtoD);
  return copy_now(device_side(destination), host_side(source), bytes);
}

SS_EXPORT cuMemcpyDtoH(void* destination, CUdeviceptr source, size_t bytes) {
  SS_CALL(cuMemcpyDtoH);
  return copy_now(host_side(destination), device_side(source), bytes);
}

SS_EXPORT cuMemcpyDtoD(CUdeviceptr destination, CUdeviceptr source, size_t bytes) {
  SS_CALL(cuMemcpyDtoD);
  return copy_now(device_side(destination), device_side(source), bytes);
}

SS_EXPORT cuMemcpyPeer(CUdeviceptr destination, CUcontext to, CUdeviceptr source, CUcontext from, size_t bytes) {
  SS_CALL(cuMemcpyPeer);
  if (const CUresult wrong = check_contexts(to, from); wrong != CUDA_SUCCESS) return wrong;
  return copy_now(device_side(destination), device_side(source), bytes);
}

SS_EXPORT cuMemcpy2D(const CUDA_MEMCPY2D* shape) {
  SS_CALL(cuMemcpy2D);
  return copy_shape_now(shape);
}

SS_EXPORT cuMemcpy2DUnaligned(const CUDA_MEMCPY2D* shape) {
  SS_CALL(cuMemcpy2DUnaligned);
  return copy_shape_now(shape);
}

SS_EXPORT cuMemcpy3D(const CUDA_MEMCPY3D* shape) {
  SS_CALL(cuMemcpy3D);
  return copy_shape_now(shape);
}

SS_EXPORT cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* shape) {
  SS_CALL(cuMemcpy3DPeer);
  return copy_shape_now(shape);
}

SS_EXPORT cuMemcpyHtoA(CUarray array, size_t offset, const void* source, size_t bytes) {
  SS_CALL(cuMemcpyHtoA);
  const CUDA_MEMCPY3D shape = into_array(array, offset, 0, source, bytes);
  return copy_shape_now(&shape);
}

SS_EXPORT cuMemcpyHtoAAsync(CUarray array, size_t offset, const void* source, size_t bytes, CUstream stream) {
  SS_CALL(cuMemcpyHtoAAsync);
  const CUDA_MEMCPY3D shape = into_array(array, offset, 0, source, bytes);
  return copy_shape_later(&shape, stream);
}

SS_EXPORT cuMemcpyDtoA(CUarray array, size_t offset, CUdeviceptr source, size_t bytes) {
  SS_CALL(cuMemcpyDtoA);
  const CUDA_MEMCPY3D shape = into_array(array, offset, source, nullptr, bytes);
  return copy_shape_now(&shape);
}

SS_EXPORT cuMemcpyAtoH(void* destination, CUarray array, size_t offset, size_t bytes) {
  SS_CALL(cuMemcpyAtoH);
  const CUDA_MEMCPY3D shape = out_of_array(array, offset, 0, destination, bytes);
  return copy_shape_now(&shape);
}

SS_EXPORT cuMemcpyAtoHAsync(void* destination, CUarray array, size_t offset, size_t bytes, CUstream stream) {
  SS_CALL(cuMemcpyAtoHAsync);
  const CUDA_MEMCPY3D shape = out_of_array(array, offset, 0, destination, bytes);
  return copy_shape_later(&shape, stream);
}

SS_EXPORT cuMemcpyAtoD(CUdeviceptr destination, CUarray array, size_t offset, size_t bytes) {
  SS_CALL(cuMemcpyAtoD);
  const CUDA_MEMCPY3D shape = out_of_array(array, offset, destination, nullptr, bytes);
  return copy_shape_now(&shape);
}

SS_EXPORT cuMemcpyAtoA(CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t bytes) {
  SS_CALL(cuMemcpyAtoA);
  CUDA_MEMCPY3D shape = into_array(to, to_offset, 0, nullptr, bytes);
  shape.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  shape.srcArray = from;
  shape.srcXInBytes = from_offset;
  return copy_shape_now(&shape);
}

SS_EXPORT cuMemcpyAsync(CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream stream) {
  SS_CALL(cuMemcpyAsync);
  return copy_later(unified_side(destination), unified_side(source), bytes, stream);
}

SS_EXPORT cuMemcpyHtoDAsync(CUdeviceptr destination, const void* source, size_t bytes, CUstream stream) {
  SS_CALL(cuMemcpyHtoDAsync);
  return copy_later(device_side(destination), host_side(source), bytes, stream);
}

SS_EXPORT cuMemcpyDtoHAsync(void* destination, CUdeviceptr source, size_t bytes, CUstream stream) {
  SS_CALL(cuMemcpyDtoHAsync);
  return copy_later(host_side(destination), device_side(source), bytes, stream);
}

SS_EXPORT cuMemcpyDtoDAsync(CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream stream) {
  SS_CALL(cuMemcpyDtoDAsync);
  return copy_later(device_side(destination), device_side(source), bytes, stream);
}

SS_EXPORT cuMemcpyPeerAsync(CUdeviceptr destination, CUcontext to, CUdeviceptr source, CUcontext from, size_t bytes,
                            CUstream stream) {
  SS_CALL(cuMemcpyPeerAsync);
  if (const CUresult wrong = check_contexts(to, from); wrong != CUDA_SUCCESS) return wrong;
  return copy_later(device_side(destination), device_side(source), bytes, stream);
}

SS_EXPORT cuMemcpy2DAsync(const CUDA_MEMCPY2D* shape, CUstream stream) {
  SS_CALL(cuMemcpy2DAsync);
  return copy_shape_later(shape, stream);
}

SS_EXPORT cuMemcpy3DAsync(const CUDA_MEMCPY3D* shape, CUstream stream) {
  SS_CALL(cuMemcpy3DAsync);
  return copy_shape_later(shape, stream);
}

SS_EXPORT cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* shape, CUstream stream) {
  SS_CALL(cuMemcpy3DPeerAsync);
  return copy_shape_later(shape, stream);
}

SS_EXPORT cuMemcpyBatchAsync(CUdeviceptr* destinations, CUdeviceptr* sources, size_t* sizes, size_t count,
                             CUmemcpyAttributes*, size_t* attribute_indices, size_t attributes, CUstream stream) {
  SS_CALL(cuMemcpyBatchAsync);
  return copy_batch(destinations, sources, sizes, count, attribute_indices, attributes, nullptr, stream);
}

// Before CUDA 13 the call said which copy was wrong.
#undef cuMemcpyBatchAsync
#define SS_MEMCPY_BATCH_V1 __CUDA_API_PTSZ(cuMemcpyBatchAsync)
SS_EXPORT SS_MEMCPY_BATCH_V1(CUdeviceptr* destinations, CUdeviceptr* sources, size_t* sizes, size_t count,
                             CUmemcpyAttributes*, size_t* attribute_indices, size_t attributes, size_t* failed,
                             CUstream stream) {
  SS_CALL(SS_MEMCPY_BATCH_V1);
  return copy_batch(destinations, sources, sizes, count, attribute_indices, attributes, failed, stream);
}

SS_EXPORT cuMemcpy3DBatchAsync(size_t count, CUDA_MEMCPY3D_BATCH_OP* copies, unsigned long long, CUstream stream) {
  SS_CALL(cuMemcpy3DBatchAsync);
  return copy_batch_3d(count, copies, nullptr, stream);
}

#undef cuMemcpy3DBatchAsync
#define SS_MEMCPY_3D_BATCH_V1 __CUDA_API_PTSZ(cuMemcpy3DBatchAsync)
SS_EXPORT SS_MEMCPY_3D_BATCH_V1(size_t count, CUDA_MEMCPY3D_BATCH_OP* copies, size_t* failed, unsigned long long,
                                CUstream stream) {
  SS_CALL(SS_MEMCPY_3D_BATCH_V1);
  return copy_batch_3d(count, copies, failed, stream);
}
