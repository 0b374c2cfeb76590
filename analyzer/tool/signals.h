// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The signals that would end the program with its temporary folder left behind and its workers running.
//
// The handler only notes the signal: the driver, which waits for workers most of the time, sees it, ends them, leaves
// its scopes and so removes the folder, and only then dies of the signal. A second signal kills at once.
#pragma once

#include <csignal>

namespace streamsan::analyzer {

/// Begins to note SIGINT, SIGTERM, SIGHUP and SIGPIPE. SIGXFSZ is ignored: the write fails, here and in workers.
void note_signals();
/// In a worker: the signals noted end the process again. SIGXFSZ stays ignored.
void forget_signals();
/// The signal noted, or 0.
int noted_signal();
/// Ends the program as the noted signal would have.
[[noreturn]] void die_of_signal();

/// While it lives, these signals and the end of a worker come only inside of wait() and while released: none is lost
/// between a look at noted_signal(), or for workers that have ended, and the wait for the next one.
class SignalsHeld {
 public:
  SignalsHeld();
  ~SignalsHeld();
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

  /// Returns when one has come, or had come already.
  void wait() const;
  /// They come as ever while this lives: for what may take long, such as to print what nobody reads.
  class Released {
   public:
    explicit Released(const SignalsHeld& signals);
    ~Released();
    Released(const Released&) = delete;
    Released& operator=(const Released&) = delete;

   private:
    sigset_t held_{};
  };

  /// What workers are to start with.
  [[nodiscard]] const sigset_t& before() const { return before_; }

 private:
  sigset_t before_{};
};

}  // namespace streamsan::analyzer
