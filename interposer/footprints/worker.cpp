// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/footprints/worker.h"

#include <cerrno>
#include <new>

#include "interposer/own_thread.h"

namespace streamsan::footprints {

void* Worker::loop(void* self) {
  auto& worker = *static_cast<Worker*>(self);
  pthread_mutex_lock(&worker.mutex_);
  for (;;) {
    while (!worker.job_) pthread_cond_wait(&worker.changed_, &worker.mutex_);
    const Job job = worker.job_;
    worker.job_ = nullptr;
    pthread_mutex_unlock(&worker.mutex_);
    job(worker.argument_);
    pthread_mutex_lock(&worker.mutex_);
    worker.busy_ = false;
    pthread_cond_broadcast(&worker.changed_);
  }
  return nullptr;
}

bool Worker::wait_locked(std::uint32_t patience_ms) {
  const timespec deadline = deadline_in(patience_ms);
  int waited = 0;
  while (busy_ && waited != ETIMEDOUT) waited = pthread_cond_timedwait(&changed_, &mutex_, &deadline);
  return !busy_;
}

bool Worker::wait(std::uint32_t patience_ms) {
  pthread_mutex_lock(&mutex_);
  const bool done = wait_locked(patience_ms);
  pthread_mutex_unlock(&mutex_);
  return done;
}

bool Worker::run(Job job, void* argument, std::uint32_t patience_ms) {
  pthread_mutex_lock(&mutex_);
  if (busy_) {
    pthread_mutex_unlock(&mutex_);
    return false;
  }
  if (!started_) {
    use_monotonic_clock(changed_);
    started_ = start_own_thread(loop, this);
  }
  bool done = false;
  if (started_) {
    busy_ = true;
    job_ = job;
    argument_ = argument;
    pthread_cond_broadcast(&changed_);
    done = wait_locked(patience_ms);
  }
  pthread_mutex_unlock(&mutex_);
  return done;
}

bool Worker::idle() {
  pthread_mutex_lock(&mutex_);
  const bool idle = !busy_;
  pthread_mutex_unlock(&mutex_);
  return idle;
}

void Worker::forget() { new (this) Worker(); }

}  // namespace streamsan::footprints
