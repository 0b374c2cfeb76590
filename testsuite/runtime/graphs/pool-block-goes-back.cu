// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pool's block is baked into a graph and goes back to the pool before the last launch, which is in the same stream:
// all is in order, but the memory is nobody's. With OWNED the block goes back during the capture, which gets it again:
// what is handed out there is the graph's, whenever it goes back.
//
// RUN: %build -DANNOTATED %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DANNOTATED -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
// RUN: %build -DANNOTATED -DCAPTURED_AGAIN %s -o %t.again
// RUN: %computed %silent %t.again
// RUN: %build -DANNOTATED -DOWNED %s -o %t.owned
// RUN: %computed %silent %t.owned
//
// CHECK: ERROR: streamsan: use-after-free {{.*}}device memory
// CHECK: Write by kernel {{.*}}(graph node 1)
// CHECK: main{{.*}}[[USE]]
// CHECK: Previous free by the pool
// CHECK: main{{.*}}[[BACK]]
// CHECK: No ordering: the graph keeps the addresses that it was made with
// CHECK: the graph launched by cudaGraphLaunch
// CHECK: main{{.*}}[[LAUNCH]]
// CHECK: Fix: keep the block until the graph's last launch
// CHECK-NOT: ERROR: streamsan:
#include "caching_pool.h"
#include "graphs.h"

int main() {
  CachingPool pool;
  float *input = floats(), *output = floats();
  const cudaStream_t s = stream();
  char* block = pool.allocate(s);
  const auto capture = [&] {
    auto* workspace = reinterpret_cast<float*>(block);
    begin(s);
#ifdef OWNED
    pool.release(block);
    block = pool.allocate(s);
#endif
    scale<<<kCount / 256, 256, 0, s>>>(input, workspace);  // @USE
    add<<<kCount / 256, 256, 0, s>>>(input, workspace, output);
    return instantiate(end(s));
  };
  cudaGraphExec_t model = capture();
  must(cudaGraphLaunch(model, s));
#ifndef FIXED
  pool.release(block);  // @BACK
#endif
#ifdef CAPTURED_AGAIN
  block = pool.allocate(s);
  model = capture();
#endif
  must(cudaGraphLaunch(model, s));  // @LAUNCH
#ifdef FIXED
  pool.release(block);
#endif
  must(cudaDeviceSynchronize());
}
