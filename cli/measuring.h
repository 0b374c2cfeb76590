// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lines for the user about footprints: how the bytes of kernels were found, how many launches were measured, and
// how long that took. The numbers are the recorder's, from FileHeader.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "trace/format.h"

namespace streamsan::cli {

/// How the kernels of one process were measured, or the sum of several.
struct Measuring {
  std::uint32_t measuring = 0;       ///< processes whose first launches were measured
  std::uint32_t gave_up = 0;         ///< of them, those that could not measure any more at their end
  std::uint32_t inferring = 0;       ///< processes that launched kernels and could measure none
  std::uint64_t launches = 0;        ///< measured
  std::uint64_t earlier = 0;         ///< not measured, because an earlier run had done so
  std::uint64_t footprints = 0;      ///< distinct ones learned
  std::chrono::nanoseconds time{0};  ///< by which the program took longer

  static Measuring of(const trace::FileHeader& header);
  Measuring& operator+=(const Measuring& other);
  /// One clause for the summary: "measured: 12 launches in 0.3 s, ..."; empty: no kernel was launched.
  [[nodiscard]] std::string text() const;
};

/// Says at most every two seconds how far measuring has got, so that a program that starts slowly is not taken for one
/// that hangs. Threads: any.
class MeasuringProgress {
 public:
  explicit MeasuringProgress(std::function<void(const std::string& line)> say) : say_(std::move(say)) {}

  /// The present numbers of the process with this trace.
  void update(const std::string& trace, const Measuring& now);

 private:
  std::function<void(const std::string&)> say_;
  std::mutex mutex_;
  std::map<std::string, Measuring> traces_;
  std::uint64_t reported_ = 0;  ///< launches
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace streamsan::cli
