// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Starts the program under test as our child, passes on the signals that are meant for it, and waits for it.
//
// Signals that the kernel sends to the whole foreground group (keyboard) have si_code SI_KERNEL and reach the program
// without us. Those sent by kill() to us alone are passed on. A kill() to our whole process group reaches the program
// twice; nothing distinguishes the two cases.
//
// The kernel keeps its exit status until this object is destroyed, so that the thread that judges its trace can read it
// as well (Liveness::killed), and so that no other process gets its id in between.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace streamsan::cli {

class Child {
 public:
  Child() = default;
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Starts the program, found through PATH. Returns 0 or an errno value.
  int start(const std::vector<std::string>& command, const std::vector<std::string>& environment);
  /// True when it has ended; waits for that up to `patience`.
  bool ended_within(std::chrono::milliseconds patience);
  /// Sends it a signal.
  void signal(int number) const;

  /// From here on SIGINT, SIGTERM and the like ask us to stop judging; see interrupted().
  static void take_signals_ourselves();
  static bool interrupted();

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// False when its status went to somebody else; valid once it has ended, as the two below.
  [[nodiscard]] bool status_known() const { return status_known_; }
  /// Exit code in the shell's spelling.
  [[nodiscard]] int exit_code() const;
  /// The signal that killed it, or 0.
  [[nodiscard]] int killed_by() const;

 private:
  pid_t pid_ = -1;
  int descriptor_ = -1;
  int status_ = 0;  ///< exit code or signal
  bool status_known_ = true;
  bool killed_ = false;
  bool ended_ = false;
};

}  // namespace streamsan::cli
