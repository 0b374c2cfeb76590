// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The marks of one context: device memory, cleared before each measurement and read after it, on a stream of our own,
// so that nothing is ever enqueued in the guest's streams for them.
//
// They start small and grow by four when a kernel touched more regions than fit, up to the limit the recorder set and a
// quarter of what is free.
#pragma once

#include <cstddef>
#include <cstdint>

#include "interposer/footprints/driver_calls.h"
#include "interposer/footprints/marks.h"
#include "interposer/footprints/runs.h"

namespace streamsan::footprints {

class DeviceMarks {
 public:
  /// Makes sure that cleared marks are there. The context is current. Returns null, or why they are not.
  const char* prepare(const DriverCalls& driver, std::uint64_t most_bytes);
  /// What the patches are given.
  [[nodiscard]] const void* on_device() const { return reinterpret_cast<const void*>(table_); }

  enum class Read { Done, Overflow, Failed };
  /// Adds all marks to `runs` and clears them. Overflow: they were cleared without, and the next prepare() makes more
  /// room, unless at_limit().
  Read read(const DriverCalls& driver, Runs& runs);
  [[nodiscard]] bool at_limit() const { return at_limit_; }

 private:
  bool allocate(const DriverCalls& driver, std::uint32_t slots);
  void release(const DriverCalls& driver);
  bool clear(const DriverCalls& driver, std::size_t used);
  bool read_slots(const DriverCalls& driver, std::size_t used, Runs& runs);

  CUdeviceptr table_ = 0;  // a Marks
  CUdeviceptr keys_ = 0;
  CUdeviceptr words_ = 0;
  std::uint32_t slots_ = 0;
  std::uint32_t wanted_ = 0;  // slots the next prepare() is to have
  bool at_limit_ = false;
  CUstream stream_ = nullptr;
  char* staging_ = nullptr;                  // pinned
  unsigned long long* host_keys_ = nullptr;  // pinned, one for each slot
};

}  // namespace streamsan::footprints
