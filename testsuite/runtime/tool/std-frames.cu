// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What std::thread and std::function put between the program's functions tells nobody anything: text leaves it out, the
// JSON report has it. A program's own function that is called std-something is its own.
//
// RUN: %build %s -o %t -lpthread
// RUN: %racy %t 2>&1 | %report
// RUN: %expect 66 %streamsan run --json=%t.json -- %t
// RUN: %json %t.json | %sites --check-prefix=JSON
// RUN: %build -DFIXED %s -o %t.fixed -lpthread
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write race
// CHECK: Read by cudaMemcpyAsync
// CHECK-NEXT: #0 {{.*}}std_like::download{{.*}}[[READ]]
// CHECK-NOT: {{#[0-9]+ .*(std::|__gnu_cxx)}}
// CHECK: Previous write by
// CHECK-NOT: {{#[0-9]+ .*(std::|__gnu_cxx)}}
// CHECK: No ordering:
// JSON: findings[0].accesses[0].stack{{.*}}std::
#include <functional>
#include <thread>

#include "must.h"

namespace std_like {
void download(char* host, char* buffer, cudaStream_t stream) {
  must(cudaMemcpyAsync(host, buffer, 4096, cudaMemcpyDeviceToHost, stream));  // @READ
}
}  // namespace std_like

int main() {
  char* buffer;
  char* host;
  must(cudaMalloc(&buffer, 4096));
  must(cudaMallocHost(&host, 4096));
  cudaStream_t writer, reader;
  must(cudaStreamCreateWithFlags(&writer, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&reader, cudaStreamNonBlocking));
  must(cudaMemsetAsync(buffer, 0, 4096, writer));
#ifdef FIXED
  must(cudaStreamSynchronize(writer));
#endif
  const std::function<void()> work = [&] { std_like::download(host, buffer, reader); };
  std::thread(work).join();
}
