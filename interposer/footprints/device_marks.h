// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The marks of one context: device memory, cleared before each measurement and read after it, on a stream of our own,
// so that nothing is ever enqueued in the guest's streams for them.
//
// They start small and grow by four when a kernel touched more regions than fit, up to the limit the recorder set for
// all contexts together and a quarter of what is free.
#pragma once

#include <cstddef>
#include <cstdint>

#include "interposer/footprints/driver_calls.h"
#include "interposer/footprints/marks.h"
#include "interposer/footprints/runs.h"

namespace streamsan::footprints {

class DeviceMarks {
 public:
  /// Makes sure that cleared marks are there. The context is current and idle. Returns null, or why they are not.
  const char* prepare(const DriverCalls& driver, std::uint64_t most_bytes);
  /// What the patches are given.
  [[nodiscard]] const void* on_device() const { return reinterpret_cast<const void*>(table_); }

  /// A measurement begins: from now on there may be marks, until read() has cleared them.
  void begin() { dirty_ = true; }
  /// Gives everything back. The context is current.
  void destroy(const DriverCalls& driver);
  /// The context is gone, and all memory with it.
  void abandon();

  /// The kernel takes too long: from now on its patches do nothing. Waits for nothing. The context is current.
  void stop(const DriverCalls& driver);

  enum class Read { Done, Overflow, Stopped, Failed };
  /// Adds all marks to `runs`, and has them cleared: that is over when the context is idle. Overflow, Stopped: they are
  /// only cleared. After the former the next prepare() makes more room, unless at_limit().
  Read read(const DriverCalls& driver, Runs& runs);
  [[nodiscard]] bool at_limit() const { return at_limit_; }

 private:
  bool allocate(const DriverCalls& driver, std::uint32_t slots);
  void release(const DriverCalls& driver);
  const char* clear_left_over(const DriverCalls& driver);
  bool clear(const DriverCalls& driver, std::size_t used);
  [[nodiscard]] std::size_t slots_in_row(std::size_t first, std::size_t end) const;
  bool read_slots(const DriverCalls& driver, std::size_t used, Runs& runs);

  // One block. The words come first: a kernel of the guest that writes behind its own memory, which may go unnoticed
  // without us, then spoils marks, and neither the keys nor the pointers that the patches follow.
  CUdeviceptr words_ = 0;
  CUdeviceptr keys_ = 0;
  CUdeviceptr table_ = 0;  // a Marks
  std::uint32_t slots_ = 0;
  std::uint32_t wanted_ = 0;  // slots the next prepare() is to have
  bool at_limit_ = false;
  bool dirty_ = false;
  bool stopped_ = false;
  CUstream stream_ = nullptr;
  char* staging_ = nullptr;                  // pinned
  unsigned long long* host_keys_ = nullptr;  // pinned, one for each slot, and behind them a Marks
};

}  // namespace streamsan::footprints
