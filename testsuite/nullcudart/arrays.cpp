// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays, and the texture and surface objects that are made of them or of linear memory. As the real runtime does it,
// an array is always made by cuArray3DCreate.

#include "testsuite/nullcudart/runtime.h"

using streamsan::nullcudart::entries;
using streamsan::nullcudart::prepare;
using streamsan::nullcudart::remember;

namespace {

CUarray driver_array(cudaArray_const_t array) { return reinterpret_cast<CUarray>(const_cast<cudaArray*>(array)); }
CUmipmappedArray driver_array(cudaMipmappedArray_const_t array) {
  return reinterpret_cast<CUmipmappedArray>(const_cast<cudaMipmappedArray*>(array));
}

CUarray_format format_of(const cudaChannelFormatDesc& is) {
  if (is.f == cudaChannelFormatKindFloat) return is.x == 16 ? CU_AD_FORMAT_HALF : CU_AD_FORMAT_FLOAT;
  const bool with_sign = is.f == cudaChannelFormatKindSigned;
  if (is.x == 8) return with_sign ? CU_AD_FORMAT_SIGNED_INT8 : CU_AD_FORMAT_UNSIGNED_INT8;
  if (is.x == 16) return with_sign ? CU_AD_FORMAT_SIGNED_INT16 : CU_AD_FORMAT_UNSIGNED_INT16;
  return with_sign ? CU_AD_FORMAT_SIGNED_INT32 : CU_AD_FORMAT_UNSIGNED_INT32;
}

unsigned channels_of(const cudaChannelFormatDesc& is) {
  return 1u + (is.y != 0 ? 1u : 0u) + (is.z != 0 ? 1u : 0u) + (is.w != 0 ? 1u : 0u);
}

CUDA_ARRAY3D_DESCRIPTOR descriptor_of(const cudaChannelFormatDesc& is, cudaExtent extent, unsigned flags) {
  return {.Width = extent.width,
          .Height = extent.height,
          .Depth = extent.depth,
          .Format = format_of(is),
          .NumChannels = channels_of(is),
          .Flags = flags};
}

/// What the two forms of memory with an address have in common: where it is, and what its elements are.
template <class Driver, class Runtime>
void tell_elements(Driver& out, const Runtime& is) {
  out.devPtr = reinterpret_cast<CUdeviceptr>(is.devPtr);
  out.format = format_of(is.desc);
  out.numChannels = channels_of(is.desc);
}

CUDA_RESOURCE_DESC resource_of(const cudaResourceDesc& is) {
  CUDA_RESOURCE_DESC out{};
  switch (is.resType) {
    case cudaResourceTypeMipmappedArray:
      out.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
      out.res.mipmap.hMipmappedArray = driver_array(is.res.mipmap.mipmap);
      break;
    case cudaResourceTypeLinear:
      out.resType = CU_RESOURCE_TYPE_LINEAR;
      tell_elements(out.res.linear, is.res.linear);
      out.res.linear.sizeInBytes = is.res.linear.sizeInBytes;
      break;
    case cudaResourceTypePitch2D:
      out.resType = CU_RESOURCE_TYPE_PITCH2D;
      tell_elements(out.res.pitch2D, is.res.pitch2D);
      out.res.pitch2D.width = is.res.pitch2D.width;
      out.res.pitch2D.height = is.res.pitch2D.height;
      out.res.pitch2D.pitchInBytes = is.res.pitch2D.pitchInBytes;
      break;
    default:
      out.resType = CU_RESOURCE_TYPE_ARRAY;
      out.res.array.hArray = driver_array(is.res.array.array);
  }
  return out;
}

}  // namespace

NC_EXPORT_AS(cudaChannelFormatDesc)
cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) { return {x, y, z, w, kind}; }

NC_EXPORT cudaMallocArray(cudaArray_t* out, const cudaChannelFormatDesc* is, size_t width, size_t height,
                          unsigned flags) {
  const CUDA_ARRAY3D_DESCRIPTOR shape = descriptor_of(*is, {width, height, 0}, flags);
  NC_RETURN(cuArray3DCreate(reinterpret_cast<CUarray*>(out), &shape));
}

NC_EXPORT cudaMalloc3DArray(cudaArray_t* out, const cudaChannelFormatDesc* is, cudaExtent extent, unsigned flags) {
  const CUDA_ARRAY3D_DESCRIPTOR shape = descriptor_of(*is, extent, flags);
  NC_RETURN(cuArray3DCreate(reinterpret_cast<CUarray*>(out), &shape));
}

NC_EXPORT cudaFreeArray(cudaArray_t array) { NC_RETURN(cuArrayDestroy(driver_array(array))); }

NC_EXPORT cudaMallocMipmappedArray(cudaMipmappedArray_t* out, const cudaChannelFormatDesc* is, cudaExtent extent,
                                   unsigned levels, unsigned flags) {
  const CUDA_ARRAY3D_DESCRIPTOR shape = descriptor_of(*is, extent, flags);
  NC_RETURN(cuMipmappedArrayCreate(reinterpret_cast<CUmipmappedArray*>(out), &shape, levels));
}

NC_EXPORT cudaGetMipmappedArrayLevel(cudaArray_t* out, cudaMipmappedArray_const_t whole, unsigned level) {
  NC_RETURN(cuMipmappedArrayGetLevel(reinterpret_cast<CUarray*>(out), driver_array(whole), level));
}

NC_EXPORT cudaFreeMipmappedArray(cudaMipmappedArray_t array) {
  NC_RETURN(cuMipmappedArrayDestroy(driver_array(array)));
}

/// How it is read makes no difference here.
NC_EXPORT cudaCreateTextureObject(cudaTextureObject_t* out, const cudaResourceDesc* is, const cudaTextureDesc*,
                                  const cudaResourceViewDesc*) {
  const CUDA_RESOURCE_DESC resource = resource_of(*is);
  const CUDA_TEXTURE_DESC how{};
  NC_RETURN(cuTexObjectCreate(out, &resource, &how, nullptr));
}

NC_EXPORT cudaDestroyTextureObject(cudaTextureObject_t texture) { NC_RETURN(cuTexObjectDestroy(texture)); }

NC_EXPORT cudaCreateSurfaceObject(cudaSurfaceObject_t* out, const cudaResourceDesc* is) {
  const CUDA_RESOURCE_DESC resource = resource_of(*is);
  NC_RETURN(cuSurfObjectCreate(out, &resource));
}

NC_EXPORT cudaDestroySurfaceObject(cudaSurfaceObject_t surface) { NC_RETURN(cuSurfObjectDestroy(surface)); }
