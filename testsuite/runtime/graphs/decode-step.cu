// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A decoding step with static buffers: the graph appends the token to the cache and attends over it. The next token is
// uploaded in another stream while the step may still read the last one.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-read
// CHECK: Write by {{.*}}cudaMemcpyAsync
// CHECK: main{{.*}}[[UPLOAD]]
// CHECK: Previous read by kernel scale{{.*}}(graph node 1)
// CHECK: capture_step{{.*}}[[APPEND]]
// CHECK: the graph launched by cudaGraphLaunch
// CHECK: main{{.*}}[[STEP]]
// CHECK-NOT: ERROR: streamsan:
#include "graphs.h"

static cudaGraphExec_t capture_step(cudaStream_t s, const float* token, float* cache, float* logits) {
  begin(s);
  scale<<<kCount / 256, 256, 0, s>>>(token, cache);  // @APPEND
  add<<<kCount / 256, 256, 0, s>>>(cache, cache, logits);
  return instantiate(end(s));
}

int main() {
  float *token = floats(), *cache = floats(), *logits = floats(), *tokens = pinned();
  const cudaStream_t s = stream(), upload = stream();
  const cudaGraphExec_t step = capture_step(s, token, cache, logits);
  for (int i = 0; i < 4; ++i) {
#ifdef FIXED
    after(upload, s);
#endif
    must(cudaMemcpyAsync(token, tokens, kBytes, cudaMemcpyHostToDevice, upload));  // @UPLOAD
    after(s, upload);
    must(cudaGraphLaunch(step, s));  // @STEP
  }
  must(cudaDeviceSynchronize());
}
