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

#include "interposer/arrays.h"
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

/// The value to which an out-parameter points. 0 if the row has no such argument or the caller passed null.
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

/// One side of a 2D or 3D copy, as its descriptor has it.
template <class Device>
struct GivenSide {
  CUmemorytype type;
  const void* host;
  Device device;
  CUarray array;
  std::uint64_t x, y, z;
  std::uint64_t pitch;   ///< 0: packed
  std::uint64_t height;  ///< rows from slice to slice
};

/// Where the first byte of the side is, and the ones behind it.
struct PlacedSide {
  std::uint64_t base;  ///< 0: an array that is not known
  std::uint64_t pitch;
  std::uint64_t slice;
};

template <class Device>
PlacedSide place(const GivenSide<Device>& side, std::uint64_t width) {
  PlacedSide out{};
  std::uint64_t first = 0;
  if (side.type == CU_MEMORYTYPE_ARRAY) {
    const ArrayLayout array = array_layout(side.array);
    if (array.element == 0) return {0, width, width * side.height};
    first = array.base;
    out = {0, array.pitch(), array.slice()};
  } else {
    first = side.type == CU_MEMORYTYPE_HOST ? reinterpret_cast<std::uint64_t>(side.host)
                                            : static_cast<std::uint64_t>(side.device);
    out.pitch = side.pitch ? side.pitch : width;
    out.slice = out.pitch * side.height;
  }
  out.base = first + side.z * out.slice + side.y * out.pitch + side.x;
  return out;
}

inline void set_sides(const PlacedSide& dst, const PlacedSide& src, trace::Words<trace::Kind::Copy>& w,
                      trace::Shape& shape) {
  w.dst = dst.base;
  w.src = src.base;
  w.shaped = 1;
  shape.dst_pitch = dst.pitch;
  shape.src_pitch = src.pitch;
  shape.dst_slice = dst.slice;
  shape.src_slice = src.slice;
}

/// Sides, width and shape of a Copy record from CUDA_MEMCPY2D*, all versions.
template <class Descriptor>
void decode_copy_2d(const Descriptor& d, trace::Words<trace::Kind::Copy>& w, trace::Shape& shape) {
  using Device = decltype(d.dstDevice);
  const GivenSide<Device> dst{d.dstMemoryType, d.dstHost, d.dstDevice, d.dstArray, d.dstXInBytes,
                              d.dstY,          0,         d.dstPitch,  d.Height};
  const GivenSide<Device> src{d.srcMemoryType, d.srcHost, d.srcDevice, d.srcArray, d.srcXInBytes,
                              d.srcY,          0,         d.srcPitch,  d.Height};
  set_sides(place(dst, d.WidthInBytes), place(src, d.WidthInBytes), w, shape);
  w.width = d.WidthInBytes;
  shape.height = d.Height;
  shape.depth = 1;
}

/// The same from CUDA_MEMCPY3D* and CUDA_MEMCPY3D_PEER*.
template <class Descriptor>
void decode_copy_3d(const Descriptor& d, trace::Words<trace::Kind::Copy>& w, trace::Shape& shape) {
  using Device = decltype(d.dstDevice);
  const GivenSide<Device> dst{d.dstMemoryType, d.dstHost,     d.dstDevice,
                              d.dstArray,      d.dstXInBytes, d.dstY,
                              d.dstZ,          d.dstPitch,    d.dstHeight ? d.dstHeight : d.Height};
  const GivenSide<Device> src{d.srcMemoryType, d.srcHost,     d.srcDevice,
                              d.srcArray,      d.srcXInBytes, d.srcY,
                              d.srcZ,          d.srcPitch,    d.srcHeight ? d.srcHeight : d.Height};
  set_sides(place(dst, d.WidthInBytes), place(src, d.WidthInBytes), w, shape);
  w.width = d.WidthInBytes;
  shape.height = d.Height;
  shape.depth = d.Depth;
}

/// The side of a linear copy that is an array. 0: not known, or of a format whose rows are not known.
inline std::uint64_t array_address(std::uint64_t array, std::uint64_t offset) {
  const ArrayLayout layout = array_layout(array);
  return layout.element ? layout.base + offset : 0;
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
