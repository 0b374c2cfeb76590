// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every memset. Compiled twice, see kDefaultStream in call.h.
//
// The synchronous form runs in the default stream and does not block: a memset of device memory is asynchronous in the
// real driver too, whatever its name says.

#include "testsuite/nulldriver/transfer.h"

namespace streamsan::null {
namespace {

CUresult fill(CUdeviceptr base, std::size_t pitch, unsigned value, std::size_t unit, Box box, CUstream stream) {
  Work work;
  const CUresult result = plan_fill(base, pitch, value, unit, box, &work);
  if (result != CUDA_SUCCESS) return result;
  NodeParameters node;
  node.fill = {.dst = base,
               .pitch = pitch,
               .value = value,
               .elementSize = static_cast<unsigned>(unit),
               .width = box.width,
               .height = box.height};
  return submit(stream, kDefaultStream, CU_GRAPH_NODE_TYPE_MEMSET, std::move(work), std::move(node));
}

}  // namespace
}  // namespace streamsan::null

using namespace streamsan::null;

SS_EXPORT cuMemsetD8(CUdeviceptr base, unsigned char value, size_t count) {
  SS_CALL(cuMemsetD8);
  return fill(base, 0, value, 1, {.width = count}, nullptr);
}

SS_EXPORT cuMemsetD16(CUdeviceptr base, unsigned short value, size_t count) {
  SS_CALL(cuMemsetD16);
  return fill(base, 0, value, 2, {.width = count}, nullptr);
}

SS_EXPORT cuMemsetD32(CUdeviceptr base, unsigned value, size_t count) {
  SS_CALL(cuMemsetD32);
  return fill(base, 0, value, 4, {.width = count}, nullptr);
}

SS_EXPORT cuMemsetD2D8(CUdeviceptr base, size_t pitch, unsigned char value, size_t width, size_t height) {
  SS_CALL(cuMemsetD2D8);
  return fill(base, pitch, value, 1, {.width = width, .height = height}, nullptr);
}

SS_EXPORT cuMemsetD2D16(CUdeviceptr base, size_t pitch, unsigned short value, size_t width, size_t height) {
  SS_CALL(cuMemsetD2D16);
  return fill(base, pitch, value, 2, {.width = width, .height = height}, nullptr);
}

SS_EXPORT cuMemsetD2D32(CUdeviceptr base, size_t pitch, unsigned value, size_t width, size_t height) {
  SS_CALL(cuMemsetD2D32);
  return fill(base, pitch, value, 4, {.width = width, .height = height}, nullptr);
}

SS_EXPORT cuMemsetD8Async(CUdeviceptr base, unsigned char value, size_t count, CUstream stream) {
  SS_CALL(cuMemsetD8Async);
  return fill(base, 0, value, 1, {.width = count}, stream);
}

SS_EXPORT cuMemsetD16Async(CUdeviceptr base, unsigned short value, size_t count, CUstream stream) {
  SS_CALL(cuMemsetD16Async);
  return fill(base, 0, value, 2, {.width = count}, stream);
}

SS_EXPORT cuMemsetD32Async(CUdeviceptr base, unsigned value, size_t count, CUstream stream) {
  SS_CALL(cuMemsetD32Async);
  return fill(base, 0, value, 4, {.width = count}, stream);
}

SS_EXPORT cuMemsetD2D8Async(CUdeviceptr base, size_t pitch, unsigned char value, size_t width, size_t height,
                            CUstream stream) {
  SS_CALL(cuMemsetD2D8Async);
  return fill(base, pitch, value, 1, {.width = width, .height = height}, stream);
}

SS_EXPORT cuMemsetD2D16Async(CUdeviceptr base, size_t pitch, unsigned short value, size_t width, size_t height,
                             CUstream stream) {
  SS_CALL(cuMemsetD2D16Async);
  return fill(base, pitch, value, 2, {.width = width, .height = height}, stream);
}

SS_EXPORT cuMemsetD2D32Async(CUdeviceptr base, size_t pitch, unsigned value, size_t width, size_t height,
                             CUstream stream) {
  SS_CALL(cuMemsetD2D32Async);
  return fill(base, pitch, value, 4, {.width = width, .height = height}, stream);
}
