// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/batches.h"

namespace streamsan::recorder {
namespace {

/// Bytes of an element of the array; 0: not known.
std::uint64_t element_of(CUarray array) {
  if (const ArrayLayout known = array_layout(array); known.base) return known.element;
  CUDA_ARRAY3D_DESCRIPTOR is{.Format = CU_AD_FORMAT_UNSIGNED_INT8};
  auto ask = SS_DRIVER(cuArray3DGetDescriptor_v2);
  if (!ask || ask(&is, array) != CUDA_SUCCESS) return 0;
  return element_bytes(is.Format, is.NumChannels);
}

/// Where the rows of an operand are: packed where it says nothing.
struct Operand {
  std::uint64_t base;
  std::uint64_t pitch;
  std::uint64_t slice;
};

Operand operand_of(const CUmemcpy3DOperand& given, const CUextent3D& extent, std::uint64_t element) {
  if (given.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
    const ArrayLayout array = array_layout(given.op.array.array);
    if (!array.base || !array.element) return {};
    const CUoffset3D& at = given.op.array.offset;
    const std::uint64_t first = at.z * array.slice() + at.y * array.pitch() + at.x * element;
    return {array.base + first, array.pitch(), array.slice()};
  }
  if (given.type != CU_MEMCPY_OPERAND_TYPE_POINTER) return {};
  const auto& pointer = given.op.ptr;
  const std::uint64_t pitch = (pointer.rowLength ? pointer.rowLength : extent.width) * element;
  return {pointer.ptr, pitch, pitch * (pointer.layerHeight ? pointer.layerHeight : extent.height)};
}

}  // namespace

trace::BatchPart part_of(const CUDA_MEMCPY3D_BATCH_OP& copy) {
  std::uint64_t element = 1;
  for (const CUmemcpy3DOperand* side : {&copy.src, &copy.dst}) {
    if (side->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) element = element_of(side->op.array.array);
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
