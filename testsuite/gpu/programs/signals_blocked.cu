// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread that blocks all signals and touches a buffer a copy is using. A fault in such a thread kills the process,
// unless whoever protects pages sees to it that it does not. Racy: the thread reads before the copy is done; this is to
// be reported, and the program must live. Repaired: it waits. Either way its signal mask is what it set.
#include <pthread.h>
#include <signal.h>

#include <thread>

#include "stage.h"

namespace {

constexpr int kWords = 1 << 20;
constexpr int kByte = 5;

int blocked_signals() {
  sigset_t now;
  if (pthread_sigmask(SIG_SETMASK, nullptr, &now) != 0) return -1;
  int blocked = 0;
  for (int signal : {SIGSEGV, SIGBUS, SIGTERM, SIGUSR1, SIGPROF}) blocked += sigismember(&now, signal);
  return blocked;
}

void work(int* target, const int* data, bool* right) {
  sigset_t all;
  sigfillset(&all);
  if (pthread_sigmask(SIG_SETMASK, &all, nullptr) != 0) std::exit(2);
  cudaStream_t stream = non_blocking_stream();
  CHECK(cudaMemcpyAsync(target, data, kWords * sizeof(int), cudaMemcpyDeviceToHost, stream));  // site: copy
#ifdef FIXED
  CHECK(cudaStreamSynchronize(stream));
#endif
  const volatile int early = target[0];  // site: read
  CHECK(cudaStreamSynchronize(stream));
  (void)early;
  *right = blocked_signals() == 5 && target[0] == 0x05050505 && target[kWords - 1] == 0x05050505;
}

}  // namespace

int main() {
  int* data = device_memory<int>(kWords);
  int* target = pinned_memory<int>(kWords);
  CHECK(cudaMemset(data, kByte, kWords * sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  bool right = false;
  std::thread thread(work, target, data, &right);
  thread.join();
  if (blocked_signals() != 0) return 4;
  std::printf("%s\n", right ? "right" : "wrong");
  return right ? 0 : 3;
}
