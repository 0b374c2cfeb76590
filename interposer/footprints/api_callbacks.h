// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeps the driver and the run-time library from calling the Sanitizer at each of their functions.
//
// Whoever subscribes to the Sanitizer is subscribed to the entry and the exit of every function of the driver and of
// the run-time library, whatever callbacks are switched on, and stays so even after sanitizerUnsubscribe(). Measured on
// an H200 (driver 580, CUDA 13.0), in loops: a call of the run-time takes 35 to 60 ns longer (cudaGetDevice 90 instead
// of 30), one of the driver 20 (cuCtxGetCurrent 30 instead of 8); more where caches are cold. We have no use for any of
// them.
//
// Both look at a flag for each of their functions before they call anyone. The run-time library's lie in the driver,
// and it finds them through a table that the driver exports (cuGetExportTable) and NVIDIA does not document. The
// driver's own lie right behind them (seen in what subscribing changes in the driver's memory): 807 words in a row that
// are 0 before and 1 after, in driver 580. What follows them there is set only here and there, and left alone. So we
// save the flags before we subscribe, and restore those that our subscription has set: an earlier subscriber still gets
// all its calls. Callbacks of launches and of modules do not depend on these flags, nor do patches (measured).
//
// Nothing is changed unless everything looks as expected: the size of the table, the number and the values of the
// run-time library's flags, that they lie in the driver's own memory, and for the driver's that there is such a row.
// Otherwise the calls stay slow.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace streamsan::footprints {

class ApiCallbacks {
 public:
  /// Before subscribing. `get_table` may be null.
  void remember(decltype(&::cuGetExportTable) get_table);
  /// After it. Nobody else must have subscribed in between.
  void restore();
  /// Are the flags known? If not, remember() and restore() did nothing.
  [[nodiscard]] bool known() const { return flags_ != nullptr; }

 private:
  static constexpr std::size_t kOfRuntime = 1024;      // one for each function of the run-time library, and room
  static constexpr std::size_t kMostOfDriver = 1024;   // behind them
  static constexpr std::size_t kFewestOfDriver = 512;  // fewer that were set in a row are something else

  std::uint32_t* flags_ = nullptr;
  std::size_t count_ = 0;  // kOfRuntime, or with the driver's
  std::uint32_t before_[kOfRuntime + kMostOfDriver] = {};
};

}  // namespace streamsan::footprints
