// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread for what may block for ever.
//
// Patching a module waits until the GPU has nothing left to do (measured: also for other modules' kernels in other
// streams), and a kernel may run until the guest's next call lets it end. So the guest's thread never does it itself:
// it hands the work to this thread and waits a bounded time. If the time is over it goes on unmeasured, and nothing is
// measured until the worker is done.
#pragma once

#include <pthread.h>

#include <cstdint>

namespace streamsan::footprints {

class Worker {
 public:
  using Job = void (*)(void* argument);

  /// Runs the job on the worker's thread, which is made on first use. True: it is done. False: it was not done in time
  /// and still runs (or there is no thread), idle() will tell; or an earlier one still runs, and this one never will.
  bool run(Job job, void* argument, std::uint32_t patience_ms);
  /// Waits for the running job. True: it is done, or there is none.
  bool wait(std::uint32_t patience_ms);
  /// No job is running.
  bool idle();
  /// In the child of a fork: the thread is gone.
  void forget();

 private:
  static void* loop(void* self);
  bool wait_locked(std::uint32_t patience_ms);

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed_ = PTHREAD_COND_INITIALIZER;
  bool started_ = false;
  bool busy_ = false;
  Job job_ = nullptr;
  void* argument_ = nullptr;
};

}  // namespace streamsan::footprints
