// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays, mipmapped arrays, and texture and surface objects. An array is device memory, row behind row, whose address
// no program gets. Objects are descriptions only: kernels do nothing here. As the driver's they are numbered from 1
// in each context, textures and surfaces apart, and a number is used again; levels of a mipmapped array can be
// destroyed, without effect (all measured, driver 580).

#include "testsuite/nulldriver/transfer.h"

#include <algorithm>

namespace streamsan::null {
namespace {

CUresult channel_bytes(CUarray_format format, std::size_t* bytes) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      *bytes = 1;
      return CUDA_SUCCESS;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      *bytes = 2;
      return CUDA_SUCCESS;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      *bytes = 4;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

std::size_t rows_of(const CUDA_ARRAY3D_DESCRIPTOR& is) { return std::max<std::size_t>(is.Height, 1); }
std::size_t bytes_of_array(const CUDA_ARRAY3D_DESCRIPTOR& is) {
  return is.Width * element_bytes(is) * rows_of(is) * std::max<std::size_t>(is.Depth, 1);
}

CUDA_ARRAY3D_DESCRIPTOR with_depth(const CUDA_ARRAY_DESCRIPTOR& is) {
  return {.Width = is.Width,
          .Height = is.Height,
          .Depth = 0,
          .Format = is.Format,
          .NumChannels = is.NumChannels,
          .Flags = 0};
}

/// Memory for them. Needs the lock.
CUresult take_array_memory(std::size_t bytes, std::uintptr_t* base) {
  CUcontext context = nullptr;
  if (const CUresult missing = require_context(&context); missing != CUDA_SUCCESS) return missing;
  if (const CUresult refused = check_unsafe(); refused != CUDA_SUCCESS) return refused;
  *base = allocate(device_heap(context->device), bytes, MemoryKind::Array, 0, context);
  return *base == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

/// Needs the lock. The memory may have gone with its context.
void give_array_memory(std::uintptr_t base) {
  const auto found = allocations().find(base);
  if (found != allocations().end() && found->second.kind == MemoryKind::Array) release(found);
}

CUresult create_array(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR& is) {
  if (is.Width == 0 || is.NumChannels == 0 || element_bytes(is) == 0) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  std::uintptr_t base = 0;
  if (const CUresult refused = take_array_memory(bytes_of_array(is), &base); refused != CUDA_SUCCESS) return refused;
  *out = state().arrays.create();
  (*out)->is = is;
  (*out)->base = base;
  return CUDA_SUCCESS;
}

CUDA_ARRAY3D_DESCRIPTOR level_of(CUDA_ARRAY3D_DESCRIPTOR is, unsigned level) {
  const auto halved = [level](std::size_t given) { return given == 0 ? 0 : std::max<std::size_t>(given >> level, 1); };
  is.Width = halved(is.Width);
  is.Height = halved(is.Height);
  if ((is.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) == 0) is.Depth = halved(is.Depth);
  return is;
}

/// Numbers of objects: the one that was given back last comes first.
class Numbers {
 public:
  unsigned long long take(const CUDA_RESOURCE_DESC& is) {
    unsigned long long number = live_.size() + 1;
    if (!free_.empty()) {
      number = free_.back();
      free_.pop_back();
    }
    live_[number] = is;
    return number;
  }
  bool give(unsigned long long number) {
    if (live_.erase(number) == 0) return false;
    free_.push_back(number);
    return true;
  }
  const CUDA_RESOURCE_DESC* find(unsigned long long number) const {
    const auto found = live_.find(number);
    return found == live_.end() ? nullptr : &found->second;
  }

 private:
  std::map<unsigned long long, CUDA_RESOURCE_DESC> live_;
  std::vector<unsigned long long> free_;
};

/// Of each context. All need the lock.
using AllNumbers = std::map<CUcontext, Numbers>;

AllNumbers& textures() {
  static AllNumbers& instance = *new AllNumbers;
  return instance;
}
AllNumbers& surfaces() {
  static AllNumbers& instance = *new AllNumbers;
  return instance;
}

/// Needs the lock.
CUresult check_resource(const CUDA_RESOURCE_DESC& is) {
  switch (is.resType) {
    case CU_RESOURCE_TYPE_ARRAY:
      return state().arrays.alive(is.res.array.hArray) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
      return state().mipmapped_arrays.alive(is.res.mipmap.hMipmappedArray) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    case CU_RESOURCE_TYPE_LINEAR:
      return device_accessible(is.res.linear.devPtr, is.res.linear.sizeInBytes) ? CUDA_SUCCESS
                                                                                : CUDA_ERROR_INVALID_VALUE;
    case CU_RESOURCE_TYPE_PITCH2D:
      return is.res.pitch2D.height != 0 &&
                     device_accessible(is.res.pitch2D.devPtr, (is.res.pitch2D.height - 1) * is.res.pitch2D.pitchInBytes)
                 ? CUDA_SUCCESS
                 : CUDA_ERROR_INVALID_VALUE;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult make_object(AllNumbers& numbers, unsigned long long* out, const CUDA_RESOURCE_DESC* is) {
  if (out == nullptr || is == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  CUcontext context = nullptr;
  if (const CUresult missing = require_context(&context); missing != CUDA_SUCCESS) return missing;
  if (const CUresult wrong = check_resource(*is); wrong != CUDA_SUCCESS) return wrong;
  *out = numbers[context].take(*is);
  return CUDA_SUCCESS;
}

CUresult end_object(AllNumbers& numbers, unsigned long long object) {
  const Lock lock = lock_state();
  CUcontext context = nullptr;
  if (const CUresult missing = require_context(&context); missing != CUDA_SUCCESS) return missing;
  return numbers[context].give(object) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult describe_object(AllNumbers& numbers, CUDA_RESOURCE_DESC* out, unsigned long long object) {
  const Lock lock = lock_state();
  CUcontext context = nullptr;
  if (const CUresult missing = require_context(&context); missing != CUDA_SUCCESS) return missing;
  const CUDA_RESOURCE_DESC* is = numbers[context].find(object);
  if (out == nullptr || is == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = *is;
  return CUDA_SUCCESS;
}

}  // namespace

std::size_t element_bytes(const CUDA_ARRAY3D_DESCRIPTOR& is) {
  std::size_t bytes = 0;
  return channel_bytes(is.Format, &bytes) == CUDA_SUCCESS ? bytes * is.NumChannels : 0;
}

CUresult array_side(CUarray array, Side* side) {
  const Lock lock = lock_state();
  if (!state().arrays.alive(array)) return CUDA_ERROR_INVALID_HANDLE;
  *side = device_side(array->base);
  side->pitch = array->is.Width * element_bytes(array->is);
  side->slice = side->pitch * rows_of(array->is);
  return CUDA_SUCCESS;
}

}  // namespace streamsan::null

using namespace streamsan::null;

SS_EXPORT cuArrayCreate(CUarray* out, const CUDA_ARRAY_DESCRIPTOR* is) {
  SS_CALL(cuArrayCreate);
  if (out == nullptr || is == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return create_array(out, with_depth(*is));
}

SS_EXPORT cuArray3DCreate(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR* is) {
  SS_CALL(cuArray3DCreate);
  if (out == nullptr || is == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return create_array(out, *is);
}

SS_EXPORT cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR* out, CUarray array) {
  SS_CALL(cuArrayGetDescriptor);
  const Lock lock = lock_state();
  if (out == nullptr || !state().arrays.alive(array)) return CUDA_ERROR_INVALID_VALUE;
  *out = {.Width = array->is.Width,
          .Height = array->is.Height,
          .Format = array->is.Format,
          .NumChannels = array->is.NumChannels};
  return CUDA_SUCCESS;
}

SS_EXPORT cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR* out, CUarray array) {
  SS_CALL(cuArray3DGetDescriptor);
  const Lock lock = lock_state();
  if (out == nullptr || !state().arrays.alive(array)) return CUDA_ERROR_INVALID_VALUE;
  *out = array->is;
  return CUDA_SUCCESS;
}

SS_EXPORT cuArrayDestroy(CUarray array) {
  SS_CALL(cuArrayDestroy);
  {
    const Lock lock = lock_state();
    if (!state().arrays.alive(array)) return CUDA_ERROR_INVALID_HANDLE;
    if (array->whole != nullptr) return CUDA_SUCCESS;
    if (const CUresult refused = check_unsafe(); refused != CUDA_SUCCESS) return refused;
    give_array_memory(array->base);
    state().arrays.destroy(array);
  }
  block();
  return CUDA_SUCCESS;
}

SS_EXPORT cuMipmappedArrayCreate(CUmipmappedArray* out, const CUDA_ARRAY3D_DESCRIPTOR* is, unsigned levels) {
  SS_CALL(cuMipmappedArrayCreate);
  if (out == nullptr || is == nullptr || is->Width == 0 || levels == 0 || levels > 16 || element_bytes(*is) == 0)
    return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  std::size_t bytes = 0;
  for (unsigned level = 0; level < levels; ++level) bytes += bytes_of_array(level_of(*is, level));
  std::uintptr_t base = 0;
  if (const CUresult refused = take_array_memory(bytes, &base); refused != CUDA_SUCCESS) return refused;
  *out = state().mipmapped_arrays.create();
  (*out)->is = *is;
  (*out)->base = base;
  for (unsigned level = 0; level < levels; ++level) {
    CUarray part = state().arrays.create();
    part->is = level_of(*is, level);
    part->base = base;
    part->whole = *out;
    base += bytes_of_array(part->is);
    (*out)->levels.push_back(part);
  }
  return CUDA_SUCCESS;
}

SS_EXPORT cuMipmappedArrayGetLevel(CUarray* out, CUmipmappedArray whole, unsigned level) {
  SS_CALL(cuMipmappedArrayGetLevel);
  const Lock lock = lock_state();
  if (out == nullptr || !state().mipmapped_arrays.alive(whole) || level >= whole->levels.size())
    return CUDA_ERROR_INVALID_VALUE;
  *out = whole->levels[level];
  return CUDA_SUCCESS;
}

SS_EXPORT cuMipmappedArrayDestroy(CUmipmappedArray whole) {
  SS_CALL(cuMipmappedArrayDestroy);
  {
    const Lock lock = lock_state();
    if (!state().mipmapped_arrays.alive(whole)) return CUDA_ERROR_INVALID_HANDLE;
    if (const CUresult refused = check_unsafe(); refused != CUDA_SUCCESS) return refused;
    give_array_memory(whole->base);
    for (CUarray level : whole->levels) state().arrays.destroy(level);
    state().mipmapped_arrays.destroy(whole);
  }
  block();
  return CUDA_SUCCESS;
}

SS_EXPORT cuTexObjectCreate(CUtexObject* out, const CUDA_RESOURCE_DESC* is, const CUDA_TEXTURE_DESC* how,
                            const CUDA_RESOURCE_VIEW_DESC*) {
  SS_CALL(cuTexObjectCreate);
  return how == nullptr ? CUDA_ERROR_INVALID_VALUE : make_object(textures(), out, is);
}

SS_EXPORT cuTexObjectDestroy(CUtexObject texture) {
  SS_CALL(cuTexObjectDestroy);
  return end_object(textures(), texture);
}

SS_EXPORT cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC* out, CUtexObject texture) {
  SS_CALL(cuTexObjectGetResourceDesc);
  return describe_object(textures(), out, texture);
}

SS_EXPORT cuSurfObjectCreate(CUsurfObject* out, const CUDA_RESOURCE_DESC* is) {
  SS_CALL(cuSurfObjectCreate);
  if (is == nullptr || is->resType != CU_RESOURCE_TYPE_ARRAY) return CUDA_ERROR_INVALID_VALUE;
  return make_object(surfaces(), out, is);
}

SS_EXPORT cuSurfObjectDestroy(CUsurfObject surface) {
  SS_CALL(cuSurfObjectDestroy);
  return end_object(surfaces(), surface);
}

SS_EXPORT cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC* out, CUsurfObject surface) {
  SS_CALL(cuSurfObjectGetResourceDesc);
  return describe_object(surfaces(), out, surface);
}
