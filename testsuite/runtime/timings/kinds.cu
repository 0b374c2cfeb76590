// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All that runs on the GPU has times: kernels, copies, fills, launches of graphs. What is captured does not run, and has
// none. That the host waits in a copy counts as the copy's.
//
// RUN: %build %s -o %t
// RUN: %timed %expect 0 %streamsan run -v 2 -- %t 2>&1 | %filecheck %s
// RUN: %timed STREAMSAN_NULL_CUPTI=own-clock %expect 0 %streamsan run -v 2 -- %t 2>&1 | %filecheck %s
// RUN: %timed %expect 0 %streamsan run --perfetto %t.perfetto.json -- %t > %t.out 2>&1
// RUN: %python %S/../formats/inputs/check_perfetto.py %t.perfetto.json | %filecheck %s --check-prefix=PERFETTO
// RUN: rm -rf %t.dir
// RUN: %timed %expect 0 %streamsan run --keep-trace --trace-dir=%t.dir -- %t > %t.out 2>&1
// RUN: %trace_records %t.dir/*/*.trace GpuTime | %filecheck %s --check-prefix=RECORDS
// REQUIRES: nulldriver
//
// CHECK: timings: 9 calls, 7 times, 0 of other calls, 0 records without times, 0 dropped
// CHECK-NOT: times of
// CHECK: the host was blocked for {{[0-9.]+}} ms of {{[0-9.]+}} ms in 2 blocking calls; because of it the GPU idled for up to {{.*}} overlapped{{$}}
// CHECK-NOT: timings:
//
// PERFETTO-DAG: slice on stream 1 (non-blocking): kernel set
// PERFETTO-DAG: slice on host thread 1 (main): cudaStreamSynchronize
// PERFETTO-DAG: instant on host thread 1 (main): returned
// PERFETTO-DAG: order arrow, sync: cudaGraphLaunch on stream 1 (non-blocking) -> returned on host thread 1 (main)
//
// RECORDS-COUNT-7: GpuTime
// RECORDS-NOT: GpuTime
#include "syncs.h"

int main() {
  float *a = device_floats(), *b = device_floats(), *host = pinned_floats();
  cudaStream_t stream = non_blocking_stream();
  run_set(stream, a, 1);
  must(cudaMemsetAsync(b, 0, kBytes, stream));
  must(cudaMemcpyAsync(host, a, kBytes, cudaMemcpyDeviceToHost, stream));
  must(cudaMemcpyAsync(b, a, kBytes, cudaMemcpyDeviceToDevice, stream));
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  run_add(stream, a, b, 1);
  run_add(stream, a, b, 2);
  must(cudaStreamEndCapture(stream, &graph));
  must(cudaGraphInstantiate(&ready, graph, 0));
  must(cudaGraphLaunch(ready, stream));
  must(cudaGraphLaunch(ready, stream));
  must(cudaStreamSynchronize(stream));
  must(cudaMemcpy(host, b, kBytes, cudaMemcpyDeviceToHost));
}
