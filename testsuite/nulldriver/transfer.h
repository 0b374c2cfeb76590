// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moving and filling bytes: a rectangle or box on each side, checked first, then done by a Work.
//
// The device side of a copy must lie inside one allocation (a UVA address of pinned memory is a device address too), or
// the call fails with CUDA_ERROR_INVALID_VALUE and moves nothing. Host sides are taken on trust, as the driver does.
// The side that is an array must be a live one (array.cpp), and the box must lie in it.
#pragma once

#include "testsuite/nulldriver/memory.h"

namespace streamsan::null {

struct Box {
  std::size_t width = 0;  ///< bytes
  std::size_t height = 1;
  std::size_t depth = 1;
};

struct Side {
  std::uintptr_t base = 0;
  std::size_t pitch = 0;
  std::size_t slice = 0;  ///< bytes between two layers
  bool device = false;    ///< must be known memory
};

inline Side host_side(const void* pointer) {
  return {.base = reinterpret_cast<std::uintptr_t>(pointer), .pitch = 0, .slice = 0, .device = false};
}
inline Side device_side(CUdeviceptr pointer) { return {.base = pointer, .pitch = 0, .slice = 0, .device = true}; }

/// Where element 0 of the array is, and its pitches. CUDA_ERROR_INVALID_HANDLE: there is no such array. Takes the lock.
CUresult array_side(CUarray array, Side* side);
/// Bytes of an element; 0: a format that is not implemented.
std::size_t element_bytes(const CUDA_ARRAY3D_DESCRIPTOR& is);

/// CUDA_SUCCESS and `work`, which is empty when there is nothing to move. Takes the lock itself.
CUresult plan_copy(Side destination, Side source, Box box, Work* work);
CUresult plan_copy(const CUDA_MEMCPY2D* shape, Work* work);
CUresult plan_copy(const CUDA_MEMCPY3D* shape, Work* work);
CUresult plan_copy(const CUDA_MEMCPY3D_PEER* shape, Work* work);

/// `box.width` in elements of `unit` bytes; pitch 0: one run.
CUresult plan_fill(CUdeviceptr base, std::size_t pitch, unsigned value, std::size_t unit, Box box, Work* work);

/// For calls that return when the work is done: runs it in the default stream and blocks.
CUresult run_and_wait(CUstream default_stream, const Work& work);

}  // namespace streamsan::null
