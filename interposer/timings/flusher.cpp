// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/timings/flusher.h"

#include <cerrno>
#include <new>

#include "interposer/own_thread.h"

namespace streamsan::timings {

void* Flusher::loop(void* self) {
  auto& flusher = *static_cast<Flusher*>(self);
  pthread_mutex_lock(&flusher.mutex_);
  for (bool last = false; !last;) {
    const timespec deadline = deadline_in(flusher.period_ms_);
    int waited = 0;
    while (!flusher.ending_ && waited != ETIMEDOUT) {
      waited = pthread_cond_timedwait(&flusher.changed_, &flusher.mutex_, &deadline);
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
  use_monotonic_clock(changed_);
  running_ = start_own_thread(loop, this);
  return running_;
}

bool Flusher::finish(std::uint32_t patience_ms) {
  const timespec deadline = deadline_in(patience_ms);
  pthread_mutex_lock(&mutex_);
  ending_ = true;
  pthread_cond_broadcast(&changed_);
  int waited = 0;
  while (running_ && waited != ETIMEDOUT) waited = pthread_cond_timedwait(&changed_, &mutex_, &deadline);
  const bool done = !running_;
  pthread_mutex_unlock(&mutex_);
  return done;
}

void Flusher::forget() { new (this) Flusher(); }

}  // namespace streamsan::timings
