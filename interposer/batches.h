// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of a batch, from the arrays of the call to the records StreamAction that hold them.
//
// A record has room for kMostPartsPerRecord parts. A longer batch is several records, the last of which is the
// operation: the judge keeps the parts of those before it. Parts past kMostParts are not recorded: a race of theirs is
// missed.
//
// How many bytes a copy moves that has an array for an operand follows from the array's format, which the driver is
// asked for where the array is not known (arrays.h); such an operand is recorded as 0. Of a format that is not known
// here the copy is left out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <tuple>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include "interposer/decode.h"
#include "interposer/driver.h"
#include "trace/format.h"

namespace streamsan::recorder {

inline constexpr std::size_t kMostParts = 8192;

/// One copy of a 3D batch.
trace::BatchPart part_of(const CUDA_MEMCPY3D_BATCH_OP& copy);

constexpr std::uint64_t source_order(CUmemcpySrcAccessOrder given) {
  const trace::SourceOrder order = given == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL ? trace::SourceOrder::DuringCall
                                   : given == CU_MEMCPY_SRC_ACCESS_ORDER_ANY           ? trace::SourceOrder::Any
                                                                                       : trace::SourceOrder::Stream;
  return static_cast<std::uint64_t>(order);
}

constexpr trace::BatchPart linear_part(std::uint64_t dst, std::uint64_t src, std::uint64_t bytes) {
  return {.dst = dst, .src = src, .width = bytes, .height = 1, .depth = 1};
}

/// The parts of a batch by their numbers, from 0, as the row says where they stand among the arguments.
template <std::size_t kRow, class Arguments>
class BatchParts {
  static constexpr api::Effect kEffect = api::kRows[kRow].effect;
  /// Each decompression has three: the source, the destination, and the word that gets its length.
  static constexpr std::size_t kEach = kEffect.batch == api::Batch::Decompress ? 3 : 1;

 public:
  explicit BatchParts(const Arguments& arguments) : arguments_(arguments) {}

  [[nodiscard]] std::size_t count() const { return std::min<std::size_t>(at<kEffect.count>() * kEach, kMostParts); }

  /// To be called with growing numbers.
  trace::BatchPart operator()(std::size_t i) {
    if constexpr (kEffect.batch == api::Batch::Copies) {
      trace::BatchPart part = linear_part(at<kEffect.dst>()[i], at<kEffect.src>()[i], at<kEffect.bytes>()[i]);
      const std::size_t* first_of = at<kEffect.params + 1>();
      while (attribute_ + 1 < at<kEffect.params + 2>() && first_of[attribute_ + 1] <= i) ++attribute_;
      part.order = source_order(at<kEffect.params>()[attribute_].srcAccessOrder);
      return part;
    } else if constexpr (kEffect.batch == api::Batch::Copies3D) {
      return part_of(at<kEffect.src>()[i]);
    } else if constexpr (kEffect.batch == api::Batch::Discards) {
      return linear_part(at<kEffect.dst>()[i], 0, at<kEffect.bytes>()[i]);
    } else {
      const CUmemDecompressParams& one = at<kEffect.src>()[i / kEach];
      const auto address = [](const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); };
      if (i % kEach == 0) return linear_part(0, address(one.src), one.srcNumBytes);
      if (i % kEach == 1) return linear_part(address(one.dst), 0, one.dstNumBytes);
      return linear_part(address(one.dstActBytes), 0, sizeof *one.dstActBytes);
    }
  }

 private:
  template <int kPosition>
  auto at() const {
    return std::get<static_cast<std::size_t>(kPosition)>(arguments_);
  }

  const Arguments& arguments_;
  std::size_t attribute_ = 0;
};

}  // namespace streamsan::recorder
