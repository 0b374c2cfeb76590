// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A programmatic event fires when its kernel triggers, which says nothing of what the kernel does. Of a kernel that never
// triggers it fires at the end, today.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
// RUN: %build -DNO_TRIGGER %s -o %t.none
// RUN: %computed %run %t.none 2>&1 | %sites --check-prefix=LATENT
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: main{{.*}}[[SEND]]
// CHECK: main{{.*}}[[PRODUCE]]
// CHECK: cause=launch-event
// LATENT-NOT: ERROR
// LATENT: LATENT: streamsan: read-after-write
// LATENT: by R-LCH-03
#include "dependent.h"

__global__ void produce(float* data) {
#ifndef NO_TRIGGER
  trigger();
#endif
  data[index()] = 1;
}

int main() {
  float* data = floats();
  float* out = floats();
  const cudaStream_t s = stream();
  const cudaStream_t sending = stream();
  cudaEvent_t event = nullptr;
  must(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));

  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticEvent;
  attribute.val.programmaticEvent.event = event;
  cudaLaunchConfig_t config{};
  config.gridDim = kBlocks;
  config.blockDim = kThreads;
  config.stream = s;
#ifndef FIXED
  config.attrs = &attribute;
  config.numAttrs = 1;
#endif
  must(cudaLaunchKernelEx(&config, produce, data));  // @PRODUCE
#ifdef FIXED
  must(cudaEventRecord(event, s));
#endif
  must(cudaStreamWaitEvent(sending, event));
  must(cudaMemcpyAsync(out, data, kCount * sizeof(float), cudaMemcpyDeviceToDevice, sending));  // @SEND
  must(cudaDeviceSynchronize());
}
