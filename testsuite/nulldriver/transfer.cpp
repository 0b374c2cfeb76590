// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See transfer.h.

#include "testsuite/nulldriver/transfer.h"

#include <cstring>

namespace streamsan::null {
namespace {

std::size_t extent(const Side& side, Box box) {
  return (box.depth - 1) * side.slice + (box.height - 1) * side.pitch + box.width;
}

bool reachable(const Side& side, Box box) {
  if (side.base == 0) return false;
  return !side.device || device_accessible(side.base, extent(side, box));
}

bool pitch_too_small(const Side& side, Box box) {
  return (box.height > 1 && side.pitch < box.width) || (box.depth > 1 && side.slice < side.pitch * box.height);
}

CUresult make_side(CUmemorytype type, const void* host, CUdeviceptr device, CUarray array, std::size_t x, std::size_t y,
                   std::size_t z, std::size_t pitch, std::size_t height, Side* side) {
  switch (type) {
    case CU_MEMORYTYPE_ARRAY: {
      const CUresult unknown = array_side(array, side);
      side->base += x + y * side->pitch + z * side->slice;
      return unknown;
    }
    case CU_MEMORYTYPE_HOST:
      *side = host_side(host);
      break;
    case CU_MEMORYTYPE_DEVICE:
      *side = device_side(device);
      break;
    case CU_MEMORYTYPE_UNIFIED:
      *side = device_side(device);
      side->device = false;
      break;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
  side->pitch = pitch;
  side->slice = pitch * height;
  side->base += x + y * side->pitch + z * side->slice;
  return CUDA_SUCCESS;
}

/// CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER have the members read here in common.
template <class Shape>
CUresult plan_box(const Shape* shape, Work* work) {
  if (shape == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Box box{.width = shape->WidthInBytes, .height = shape->Height, .depth = shape->Depth};
  const auto pitch = [&](std::size_t given) { return given != 0 ? given : box.width; };
  const auto rows = [&](std::size_t given) { return given != 0 ? given : box.height; };
  Side source;
  Side destination;
  CUresult result =
      make_side(shape->srcMemoryType, shape->srcHost, shape->srcDevice, shape->srcArray, shape->srcXInBytes,
                shape->srcY, shape->srcZ, pitch(shape->srcPitch), rows(shape->srcHeight), &source);
  if (result != CUDA_SUCCESS) return result;
  result = make_side(shape->dstMemoryType, shape->dstHost, shape->dstDevice, shape->dstArray, shape->dstXInBytes,
                     shape->dstY, shape->dstZ, pitch(shape->dstPitch), rows(shape->dstHeight), &destination);
  if (result != CUDA_SUCCESS) return result;
  return plan_copy(destination, source, box, work);
}

void fill_run(std::byte* at, unsigned value, std::size_t unit, std::size_t count) {
  if (unit == 1) {
    std::memset(at, static_cast<int>(value), count);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) std::memcpy(at + i * unit, &value, unit);
}

}  // namespace

CUresult plan_copy(Side destination, Side source, Box box, Work* work) {
  if (box.width == 0 || box.height == 0 || box.depth == 0) return CUDA_SUCCESS;
  if (pitch_too_small(destination, box) || pitch_too_small(source, box)) return CUDA_ERROR_INVALID_VALUE;
  {
    const Lock lock = lock_state();
    if (!reachable(destination, box) || !reachable(source, box)) return CUDA_ERROR_INVALID_VALUE;
  }
  *work = [destination, source, box] {
    for (std::size_t z = 0; z < box.depth; ++z) {
      for (std::size_t y = 0; y < box.height; ++y) {
        std::memmove(reinterpret_cast<void*>(destination.base + z * destination.slice + y * destination.pitch),
                     reinterpret_cast<const void*>(source.base + z * source.slice + y * source.pitch), box.width);
      }
    }
  };
  return CUDA_SUCCESS;
}

CUresult plan_copy(const CUDA_MEMCPY2D* shape, Work* work) {
  if (shape == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Box box{.width = shape->WidthInBytes, .height = shape->Height, .depth = 1};
  const auto pitch = [&](std::size_t given) { return given != 0 ? given : box.width; };
  Side source;
  Side destination;
  CUresult result = make_side(shape->srcMemoryType, shape->srcHost, shape->srcDevice, shape->srcArray,
                              shape->srcXInBytes, shape->srcY, 0, pitch(shape->srcPitch), 0, &source);
  if (result != CUDA_SUCCESS) return result;
  result = make_side(shape->dstMemoryType, shape->dstHost, shape->dstDevice, shape->dstArray, shape->dstXInBytes,
                     shape->dstY, 0, pitch(shape->dstPitch), 0, &destination);
  if (result != CUDA_SUCCESS) return result;
  return plan_copy(destination, source, box, work);
}

CUresult plan_copy(const CUDA_MEMCPY3D* shape, Work* work) { return plan_box(shape, work); }

CUresult plan_copy(const CUDA_MEMCPY3D_PEER* shape, Work* work) {
  if (shape == nullptr) return CUDA_ERROR_INVALID_VALUE;
  {
    const Lock lock = lock_state();
    const auto unknown = [](CUmemorytype type, CUcontext context) {
      return type == CU_MEMORYTYPE_DEVICE && !state().contexts.alive(context);
    };
    if (unknown(shape->srcMemoryType, shape->srcContext) || unknown(shape->dstMemoryType, shape->dstContext)) {
      return CUDA_ERROR_INVALID_CONTEXT;
    }
  }
  return plan_box(shape, work);
}

CUresult plan_fill(CUdeviceptr base, std::size_t pitch, unsigned value, std::size_t unit, Box box, Work* work) {
  if (box.width == 0 || box.height == 0) return CUDA_SUCCESS;
  const Box bytes{.width = box.width * unit, .height = box.height, .depth = 1};
  Side side = device_side(base);
  side.pitch = pitch;
  if (base % unit != 0 || pitch % unit != 0 || pitch_too_small(side, bytes)) return CUDA_ERROR_INVALID_VALUE;
  {
    const Lock lock = lock_state();
    if (!reachable(side, bytes)) return CUDA_ERROR_INVALID_VALUE;
  }
  *work = [base, pitch, value, unit, box] {
    for (std::size_t y = 0; y < box.height; ++y) {
      fill_run(reinterpret_cast<std::byte*>(base + y * pitch), value, unit, box.width);
    }
  };
  return CUDA_SUCCESS;
}

CUresult run_and_wait(CUstream default_stream, const Work& work) {
  CUstream stream = nullptr;
  {
    const Lock lock = lock_state();
    if (const CUresult refused = resolve_uncaptured(nullptr, default_stream, &stream); refused != CUDA_SUCCESS) {
      return refused;
    }
  }
  submitted(stream);
  if (work) work();
  block();
  return CUDA_SUCCESS;
}

}  // namespace streamsan::null
