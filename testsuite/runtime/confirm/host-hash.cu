// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --host_hash: a thread writes to the source of uploads all the time. Sooner or later what a host function finds in
// front of the copy is not what was there at the call: the range of 4 KiB that differs is recorded, as a write by a way
// that was not seen. A source that nobody writes to is not recorded, nor a pageable one, nor one in a capture, and
// nothing is without the option. The program's calls are recorded as ever, ours are not.
//
// REQUIRES: nulldriver
// RUN: %build %s -o %t
// RUN: rm -f %t.*trace
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.trace:host_hash=1:host_guard=0 %t write
// RUN: %trace_counts %t.trace touched | %filecheck %s
// RUN: %trace_counts %t.trace | %filecheck %s --check-prefix=CALLS
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.quiet.trace:host_hash=1:host_guard=0 STREAMSAN_NULL_COUNTS=%t.quiet.driver %t
// RUN: %trace_counts %t.quiet.trace touched | %filecheck %s --check-prefix=NONE
// RUN: %filecheck %s --check-prefix=HASHED --input-file %t.quiet.driver
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.off.trace:host_guard=0 STREAMSAN_NULL_COUNTS=%t.off.driver %t write
// RUN: %trace_counts %t.off.trace touched | %filecheck %s --check-prefix=NONE
// RUN: %filecheck %s --check-prefix=OFF --input-file %t.off.driver
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.pageable.trace:host_hash=1:host_guard=0 %t pageable
// RUN: %trace_counts %t.pageable.trace touched | %filecheck %s --check-prefix=NONE
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.capture.trace:host_hash=1:host_guard=0 %t capture
// RUN: %trace_counts %t.capture.trace touched | %filecheck %s --check-prefix=NONE
//
// CHECK: {{^}}cuMemcpyHtoDAsync_v2 content wrote 4096{{$}}
// CALLS: cuMemcpyHtoDAsync_v2 50
// CALLS-NOT: cuLaunchHostFunc
// NONE: {{^}}none{{$}}
// HASHED: cuLaunchHostFunc 50
// OFF-NOT: cuLaunchHostFunc
#include <atomic>
#include <cstring>
#include <thread>

#include "must.h"

constexpr size_t kBytes = 1 << 20;

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  char *device, *host;
  must(cudaMalloc(&device, kBytes));
  if (!std::strcmp(mode, "pageable")) {
    host = static_cast<char*>(std::calloc(1, kBytes));
  } else {
    must(cudaMallocHost(&host, kBytes));
  }
  std::memset(host, 0, kBytes);
  cudaStream_t stream;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  std::atomic<bool> stop{false};
  std::atomic<bool> writing{false};
  std::thread writer([&] {
    if (!*mode) return;
    // Every piece changes all the time.
    for (char value = 1; !stop; ++value) {
      for (size_t at = 0; at < kBytes; at += 512) *reinterpret_cast<volatile char*>(host + at) = value;
      writing = true;
    }
  });
  while (*mode && !writing) std::this_thread::yield();
  const bool capture = !std::strcmp(mode, "capture");
  if (capture) must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  for (int i = 0; i < 50; ++i) must(cudaMemcpyAsync(device, host, kBytes, cudaMemcpyHostToDevice, stream));
  cudaGraph_t graph;
  if (capture) must(cudaStreamEndCapture(stream, &graph));
  stop = true;
  writer.join();
  must(cudaStreamSynchronize(stream));
}
