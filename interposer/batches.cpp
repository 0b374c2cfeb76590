// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/batches.h"

namespace streamsan::recorder {
namespace {

std::uint64_t channel_bytes(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return 4;
    default:
      return 0;
  }
}

/// Bytes of an element of the array; 0: not known.
std::uint64_t element_bytes(CUarray array) {
  CUDA_ARRAY3D_DESCRIPTOR is{.Format = CU_AD_FORMAT_UNSIGNED_INT8};
  auto ask = SS_DRIVER(cuArray3DGetDescriptor_v2);
  if (!ask || ask(&is, array) != CUDA_SUCCESS) return 0;
  return channel_bytes(is.Format) * is.NumChannels;
}

/// Where the rows of an operand are: packed where it says nothing.
struct Operand {
  std::uint64_t base;
  std::uint64_t pitch;
  std::uint64_t slice;
};

Operand operand_of(const CUmemcpy3DOperand& given, const CUextent3D& extent, std::uint64_t element) {
  if (given.type != CU_MEMCPY_OPERAND_TYPE_POINTER) return {};
  const auto& pointer = given.op.ptr;
  const std::uint64_t pitch = (pointer.rowLength ? pointer.rowLength : extent.width) * element;
  return {pointer.ptr, pitch, pitch * (pointer.layerHeight ? pointer.layerHeight : extent.height)};
}

}  // namespace

trace::BatchPart part_of(const CUDA_MEMCPY3D_BATCH_OP& copy) {
  std::uint64_t element = 1;
  for (const CUmemcpy3DOperand* side : {&copy.src, &copy.dst}) {
    if (side->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) element = element_bytes(side->op.array.array);
  }
  const Operand dst = operand_of(copy.dst, copy.extent, element);
  const Operand src = operand_of(copy.src, copy.extent, element);
  return {.dst = dst.base,
          .src = src.base,
          .width = copy.extent.width * element,
          .order = source_order(copy.srcAccessOrder),
          .dst_pitch = dst.pitch,
          .src_pitch = src.pitch,
          .height = copy.extent.height,
          .dst_slice = dst.slice,
          .src_slice = src.slice,
          .depth = copy.extent.depth};
}

}  // namespace streamsan::recorder
