// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the arguments of a call to the words of a record, by the positions of the call's row. All of it is resolved at
// compile time: a wrapper is left with the loads and stores its own row needs.
#pragma once

#include <cstdint>
#include <tuple>
#include <type_traits>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include "ordering/api/row.h"
#include "ordering/types.h"
#include "trace/format.h"

namespace streamsan::recorder {

/// The value of the argument at a position, widened; 0 if the row has no such argument.
template <api::Position kPosition, class Arguments>
std::uint64_t word(const Arguments& arguments) {
  if constexpr (kPosition == api::kAbsent) {
    return 0;
  } else {
    auto value = std::get<static_cast<std::size_t>(kPosition)>(arguments);
    if constexpr (std::is_pointer_v<decltype(value)>) {
      return reinterpret_cast<std::uint64_t>(value);
    } else {
      return static_cast<std::uint64_t>(value);
    }
  }
}

/// What an out-parameter points to; 0 if the row has no such argument or the caller passed null.
template <api::Position kPosition, class Arguments>
std::uint64_t result_word(const Arguments& arguments) {
  if constexpr (kPosition == api::kAbsent) {
    return 0;
  } else {
    auto pointer = std::get<static_cast<std::size_t>(kPosition)>(arguments);
    if (!pointer) return 0;
    using Pointee = std::remove_pointer_t<decltype(pointer)>;
    if constexpr (std::is_void_v<Pointee>) {
      return *static_cast<const std::uint64_t*>(pointer);  // void** declared as void*
    } else if constexpr (std::is_pointer_v<Pointee>) {
      return reinterpret_cast<std::uint64_t>(*pointer);
    } else {
      return static_cast<std::uint64_t>(*pointer);
    }
  }
}

/// One side of a 2D or 3D copy: address of the first byte, 0 for an array.
template <class Device>
std::uint64_t side_base(CUmemorytype type, const void* host, Device device, std::uint64_t offset) {
  switch (type) {
    case CU_MEMORYTYPE_HOST:
      return reinterpret_cast<std::uint64_t>(host) + offset;
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED:
      return static_cast<std::uint64_t>(device) + offset;
    case CU_MEMORYTYPE_ARRAY:
      break;
  }
  return 0;
}

/// Sides, width and shape of a Copy record from CUDA_MEMCPY2D*, all versions. A pitch of 0 means "packed".
template <class Descriptor>
void decode_copy_2d(const Descriptor& d, trace::Words<trace::Kind::Copy>& w, trace::Shape& shape) {
  std::uint64_t dst_pitch = d.dstPitch ? d.dstPitch : d.WidthInBytes;
  std::uint64_t src_pitch = d.srcPitch ? d.srcPitch : d.WidthInBytes;
  w.dst = side_base(d.dstMemoryType, d.dstHost, d.dstDevice, d.dstY * dst_pitch + d.dstXInBytes);
  w.src = side_base(d.srcMemoryType, d.srcHost, d.srcDevice, d.srcY * src_pitch + d.srcXInBytes);
  w.width = d.WidthInBytes;
  w.shaped = 1;
  shape.dst_pitch = dst_pitch;
  shape.src_pitch = src_pitch;
  shape.height = d.Height;
  shape.dst_slice = dst_pitch * d.Height;
  shape.src_slice = src_pitch * d.Height;
  shape.depth = 1;
}

/// The same from CUDA_MEMCPY3D* and CUDA_MEMCPY3D_PEER*.
template <class Descriptor>
void decode_copy_3d(const Descriptor& d, trace::Words<trace::Kind::Copy>& w, trace::Shape& shape) {
  std::uint64_t dst_pitch = d.dstPitch ? d.dstPitch : d.WidthInBytes;
  std::uint64_t src_pitch = d.srcPitch ? d.srcPitch : d.WidthInBytes;
  std::uint64_t dst_slice = dst_pitch * (d.dstHeight ? d.dstHeight : d.Height);
  std::uint64_t src_slice = src_pitch * (d.srcHeight ? d.srcHeight : d.Height);
  w.dst = side_base(d.dstMemoryType, d.dstHost, d.dstDevice, d.dstZ * dst_slice + d.dstY * dst_pitch + d.dstXInBytes);
  w.src = side_base(d.srcMemoryType, d.srcHost, d.srcDevice, d.srcZ * src_slice + d.srcY * src_pitch + d.srcXInBytes);
  w.width = d.WidthInBytes;
  w.shaped = 1;
  shape.dst_pitch = dst_pitch;
  shape.src_pitch = src_pitch;
  shape.height = d.Height;
  shape.dst_slice = dst_slice;
  shape.src_slice = src_slice;
  shape.depth = d.Depth;
}

/// Bytes from the first to behind the last that one side of a decoded copy touches; between its rows, `pitch` bytes
/// apart, and its slices lie bytes that it does not.
inline std::uint64_t extent(const trace::Words<trace::Kind::Copy>& w, const trace::Shape& shape, std::uint64_t pitch,
                            std::uint64_t slice) {
  if (w.shaped == 0) return w.width;
  return w.width + (shape.height > 1 ? (shape.height - 1) * pitch : 0) +
         (shape.depth > 1 ? (shape.depth - 1) * slice : 0);
}

constexpr std::uint16_t copy_flags(const api::Effect& effect) {
  return static_cast<std::uint16_t>(static_cast<unsigned>(effect.direction) << trace::kDirectionShift |
                                    (effect.form == api::CallForm::Asynchronous ? trace::kAsyncForm : 0));
}

/// The kind of memory a row allocates.
constexpr ordering::MemoryKind memory_kind(api::EffectKind kind) {
  switch (kind) {
    case api::EffectKind::AllocHost:
      return ordering::MemoryKind::Pinned;
    case api::EffectKind::AllocManaged:
      return ordering::MemoryKind::Managed;
    case api::EffectKind::AllocAsync:
      return ordering::MemoryKind::DeviceAsync;
    case api::EffectKind::Register:
      return ordering::MemoryKind::Registered;
    default:
      return ordering::MemoryKind::Device;
  }
}

constexpr trace::FreeKind free_kind(api::EffectKind kind) {
  switch (kind) {
    case api::EffectKind::FreeHost:
      return trace::FreeKind::Host;
    case api::EffectKind::FreeAsync:
      return trace::FreeKind::Async;
    case api::EffectKind::Unregister:
      return trace::FreeKind::Unregister;
    case api::EffectKind::Unmap:
      return trace::FreeKind::Unmap;
    default:
      return trace::FreeKind::Device;
  }
}

}  // namespace streamsan::recorder
