// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Another stream uses the first kernel's result. An event that is recorded behind the second kernel covers both, whatever
// the second has waited for (R-LCH-02e); one that the launch of the first records itself covers neither.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: main{{.*}}[[SEND]]
// CHECK: main{{.*}}[[PRODUCE]]
// CHECK: waits for event {{.*}}, which the launch of kernel produce{{.*}} records itself
// CHECK: Fix: call cudaEventRecord(event
// CHECK: cause=launch-event
#include "dependent.h"

__global__ void produce(float* data) {
  trigger();
  data[index()] = 1;
}

__global__ void other(float* data) { data[index()] = 2; }

int main() {
  float* data = floats();
  float* more = floats();
  float* out = floats();
  const cudaStream_t s = stream();
  const cudaStream_t sending = stream();
  cudaEvent_t event = nullptr;
  must(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));

  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeLaunchCompletionEvent;
  attribute.val.launchCompletionEvent.event = event;
  cudaLaunchConfig_t config{};
  config.gridDim = kBlocks;
  config.blockDim = kThreads;
  config.stream = s;
#ifndef FIXED
  config.attrs = &attribute;
  config.numAttrs = 1;
#endif
  must(cudaLaunchKernelEx(&config, produce, data));                   // @PRODUCE
  launch(Begins::Early, s, kBlocks, kThreads, other, more);
#ifdef FIXED
  must(cudaEventRecord(event, s));
#endif
  must(cudaStreamWaitEvent(sending, event));
  must(cudaMemcpyAsync(out, data, kCount * sizeof(float), cudaMemcpyDeviceToDevice, sending));  // @SEND
  must(cudaDeviceSynchronize());
}
