// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two graphs of one model: the prefill writes the cache, the decoding step reads it. The step is launched in the stream of
// the decoder, which does not wait for the prefill.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read by kernel add{{.*}}(graph node 1)
// CHECK: main{{.*}}[[ATTEND]]
// CHECK: Previous write by kernel scale{{.*}}(graph node 1)
// CHECK: main{{.*}}[[PREFILL]]
// CHECK: Fix: record an event on stream 1 after cudaGraphLaunch ({{.*}}) and call cudaStreamWaitEvent(stream 2, event)
// CHECK-NOT: ERROR: streamsan:
#include "graphs.h"

int main() {
  float *prompt = floats(), *cache = floats(), *query = floats(), *output = floats();
  const cudaStream_t prefill = stream(), decode = stream();
  begin(prefill);
  scale<<<kCount / 256, 256, 0, prefill>>>(prompt, cache);  // @PREFILL
  const cudaGraphExec_t fills = instantiate(end(prefill));
  begin(decode);
  add<<<kCount / 256, 256, 0, decode>>>(query, cache, output);  // @ATTEND
  const cudaGraphExec_t step = instantiate(end(decode));
  must(cudaGraphLaunch(fills, prefill));
#ifdef FIXED
  after(decode, prefill);
#endif
  for (int i = 0; i < 3; ++i) must(cudaGraphLaunch(step, decode));
  must(cudaDeviceSynchronize());
}
