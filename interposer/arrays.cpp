// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/arrays.h"

#include <algorithm>
#include <atomic>

#include "interposer/driver.h"
#include "interposer/fork.h"
#include "interposer/handle_table.h"
#include "ordering/types.h"

namespace streamsan::recorder {
namespace {

/// Ranges begin at multiples, and there is a gap behind each.
constexpr std::uint64_t kArrayGrain = 4096;
/// An upper bound, of formats whose elements are not known.
constexpr std::uint64_t kMostElementBytes = 16;
/// No array is as large, and sizes below do not overflow.
constexpr std::uint64_t kMostArrayBytes = std::uint64_t{1} << 48;
constexpr std::uint64_t kMostLevels = 32;

// A fork keeps g_next_address: no range is used twice.
constinit std::atomic<std::uint64_t> g_next_address{ordering::kFirstArrayAddress};

struct ArrayPlace {
  std::atomic<std::uint64_t> handle;  ///< 0: free
  ArrayLayout layout;
};
constinit ArrayPlace g_places[kMostArrays]{};
constinit std::atomic<std::uint32_t> g_places_used{0};  ///< those behind were never used
/// Handle -> place, plus one. Whoever has a handle came after the call that made it, which wrote the place before.
constinit HandleTable<std::uint32_t, 2 * kMostArrays> g_arrays{};

/// A free place, which is the handle's from now on; nullptr: there is none.
ArrayPlace* take_array_place(std::uint64_t handle) {
  const std::uint32_t used = g_places_used.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < kMostArrays; ++i) {
    std::uint64_t free = g_places[i].handle.load(std::memory_order_relaxed);
    if (free != 0 || !g_places[i].handle.compare_exchange_strong(free, handle, std::memory_order_acq_rel)) continue;
    for (std::uint32_t seen = used; seen <= i && !g_places_used.compare_exchange_weak(seen, i + 1);) {
    }
    return &g_places[i];
  }
  return nullptr;
}

ArrayPlace* known_array(std::uint64_t handle) {
  if (handle <= 1) return nullptr;
  const auto* entry = g_arrays.find(handle);
  const std::uint32_t index = entry ? entry->value.load(std::memory_order_acquire) : 0;
  return index ? &g_places[index - 1] : nullptr;
}

void drop_array(ArrayPlace& place) {
  g_arrays.erase(place.handle.load(std::memory_order_relaxed));
  place.layout = {};
  place.handle.store(0, std::memory_order_release);
}

bool keep_array(std::uint64_t handle, const ArrayLayout& layout) {
  if (handle <= 1) return false;
  if (ArrayPlace* old = known_array(handle)) {  // its end was not seen, or it is a part that was asked for before
    old->layout = layout;
    return true;
  }
  ArrayPlace* place = take_array_place(handle);
  if (!place) return false;
  place->layout = layout;
  auto* entry = g_arrays.insert(handle);
  if (!entry) {
    place->handle.store(0, std::memory_order_release);
    return false;
  }
  entry->value.store(static_cast<std::uint32_t>(place - g_places) + 1, std::memory_order_release);
  return true;
}

std::uint64_t bytes_in(const ArrayLayout& layout) {
  return layout.width * layout.height * layout.depth * (layout.element ? layout.element : kMostElementBytes);
}

ArrayLayout level_of(ArrayLayout layout, std::uint64_t level) {
  layout.width = std::max<std::uint64_t>(layout.width >> level, 1);
  layout.height = std::max<std::uint64_t>(layout.height >> level, 1);
  if (!layout.layered) layout.depth = std::max<std::uint64_t>(layout.depth >> level, 1);
  layout.levels = 1;
  layout.bytes = bytes_in(layout);
  return layout;
}

std::uint64_t channel_bytes(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
    case CU_AD_FORMAT_UNORM_INT8X1:
    case CU_AD_FORMAT_UNORM_INT8X2:
    case CU_AD_FORMAT_UNORM_INT8X4:
    case CU_AD_FORMAT_SNORM_INT8X1:
    case CU_AD_FORMAT_SNORM_INT8X2:
    case CU_AD_FORMAT_SNORM_INT8X4:
      return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
    case CU_AD_FORMAT_UNORM_INT16X1:
    case CU_AD_FORMAT_UNORM_INT16X2:
    case CU_AD_FORMAT_UNORM_INT16X4:
    case CU_AD_FORMAT_SNORM_INT16X1:
    case CU_AD_FORMAT_SNORM_INT16X2:
    case CU_AD_FORMAT_SNORM_INT16X4:
      return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return 4;
    default:
      return 0;
  }
}

}  // namespace

