// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process in which every part of the recorder has something to remember forks, and the child does the same work with
// a driver of its own. Its trace holds what its parent's did: nothing is taken for known that only the parent's trace
// says, and nothing of the parent's is repeated.
//
// The exception is times: CUPTI does not work in a child, and the child says so.
//
// REQUIRES: nulldriver
// RUN: %build_driver %s -o %t
// RUN: sed -n "s|^// SCRIPT: ||p" %s > %t.script
//
// RUN: rm -f %t.*trace
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.trace:footprints=measured:agent_path=%null/libstreamsan_script_agent.so:agent_script=%t.script:perturb=1:poison=1:host_guard=1:host_frees=1:syncs=1 %t
// RUN: %trace_counts %t.trace kinds > %t.parent
// RUN: %trace_counts %t.1.trace kinds > %t.child
// RUN: diff %t.parent %t.child
// RUN: %filecheck %s --input-file %t.child
// RUN: %trace_counts %t.trace > %t.parent
// RUN: %trace_counts %t.1.trace > %t.child
// RUN: diff %t.parent %t.child
// RUN: %trace_counts %t.1.trace failed | %filecheck %s --check-prefix=FAILED
//
// RUN: rm -f %t.*trace
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.trace:host_hash=1:host_guard=0 %t
// RUN: %trace_counts %t.trace kinds > %t.parent
// RUN: %trace_counts %t.1.trace kinds > %t.child
// RUN: diff %t.parent %t.child
//
// RUN: rm -f %t.*trace
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.trace:timings=1:cupti_library=%null/cupti/libcupti.so %t
// RUN: %trace_counts %t.trace kinds | %filecheck %s --check-prefix=TIMES
// RUN: %trace_counts %t.1.trace kinds | %filecheck %s --check-prefix=NO-TIMES
//
// SCRIPT: touch write #0 64
//
// CHECK: BlockAlloc 1
// CHECK: CallFailed 40
// CHECK: Context 1
// CHECK: Footprint 1
// CHECK: Function 1
// CHECK: HostAccess 1
// CHECK: HostFree 1
// CHECK: Launch 3
// CHECK: Module {{[1-9]}}
// CHECK: NameMemory 1
// CHECK: Stack {{[1-9]}}
// CHECK: StreamCreate 2
// FAILED-COUNT-40: cuEventRecord 400
// TIMES: GpuTime 6
// NO-TIMES-NOT: GpuTime
// NO-TIMES: Message 1
#include <cuda.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "first_device.h"
#include "must.h"
#include "streamsan/annotate.h"

static const char kKernel[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry touch(.param .u64 first, .param .u64 second) { "
    "ret; }\n";

/// Of the host: a copy that nothing waits for still goes on there when the process forks.
static volatile char* left_behind = nullptr;

static void work() {
  use_first_device();
  if (left_behind) *left_behind = 1;  // in the child: it was lent in the parent only
  CUmodule module;
  must(cuModuleLoadData(&module, kKernel));
  CUfunction touch;
  must(cuModuleGetFunction(&touch, module, "touch"));
  CUstream first, second;
  must(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
  must(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
  CUdeviceptr a, b;
  must(cuMemAlloc(&a, 4096));
  must(cuMemAlloc(&b, 4096));
  streamsan_block_allocated(reinterpret_cast<void*>(a), 256, STREAMSAN_HOST);
  streamsan_name_memory(reinterpret_cast<void*>(b), "b");

  void* pinned;
  must(cuMemAllocHost(&pinned, 1 << 16));
  void* pageable = std::malloc(1 << 16);
  must(cuMemcpyHtoDAsync(a, pageable, 4096, first));
  must(cuMemcpyDtoHAsync(pinned, b, 4096, second));
  *static_cast<volatile char*>(pinned) = 1;  // it is lent: a fault, and a record
  std::free(pageable);                       // likewise

  void* arguments[] = {&a, &b};
  for (int i = 0; i < 3; ++i) must(cuLaunchKernel(touch, 1, 1, 1, 32, 1, 1, 0, first, arguments, nullptr));

  CUevent event;
  must(cuEventCreate(&event, CU_EVENT_DEFAULT));
  must(cuEventRecord(event, first));
  must(cuEventSynchronize(event));
  must(cuEventDestroy(event));
  for (int i = 0; i < 40; ++i) {  // of the first 64 each has a record
    if (cuEventRecord(event, first) == CUDA_SUCCESS) std::_Exit(98);
  }
  must(cuStreamSynchronize(second));
  must(cuStreamSynchronize(first));
  must(cuMemcpyDtoHAsync(pinned, a, 4096, second));
  left_behind = static_cast<char*>(pinned);
  must(cuMemFree(b));
}

int main() {
  for (int turn = 0; turn < 2; ++turn) {  // from one place, so that both have the same call stacks
    work();
    // The child forks, too: a copy of the process may read what is lent, which both have to mind.
    if (fork() == 0) continue;
    int status = 0;
    wait(&status);
    return status != 0;
  }
  _exit(0);
}
