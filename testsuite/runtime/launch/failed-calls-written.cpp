// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call that would have made work or order and failed is in the trace: with its stream if the handle is one, with
// its event or other object, and with its result. A call that succeeds is not, nor one that makes neither, nor a result
// that is part of normal life (a query that is not ready, a capture that is refused). A row that fails often is written
// 64 times and then ever more rarely. After fork a child counts anew.
//
// REQUIRES: nulldriver
// RUN: %build_driver %s -o %t
// RUN: rm -f %t.trace %t.child.trace
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.trace STREAMSAN_NULL_FAIL=cuStreamSynchronize:1:999,cuMemAllocAsync:1:2,cuStreamQuery:1:600,cuMemFreeAsync:1:999,cuMemAlloc_v2:2:2 %t
// RUN: %trace_counts %t.trace failed | %filecheck %s
// RUN: rm -f %t.ok.trace
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.ok.trace %t right
// RUN: %trace_counts %t.ok.trace failed | %filecheck %s --check-prefix=OK
// RUN: rm -f %t.often.trace
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.often.trace %t often
// RUN: %trace_counts %t.often.trace failed > %t.often
// RUN: %filecheck %s --check-prefix=OFTEN --input-file %t.often
// RUN: grep -c "cuEventRecord 400" %t.often | %filecheck %s --check-prefix=COUNT
// RUN: rm -f %t.*.fork.trace
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.%%p.fork.trace %t fork
// RUN: sh -c 'for trace in %t.*.fork.trace; do %trace_counts $trace failed; done | grep -c cuEventRecord' | %filecheck %s --check-prefix=FORK
//
// CHECK: {{^}}cuStreamSynchronize 999 stream{{$}}
// CHECK-NEXT: {{^}}cuMemAllocAsync 2 stream{{$}}
// CHECK-NEXT: {{^}}cuMemFreeAsync 999 stream object{{$}}
// CHECK-NEXT: {{^}}cuEventRecord 400 stream object{{$}}
// CHECK-NEXT: {{^}}cuStreamWaitEvent 400 stream object{{$}}
// CHECK-NEXT: {{^}}cuEventRecord 400 object{{$}}
// CHECK-NEXT: {{^}}cuEventSynchronize 400 object{{$}}
// CHECK-NEXT: {{^}}cuMemsetD2D8Async{{(_v2)?}} 1 stream object{{$}}
// CHECK-NOT: {{.}}
// OK: {{^}}none{{$}}
// OFTEN: {{^}}cuEventRecord 400 stream object{{$}}
// 64, and those with the numbers 128, 256, 512 and 1024.
// COUNT: {{^}}68{{$}}
// 64 and 128 of the parent before the fork; one of the child.
// FORK: {{^}}66{{$}}
#include <cuda.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "first_device.h"
#include "must.h"

static CUevent destroyed_event() {
  CUevent event;
  must(cuEventCreate(&event, 0));
  must(cuEventDestroy(event));
  return event;
}

static void fails(CUresult result) {
  if (result == CUDA_SUCCESS) std::_Exit(98);
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  use_first_device();
  CUstream stream;
  must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  if (!std::strcmp(mode, "often")) {
    CUevent gone = destroyed_event();
    for (int i = 0; i < 1500; ++i) fails(cuEventRecord(gone, stream));
    return 0;
  }
  if (!std::strcmp(mode, "fork")) {
    CUevent gone = destroyed_event();
    for (int i = 0; i < 130; ++i) fails(cuEventRecord(gone, stream));
    if (fork() == 0) {
      use_first_device();
      CUstream own;
      must(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
      fails(cuEventRecord(destroyed_event(), own));
      std::exit(0);
    }
    int status = 0;
    wait(&status);
    return status != 0;
  }

  CUdeviceptr pooled, buffer, none = 0;
  CUevent event;
  must(cuMemAlloc(&buffer, 4096));
  must(cuEventCreate(&event, 0));
  if (!std::strcmp(mode, "right")) {
    must(cuStreamSynchronize(stream));
    must(cuMemAllocAsync(&pooled, 4096, stream));
    must(cuMemFreeAsync(pooled, stream));
    must(cuEventRecord(event, stream));
    must(cuStreamWaitEvent(stream, event, 0));
    must(cuEventSynchronize(event));
    must(cuMemsetD2D8Async(buffer, 64, 0, 16, 4, stream));
    return 0;
  }
  fails(cuStreamSynchronize(stream));
  fails(cuStreamQuery(stream));
  fails(cuMemAlloc(&none, 4096));
  fails(cuMemAllocAsync(&pooled, 4096, stream));
  must(cuMemAllocAsync(&pooled, 4096, stream));
  fails(cuMemFreeAsync(pooled, stream));
  CUevent gone = destroyed_event();
  fails(cuEventRecord(gone, stream));
  fails(cuStreamWaitEvent(stream, gone, 0));
  CUstream old;
  must(cuStreamCreate(&old, 0));
  must(cuStreamDestroy(old));
  fails(cuEventRecord(event, old));
  fails(cuEventSynchronize(gone));
  fails(cuMemsetD2D8Async(buffer, 16, 1, 64, 64, stream));
  // What a capture does not allow.
  must(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  fails(cuStreamSynchronize(stream));
  CUgraph graph;
  fails(cuStreamEndCapture(stream, &graph));
}
