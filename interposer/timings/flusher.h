// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread that has CUPTI hand out its records now and then, and at the end.
//
// CUPTI hands a buffer out when it is full, which in a short program is never, and what it has not handed out is lost
// with a process that is killed. A flush may take long, or for ever if the driver is in trouble, so the program's own
// threads do not make it: at exit the program waits for it a bounded time.
#pragma once

#include <pthread.h>

#include <cstdint>

namespace streamsan::timings {

class Flusher {
 public:
  using Flush = void (*)(bool last);

  /// Calls `flush` every so many milliseconds from now on, on a thread of its own. False: there is no thread.
  bool start(Flush flush, std::uint32_t period_ms);
  /// Has flush(true) called as the last one. True: it has returned.
  bool finish(std::uint32_t patience_ms);
  /// In the child of a fork: the thread is gone.
  void forget();

 private:
  static void* loop(void* self);

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed_ = PTHREAD_COND_INITIALIZER;
  Flush flush_ = nullptr;
  std::uint32_t period_ms_ = 0;
  bool running_ = false;
  bool ending_ = false;
};

}  // namespace streamsan::timings
