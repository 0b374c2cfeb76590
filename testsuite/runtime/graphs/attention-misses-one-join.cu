// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A captured attention block: queries, keys and values are projected in three streams. The score kernel waits for queries
// and keys; the values are joined behind the kernel that uses them.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read by kernel add{{.*}}(graph node {{[0-9]+}}) in the graph
// CHECK: main{{.*}}[[WEIGHTED]]
// CHECK: Previous write by kernel scale{{.*}}(graph node {{[0-9]+}}) in the graph
// CHECK: main{{.*}}[[VALUES]]
// CHECK: Fix: add an edge from
// CHECK: cause=no-path-in-graph
// CHECK-NOT: ERROR: streamsan:
#include "graphs.h"

int main() {
  float *x = floats(), *q = floats(), *k = floats(), *v = floats(), *scores = floats(), *out = floats();
  const cudaStream_t s = stream(), keys = stream(), values = stream();
  begin(s);
  after(keys, s);
  after(values, s);
  scale<<<kCount / 256, 256, 0, s>>>(x, q);
  scale<<<kCount / 256, 256, 0, keys>>>(x, k);
  scale<<<kCount / 256, 256, 0, values>>>(x, v);  // @VALUES
  after(s, keys);
  add<<<kCount / 256, 256, 0, s>>>(q, k, scores);
#ifdef FIXED
  after(s, values);
#endif
  add<<<kCount / 256, 256, 0, s>>>(scores, v, out);  // @WEIGHTED
  after(s, values);
  const cudaGraphExec_t exec = instantiate(end(s));
  for (int i = 0; i < 3; ++i) must(cudaGraphLaunch(exec, s));
  must(cudaStreamSynchronize(s));
}
