// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As garbage collectors do: a thread is stopped by a signal, perhaps in the middle of our functions, and the one that
// stopped it calls them before it lets the other go on. It does not wait for ever.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=exitcode=0,host_guard_cost=100 %run %t > %t.checked
// RUN: %filecheck %s --input-file %t.checked
//
// CHECK: alive
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include "must.h"
static sem_t stopped, go;
static void h(int) {
  int e = errno;
  sem_post(&stopped);
  while (sem_wait(&go) != 0) {
  }
  errno = e;
}
static std::atomic<bool> end;
int main() {
  char *pinned, *device;
  must(cudaMallocHost(&pinned, 1 << 22));
  must(cudaMalloc(&device, 1 << 22));
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  sem_init(&stopped, 0, 0);
  sem_init(&go, 0, 0);
  signal(SIGUSR1, h);
  for (int i = 0; i < 200; ++i) must(cudaMemcpyAsync(pinned + i * 8192, device, 8192, cudaMemcpyDeviceToHost, stream));
  pthread_t t;
  pthread_create(
      &t, nullptr,
      [](void*) -> void* {
        char b[8];
        while (!end) pread(0, b, 8, 0);
        return nullptr;
      },
      nullptr);
  char c[1];
  alarm(60);
  for (int i = 0; i < 4000; ++i) {
    pthread_kill(t, SIGUSR1);
    while (sem_wait(&stopped) != 0) {
    }
    pread(0, c, 1, 0);
    sem_post(&go);
  }
  end = true;
  pthread_join(t, nullptr);
  std::printf("alive\n");
}
