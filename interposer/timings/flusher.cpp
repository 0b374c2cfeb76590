// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/timings/flusher.h"

#include <signal.h>
#include <time.h>

#include <cerrno>
#include <new>

namespace streamsan::timings {
namespace {

timespec after(std::uint32_t milliseconds) {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  time.tv_sec += milliseconds / 1000;
  time.tv_nsec += static_cast<long>(milliseconds % 1000) * 1'000'000;
  if (time.tv_nsec >= 1'000'000'000) {
    time.tv_nsec -= 1'000'000'000;
    ++time.tv_sec;
  }
  return time;
}

}  // namespace

void* Flusher::loop(void* self) {
  auto& flusher = *static_cast<Flusher*>(self);
  pthread_mutex_lock(&flusher.mutex_);
  for (bool last = false; !last;) {
    const timespec deadline = after(flusher.period_ms_);
    int waited = 0;
    while (!flusher.ending_ && waited != ETIMEDOUT) {
      waited = pthread_cond_clockwait(&flusher.changed_, &flusher.mutex_, CLOCK_MONOTONIC, &deadline);
    }
    last = flusher.ending_;
    pthread_mutex_unlock(&flusher.mutex_);
    flusher.flush_(last);
    pthread_mutex_lock(&flusher.mutex_);
  }
  flusher.running_ = false;
  pthread_cond_broadcast(&flusher.changed_);
  pthread_mutex_unlock(&flusher.mutex_);
  return nullptr;
}

bool Flusher::start(Flush flush, std::uint32_t period_ms) {
  flush_ = flush;
  period_ms_ = period_ms;
  // The guest's signals are for the guest's threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  running_ = pthread_create(&thread, nullptr, loop, this) == 0;
  if (running_) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return running_;
}

bool Flusher::finish(std::uint32_t patience_ms) {
  const timespec deadline = after(patience_ms);
  pthread_mutex_lock(&mutex_);
  ending_ = true;
  pthread_cond_broadcast(&changed_);
  int waited = 0;
  while (running_ && waited != ETIMEDOUT)
    waited = pthread_cond_clockwait(&changed_, &mutex_, CLOCK_MONOTONIC, &deadline);
  const bool done = !running_;
  pthread_mutex_unlock(&mutex_);
  return done;
}

void Flusher::forget() { new (this) Flusher(); }

}  // namespace streamsan::timings
