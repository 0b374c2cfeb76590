// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What --perturb does not delay: operations without a byte, blocking copies, what a capture takes, and calls that make
// no work. A slow stream shows it: there everything else is delayed. The captured graph has the nodes it has without
// us; its launch is delayed. The delays are calls of ours: they are not recorded, the report is the same, and one line
// at exit counts them.
//
// REQUIRES: nulldriver
// RUN: %build -Xlinker --export-dynamic-symbol=clock_nanosleep %s -o %t
// RUN: env STREAMSAN_OPTIONS=footprints=inferred:perturb=7:perturb_seed=1 %run %t > %t.one
// RUN: env STREAMSAN_OPTIONS=footprints=inferred:perturb=7:perturb_seed=2 %run %t > %t.two
// RUN: env STREAMSAN_OPTIONS=footprints=inferred:perturb=7:perturb_seed=3 %run %t > %t.three
// RUN: env STREAMSAN_OPTIONS=footprints=inferred:perturb=7:perturb_seed=4 %run %t > %t.four
// RUN: sh -c 'cat %t.one %t.two %t.three %t.four' | %filecheck %s
// RUN: %run %t | %filecheck %s --check-prefix=OFF
// RUN: rm -f %t.trace
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.trace:perturb=7:verbosity=1 STREAMSAN_NULL_COUNTS=%t.driver %t > %t.out 2> %t.err
// RUN: %trace_counts %t.trace > %t.recorded
// RUN: %filecheck %s --check-prefix=RECORDED --input-file %t.recorded
// RUN: sh -c 'cat %t.err %t.driver %t.out' | %filecheck %s --check-prefix=COUNTED
//
// CHECK: {{^}}slow: launches DDDD fills DDDD copies DDDD graph D empty ... blocking .. captured .... nodes 4 sleeps 13
// OFF: {{^}}launches .... fills .... copies .... graph . empty ... blocking .. captured .... nodes 4 sleeps 0
// RECORDED-NOT: cuLaunchHostFunc
// Those that a capture takes are counted, too.
// COUNTED: perturb: [[N:[0-9]+]] of 17 operations were delayed by 7 ms (perturb_seed=1)
// COUNTED: cuLaunchHostFunc [[N]]
// COUNTED: sleeps [[N]]
#include "must.h"
#include "sleeps.h"

__global__ void consume(const char*) {}

int main() {
  char *buffer, *host;
  must(cudaMalloc(&buffer, 4096));
  must(cudaMallocHost(&host, 4096));
  cudaStream_t stream;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const auto fill = [&](int) { must(cudaMemsetAsync(buffer, 0, 64, stream)); };
  const std::string launches = delays_of(4, [&](int) { consume<<<1, 32, 0, stream>>>(buffer); });
  const std::string fills = delays_of(4, fill);
  const std::string copies = delays_of(4, [&](int) {
    must(cudaMemcpyAsync(buffer, host, 64, cudaMemcpyHostToDevice, stream));
  });
  must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  const std::string captured = delays_of(4, fill);
  cudaGraph_t graph;
  must(cudaStreamEndCapture(stream, &graph));
  size_t nodes = 0;
  must(cudaGraphGetNodes(graph, nullptr, &nodes));
  cudaGraphExec_t exec;
  must(cudaGraphInstantiate(&exec, graph, 0));
  const std::string launched = delays_of(1, [&](int) { must(cudaGraphLaunch(exec, stream)); });
  const std::string empty = delays_of(3, [&](int i) {
    if (i == 0) must(cudaMemsetAsync(buffer, 0, 0, stream));
    if (i == 1) must(cudaMemcpyAsync(buffer, host, 0, cudaMemcpyHostToDevice, stream));
    if (i == 2) must(cudaMemset2DAsync(buffer, 64, 0, 16, 0, stream));
  });
  must(cudaStreamSynchronize(stream));
  const std::string blocking = delays_of(2, [&](int i) {
    if (i == 0) must(cudaMemcpy(buffer, host, 64, cudaMemcpyHostToDevice));
    if (i == 1) must(cudaMemset(buffer, 0, 64));
  });
  std::printf("%slaunches %s fills %s copies %s graph %s empty %s blocking %s captured %s nodes %zu sleeps %d\n",
              launches == "DDDD" ? "slow: " : "", launches.c_str(), fills.c_str(), copies.c_str(), launched.c_str(),
              empty.c_str(), blocking.c_str(), captured.c_str(), nodes, sleeps.load());
}
