// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bytes of copies and fills, from their records.
#pragma once

#include "ordering/types.h"
#include "trace/reader.h"

namespace streamsan::judge {

struct Sides {
  ordering::Footprint dst;
  ordering::Footprint src;
};

/// All bytes that the copy moves.
inline std::uint64_t bytes_of_copy(const trace::Item& item) {
  const auto& w = item.record->as<trace::Kind::Copy>();
  return w.shaped ? w.width * item.shape().height * item.shape().depth : w.width;
}

inline Sides sides_of_copy(const trace::Item& item) {
  const auto& w = item.record->as<trace::Kind::Copy>();
  Sides out{{.base = w.dst, .width = w.width}, {.base = w.src, .width = w.width}};
  if (!w.shaped) return out;
  const auto shape = [&](ordering::Footprint& side, std::uint64_t pitch, std::uint64_t slice_pitch) {
    side.pitch = pitch;
    side.rows = item.shape().height;
    side.slices = item.shape().depth;
    side.slice_pitch = slice_pitch;
  };
  shape(out.dst, item.shape().dst_pitch, item.shape().dst_slice);
  shape(out.src, item.shape().src_pitch, item.shape().src_slice);
  return out;
}

inline ordering::Footprint bytes_of_fill(const trace::Record& record) {
  const auto& w = record.as<trace::Kind::Fill>();
  return {.base = w.dst, .width = w.width, .pitch = w.pitch, .rows = w.pitch ? w.height : 1};
}

}  // namespace streamsan::judge
