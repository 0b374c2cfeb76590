// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/footprints/worker.h"

#include <signal.h>
#include <time.h>

#include <cerrno>
#include <new>

namespace streamsan::footprints {
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
  const timespec deadline = after(patience_ms);
  int waited = 0;
  while (busy_ && waited != ETIMEDOUT) waited = pthread_cond_clockwait(&changed_, &mutex_, CLOCK_MONOTONIC, &deadline);
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
    // The guest's signals are for the guest's threads.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    started_ = pthread_create(&thread, nullptr, loop, this) == 0;
    if (started_) pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
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
