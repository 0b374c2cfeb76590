// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A norm and the scaling behind it, which is launched to overlap it. The scaling loads the norm's result before it waits
// for the norm. It may load what the norm does not write. Without the attribute, or with a copy between the two, nothing
// overlaps.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
// RUN: %build -DPLAIN %s -o %t.plain
// RUN: %computed %silent %t.plain
// RUN: %build -DCOPY_BETWEEN %s -o %t.copy
// RUN: %computed %silent %t.copy
// RUN: %run %t
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read by kernel scale
// CHECK: main{{.*}}[[SCALE]]
// CHECK: Previous write by kernel norm
// CHECK: main{{.*}}[[NORM]]
// CHECK: No ordering: kernel scale{{.*}} is launched with programmatic serialisation, so it may begin before kernel norm
// CHECK-SAME: has ended, and it touches the memory before it waits for that kernel.
// CHECK: Fix: call cudaGridDependencySynchronize() in kernel scale{{.*}} before it touches the memory; or launch
// CHECK: cause=dependent-launch
// CHECK-NOT: streamsan: read-after
#include "dependent.h"

__global__ void norm(const float* in, float* factor) {
  trigger();
  factor[index()] = rsqrtf(in[index()] * in[index()] + 1e-6f);
}

__global__ void scale(const float* in, const float* factor, float* out) {
  const float value = in[index()];
#ifdef FIXED
  wait();
  const float by = factor[index()];
#else
  const float by = factor[index()];
  wait();
#endif
  out[index()] = value * by;
}

int main() {
  float* in = floats();
  float* factor = floats();
  float* out = floats();
  const cudaStream_t s = stream();
#ifdef PLAIN
  constexpr Begins kBegins = Begins::WhenAllHasEnded;
#else
  constexpr Begins kBegins = Begins::Early;
#endif
  must(cudaMemsetAsync(in, 0, kCount * sizeof(float), s));
  launch(Begins::WhenAllHasEnded, s, kBlocks, kThreads, norm, in, factor);  // @NORM
#ifdef COPY_BETWEEN
  must(cudaMemcpyAsync(out, in, kCount * sizeof(float), cudaMemcpyDeviceToDevice, s));
#endif
  launch(kBegins, s, kBlocks, kThreads, scale, in, factor, out);  // @SCALE
  must(cudaDeviceSynchronize());
}
