// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process forks while copies are in flight. The child has no GPU, but its copy of the memory: it reads and writes the
// buffers and leaves, which is no concern of the parent's copies. The parent goes on. The buffers are registered
// memory, which a child inherits; what cudaMallocHost gave may not be there.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "stage.h"

namespace {

constexpr size_t kBuffer = 1 << 20;
constexpr int kRounds = 5;

char* registered() {
  void* pointer = nullptr;
  if (posix_memalign(&pointer, 4096, kBuffer) != 0) std::exit(2);
  for (size_t i = 0; i < kBuffer; ++i) static_cast<char*>(pointer)[i] = 1;
  CHECK(cudaHostRegister(pointer, kBuffer, cudaHostRegisterDefault));
  return static_cast<char*>(pointer);
}

/// What only a child can do without harm: nobody has brought anything into its memory.
int touch_all(char* source, volatile char* target) {
  for (size_t i = 0; i < kBuffer; i += 1024) {
    source[i] = 9;
    target[i] = 9;
    if (target[i] != 9) return 1;
  }
  return 17;
}

}  // namespace

int main() {
  cudaStream_t stream = non_blocking_stream();
  char* source = registered();
  char* target = registered();
  char* data = device_memory<char>(kBuffer);
  int right = 0;
  for (int round = 0; round < kRounds; ++round) {
    const char value = static_cast<char>(10 + round);
    for (size_t i = 0; i < kBuffer; ++i) source[i] = value;
    CHECK(cudaMemcpyAsync(data, source, kBuffer, cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyAsync(target, data, kBuffer, cudaMemcpyDeviceToHost, stream));
    const pid_t child = fork();
    if (child < 0) return 2;
    if (child == 0) _exit(touch_all(source, target));
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 17) return 4;
    CHECK(cudaStreamSynchronize(stream));
    bool all = true;
    for (size_t i = 0; i < kBuffer; ++i) all = all && target[i] == value;
    right += all;
  }
  std::printf("%d rounds are right\n", right);
  return right == kRounds ? 0 : 3;
}
