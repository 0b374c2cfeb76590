// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread that was created where calls are recorded, and has its creator's name, forks before its first call. In the
// child it is the first thread: what its creator knew of it belongs to the parent's trace, and the name is the
// process's, which is not the program's. The child's own thread says where it is from.
//
// REQUIRES: nulldriver
// RUN: %build_driver %s -o %t -lpthread
// RUN: %racy %t 2>&1 | %report
// RUN: %build_driver -DFIXED %s -o %t.fixed -lpthread
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: Write by {{.*}}, host thread 2{{$}}
// CHECK: Previous write by {{.*}}, host thread 1 "forks" (main){{$}}
// CHECK: {{^}}    host thread 2 created by pthread_create{{$}}
// CHECK-NEXT: #0 {{.*}}[[THREAD]]
// CHECK-NOT: host thread 1 {{.*}}created by
// CHECK: SUMMARY
#include <cuda.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "first_device.h"
#include "must.h"

namespace {

CUdeviceptr buffer;
CUstream streams[2];

void fill(int i) {
  must(cuMemsetD8Async(buffer, static_cast<unsigned char>(i), 4096, streams[i]));
#ifdef FIXED
  must(cuStreamSynchronize(streams[i]));
#endif
}

void* fill_second(void* context) {
  must(cuCtxSetCurrent(static_cast<CUcontext>(context)));
  fill(1);
  return nullptr;
}

void* fork_here(void*) {
  const pid_t child = fork();
  if (child != 0) {
    int status = 0;
    waitpid(child, &status, 0);
    std::_Exit(WEXITSTATUS(status));
  }
  use_first_device();
  must(cuMemAlloc(&buffer, 4096));
  for (CUstream& stream : streams) must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  fill(0);
  CUcontext context;
  must(cuCtxGetCurrent(&context));
  pthread_t thread;
  if (pthread_create(&thread, nullptr, fill_second, context) != 0) std::abort();  // @THREAD
  pthread_join(thread, nullptr);
  std::exit(0);
}

}  // namespace

int main() {
  use_first_device();
  pthread_setname_np(pthread_self(), "forks");
  pthread_t thread;
  if (pthread_create(&thread, nullptr, fork_here, nullptr) != 0) std::abort();
  pthread_join(thread, nullptr);
}
