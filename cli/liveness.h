// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Is the process that writes a trace still there?
//
// A judge that reads a trace live must know when a call will never return, because the process is gone. The process may
// be a grandchild that we cannot wait for, it may live in a process namespace where its id means nothing to us, its id
// may have been given to somebody else, and it may have gone on as another program (exec). So the judge does not rely
// on the id: the recorder holds a shared lock (flock) on the trace for as long as it may write, from before the trace
// can be seen, and the kernel drops it at exit, exec and kill. If the judge can lock the file exclusively, the writer
// is gone. A descriptor of the process with that id only wakes the judge early.
//
// If the file system has no locks, the judge falls back on the id: on the end of the process, or on a memory map of it,
// read now and then, that no longer has the trace.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace streamsan::cli {

enum class Mapped : std::uint8_t { No, Yes, Unknown };
/// Does the process with this id have the trace in its memory? Unknown: we may not look.
Mapped maps_trace(std::uint32_t pid, const std::string& trace);

class Liveness {
 public:
  Liveness(std::uint32_t pid, std::string trace);
  ~Liveness();
  Liveness(const Liveness&) = delete;
  Liveness& operator=(const Liveness&) = delete;

  /// Waits up to `patience` for the end of the process. True: it is over, nothing will be written any more.
  bool ended_within(std::chrono::milliseconds patience);
  /// A signal ended it. False for a process that is not our child: only its parent learns that.
  [[nodiscard]] bool killed() const;

 private:
  enum class Lock : std::uint8_t { Held, Free, Unsupported };
  [[nodiscard]] Lock look() const;
  void wait(std::chrono::milliseconds patience);
  [[nodiscard]] bool ended_by_id();

  std::uint32_t pid_;
  std::string trace_;
  int file_ = -1;        ///< our own, for its lock
  int descriptor_ = -1;  ///< of the process
  bool process_gone_ = false;
  bool ended_ = false;
  std::chrono::steady_clock::time_point next_look_;
};

}  // namespace streamsan::cli
