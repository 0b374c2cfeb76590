// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The process ends by _exit while another thread is in the middle of its calls: a trace that stops there is judged up
// to there, with the program's own exit code and without a finding.
//
// RUN: %build %s -o %t
// RUN: %expect 5 %streamsan run --json %t.json -- %t > %t.out 2>&1
// RUN: %filecheck %s --allow-empty --input-file %t.out
// RUN: %json %t.json | %filecheck %s --check-prefix=JSON
//
// JSON: findings.size = 0
// JSON: summary.operations = {{[1-9][0-9][0-9]}}
// CHECK-NOT: {{ERROR|LATENT|POSSIBLE|disabled}}
#include <atomic>
#include <thread>

#include "must.h"

std::atomic<int> calls{0};

int main() {
  std::thread([] {
    cudaStream_t stream;
    must(cudaStreamCreate(&stream));
    char* buffer;
    must(cudaMalloc(&buffer, 4096));
    for (;;) {
      // No must(): the driver may refuse calls once the process is going.
      (void)cudaMemsetAsync(buffer, 0, 4096, stream);
      ++calls;
    }
  }).detach();
  while (calls < 100) std::this_thread::yield();
  std::_Exit(5);
}
