// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel in a graph and the host draw from one counter. As outside of graphs (host/atomics-of-the-system.cu): by atomics
// of the whole system that is how the two talk to each other (R-UM-11), at most possible.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DSYSTEM %s -o %t.system
// RUN: env STREAMSAN_OPTIONS=footprints=inferred,kernel_code=1,min_severity=possible %run %t.system 2>&1 | %report --check-prefix=SYSTEM
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
//
// CHECK: ERROR: streamsan: {{.*}}host race on managed memory
// CHECK: Previous atomic update by kernel draw{{.*}}(graph node 1)
// CHECK: main{{.*}}[[DRAW]]
// CHECK: the graph launched by cudaGraphLaunch
//
// SYSTEM-NOT: ERROR
// SYSTEM: POSSIBLE: streamsan: {{.*}}host race on managed memory
// SYSTEM: Previous atomic update by kernel draw
// SYSTEM: The kernel's atomic accesses are atomic for the host, too (R-UM-11).
// SYSTEM-NOT: ERROR
#include "graphs.h"

__global__ void draw(int* counter) {
#ifdef SYSTEM
  atomicAdd_system(counter, 1);
#else
  atomicAdd(counter, 1);
#endif
}

int main() {
  int* counter = nullptr;
  must(cudaMallocManaged(&counter, sizeof *counter));
  *counter = 0;
  const cudaStream_t s = stream();
  begin(s);
  draw<<<4, 64, 0, s>>>(counter);  // @DRAW
  const cudaGraphExec_t exec = instantiate(end(s));
  must(cudaGraphLaunch(exec, s));
#ifdef FIXED
  must(cudaStreamSynchronize(s));
#endif
  __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
  must(cudaStreamSynchronize(s));
}
