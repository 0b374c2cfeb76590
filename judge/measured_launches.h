// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a run teaches later runs about its kernels (trace/earlier.h): collects the launches that were measured, or that
// an earlier run had measured, and says of each key what all its launches touched.
//
// A key whose launches touched different bytes is listed as one that varies, and so is one with bytes that no argument
// leads to: those are at another address in the next run.
//
// Besides, a later run needs to know two things of the kernel, to decide whether it may do without measuring it:
//   * was it in any conflict, certain or only possible? Then its bytes matter, and measured ones say more than learned
//     ones;
//   * how often was it launched? If a conflict comes up that there was not before, the judge asks for the next launch
//     of the kernel. So there must be one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "judge/footprints.h"
#include "judge/hazards.h"
#include "ordering/flat_map.h"
#include "trace/reader.h"

namespace streamsan::judge {

/// What is known of the launches with one key.
struct MeasuredLaunch {
  std::uint64_t key = 0;
  std::vector<trace::Piece> pieces;
  bool incomplete = false;            ///< the kernel may have touched more
  bool varies = false;                ///< nothing is known of it
  bool met = false;                   ///< its kernel was in a conflict
  std::uint8_t keys = 0;              ///< launches of it that differ in pointers; 255: or more
  std::uint8_t times = 0;             ///< how often each of them was measured at least
  std::uint32_t kernel_launches = 0;  ///< of its kernel, whatever it was given
};

class MeasuredLaunches {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 16;  ///< keys; further ones are left out
  static constexpr std::size_t kMostPieces = std::size_t{1} << 19;
  static constexpr std::uint8_t kMostKeys = 255;

  /// A record of trace::Kind::MeasuredLaunch. `kernel`: index of its kernel, see Places.
  void add(const trace::Record& record, std::uint32_t kernel, const Footprints& footprints);
  /// The kernel was launched.
  void launched(std::uint32_t kernel) {
    if (kernel >= launches_.size()) launches_.resize(kernel + std::size_t{1});
    ++launches_[kernel];
  }
  /// `hazards`: of the run.
  [[nodiscard]] std::vector<MeasuredLaunch> all(const Hazards& hazards) const;

 private:
  struct Times {
    std::uint64_t launch = 0;
    std::uint64_t times = 0;
  };
  struct Known {
    std::uint64_t key = 0;
    std::uint32_t kernel = 0;
    std::uint64_t footprint = 0;
    KernelFootprint bytes;
    bool varies = false;
    std::vector<Times> launches;
  };

  ordering::FlatMap<std::uint32_t> index_;  ///< key -> index in known_, plus one
  std::vector<Known> known_;
  std::size_t pieces_ = 0;
  std::vector<std::uint32_t> launches_;  ///< by index of the kernel
};

}  // namespace streamsan::judge
