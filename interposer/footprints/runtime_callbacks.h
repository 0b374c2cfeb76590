// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeps the run-time library from telling the Sanitizer of each of its calls.
//
// Whoever subscribes to the Sanitizer is subscribed to the entry and the exit of every function of the driver and of
// the run-time library, whatever callbacks are switched on, and stays so even after sanitizerUnsubscribe(). Measured on
// an H200 (driver 580, CUDA 13.0), in loops: a call of the run-time takes 35 to 60 ns longer (cudaGetDevice 90 instead
// of 30), one of the driver 20. A small training step of PyTorch's took one to four percent longer by the former
// (noisy). We have no use for any of them.
//
// The run-time library looks at a flag for each of its functions before it tells anyone. The flags lie in the driver,
// and it finds them through a table that the driver exports (cuGetExportTable) and NVIDIA does not document. So the
// flags are remembered before we subscribe, and those that our subscription has set are put back: who had subscribed
// before is told everything. Callbacks of launches and of modules do not depend on these flags, nor do patches
// (measured).
//
// Nothing is touched unless all is as it is known to be: the size of the table, the number and the values of the flags,
// and that they lie in the driver's own memory. Else it stays as slow as it was.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace streamsan::footprints {

class RuntimeCallbacks {
 public:
  /// Before subscribing. `get_table` may be null.
  void remember(decltype(&::cuGetExportTable) get_table);
  /// After it. Nobody else must have subscribed in between.
  void restore();
  /// Are the flags known? If not, remember() and restore() did nothing.
  [[nodiscard]] bool known() const { return flags_ != nullptr; }

 private:
  static constexpr std::size_t kFlags = 1024;  // one for each function of the run-time library, and room

  std::uint32_t* flags_ = nullptr;
  bool were_set_[kFlags] = {};
};

}  // namespace streamsan::footprints
