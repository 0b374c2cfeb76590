// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bytes of copies and fills, from their records.
#pragma once

#include <vector>

#include "ordering/model.h"
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

/// Adds the parts that the record StreamAction holds.
inline void add_parts(const trace::Item& item, std::vector<ordering::BatchPart>& parts) {
  const auto side = [](std::uint64_t base, const trace::BatchPart& of, std::uint64_t pitch, std::uint64_t slice) {
    return ordering::Footprint{
        .base = base, .width = of.width, .pitch = pitch, .rows = of.height, .slices = of.depth, .slice_pitch = slice};
  };
  for (const trace::BatchPart& part : item.list<trace::Kind::StreamAction>()) {
    const auto order = part.order == static_cast<std::uint64_t>(trace::SourceOrder::Any) ? ordering::SourceOrder::Any
                       : part.order == static_cast<std::uint64_t>(trace::SourceOrder::DuringCall)
                           ? ordering::SourceOrder::DuringCall
                           : ordering::SourceOrder::Stream;
    parts.push_back({side(part.dst, part, part.dst_pitch, part.dst_slice),
                     side(part.src, part, part.src_pitch, part.src_slice), order});
  }
}

inline ordering::Footprint bytes_of_fill(const trace::Record& record) {
  const auto& w = record.as<trace::Kind::Fill>();
  return {.base = w.dst, .width = w.width, .pitch = w.pitch, .rows = w.pitch ? w.height : 1};
}

}  // namespace streamsan::judge