std::uint64_t element_bytes(CUarray_format format, std::uint64_t channels) { return channel_bytes(format) * channels; }

ArrayLayout array_made(std::uint64_t handle, ArrayLayout layout, std::uint64_t levels) {
  layout.width = std::max<std::uint64_t>(layout.width, 1);
  layout.height = std::max<std::uint64_t>(layout.height, 1);
  layout.depth = std::max<std::uint64_t>(layout.depth, 1);
  layout.levels = std::clamp<std::uint64_t>(levels, 1, kMostLevels);
  const std::uint64_t most = kMostArrayBytes / kMostElementBytes;
  if (layout.width > most || layout.height > most / layout.width || layout.depth > most / layout.width / layout.height)
    return {};
  layout.bytes = 0;
  for (std::uint64_t level = 0; level < layout.levels; ++level) layout.bytes += level_of(layout, level).bytes;
  const std::uint64_t taken = (layout.bytes / kArrayGrain + 2) * kArrayGrain;
  layout.base = g_next_address.fetch_add(taken, std::memory_order_relaxed);
  // Not after a quadrillion of pages: addresses are not used again.
  if (!ordering::is_array_address(layout.base + taken) || !keep_array(handle, layout)) return {};
  return layout;
}

void level_made(std::uint64_t handle, std::uint64_t whole, std::uint64_t level) {
  const ArrayLayout all = array_layout(whole);
  if (!all.base || level >= all.levels) return;
  ArrayLayout part = level_of(all, level);
  for (std::uint64_t before = 0; before < level; ++before) part.base += level_of(all, before).bytes;
  part.part = true;
  keep_array(handle, part);
}

/// The planes of one array share its bytes out evenly, which is more than any of them has.
void plane_made(std::uint64_t handle, std::uint64_t whole, std::uint64_t plane) {
  constexpr std::uint64_t kMostPlanes = 3;
  const ArrayLayout all = array_layout(whole);
  auto ask = SS_DRIVER(cuArray3DGetDescriptor_v2);
  CUDA_ARRAY3D_DESCRIPTOR is{.Format = CU_AD_FORMAT_UNSIGNED_INT8};
  if (!all.base || plane >= kMostPlanes || !ask || ask(&is, reinterpret_cast<CUarray>(handle)) != CUDA_SUCCESS) return;
  ArrayLayout part = level_of(layout_of(is), 0);
  const std::uint64_t share = all.bytes / kMostPlanes;
  if (part.bytes > share) return;
  part.base = all.base + plane * share;
  part.part = true;
  keep_array(handle, part);
}

std::uint64_t array_going(std::uint64_t handle) {
  ArrayPlace* place = known_array(handle);
  if (!place) return 0;
  const ArrayLayout whole = place->layout;
  if (whole.part) {  // no memory ends with a handle of a part
    drop_array(*place);
    return 0;
  }
  const std::uint32_t used = g_places_used.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < used; ++i) {
    ArrayPlace& each = g_places[i];
    if (each.handle.load(std::memory_order_acquire) == 0) continue;
    if (each.layout.base >= whole.base && each.layout.base < whole.base + whole.bytes) drop_array(each);
  }
  return whole.base;
}

ArrayLayout array_layout(std::uint64_t handle) {
  const ArrayPlace* place = known_array(handle);
  return place ? place->layout : ArrayLayout{};
}

TexturedMemory textured_memory(const CUDA_RESOURCE_DESC& is) {
  switch (is.resType) {
    case CU_RESOURCE_TYPE_ARRAY: {
      const ArrayLayout array = array_layout(is.res.array.hArray);
      return {array.base, array.bytes, array.parts()};
    }
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY: {
      const ArrayLayout array = array_layout(reinterpret_cast<std::uint64_t>(is.res.mipmap.hMipmappedArray));
      return {array.base, array.bytes, array.parts()};
    }
    case CU_RESOURCE_TYPE_LINEAR:
      return {is.res.linear.devPtr, is.res.linear.sizeInBytes};
    case CU_RESOURCE_TYPE_PITCH2D: {
      const auto& rows = is.res.pitch2D;
      const std::uint64_t width = rows.width * element_bytes(rows.format, rows.numChannels);
      return {rows.devPtr, width && rows.height ? (rows.height - 1) * rows.pitchInBytes + width : 0};
    }
    default:
      return {};
  }
}

/// No context of the parent's lives on.
void in_child::arrays() {
  g_arrays.clear();
  // Not those that were never used: a fork shares their pages.
  const std::uint32_t used = g_places_used.exchange(0, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < used; ++i) g_places[i].handle.store(0, std::memory_order_relaxed);
}

}  // namespace streamsan::recorder
