// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Is the process that writes a trace still there?
//
// A judge that reads live must know when a call that never returns never will. The process may be a grandchild that we
// cannot wait for, its id may have been given to somebody else, and it may have gone on as another program (exec). So:
// a process file descriptor tells the end at once, and once in a while the process's own memory map is asked whether
// the trace is still mapped into it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace streamsan::cli {

class Liveness {
 public:
  Liveness(std::uint32_t pid, std::string trace);
  ~Liveness();
  Liveness(const Liveness&) = delete;
  Liveness& operator=(const Liveness&) = delete;

  /// Waits up to `patience` for the end of the process. True: it is over, nothing will be written any more.
  bool ended_within(std::chrono::milliseconds patience);
  /// A signal ended it. False for a process that is not our child: only its parent is told.
  [[nodiscard]] bool killed() const;

 private:
  [[nodiscard]] bool maps_trace() const;

  std::uint32_t pid_;
  std::string trace_;
  int descriptor_ = -1;
  bool ended_ = false;
  std::chrono::steady_clock::time_point next_look_;
};

}  // namespace streamsan::cli
