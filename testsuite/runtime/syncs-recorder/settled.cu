// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is recorded of host memory after the wait for its copy (option syncs): the host's first touch, or that there was
// none. Only what is surely so: of a buffer that is too large to be guarded as a whole, or was copied by fork, it is
// not said that nobody touched it; nothing is kept where the kernel may touch it for io_uring. Without the option a
// touch after the wait is none of our business.
//
// RUN: rm -f %t.*.trace
// RUN: %build %s -o %t
//
// RUN: env STREAMSAN_OPTIONS=syncs=1,footprints=inferred,trace_path=%t.read.trace LD_PRELOAD=%preload %t read > %t.read
// RUN: %trace_records %t.read.trace HostAccess HostIdle >> %t.read
// RUN: %filecheck %s --input-file %t.read --check-prefixes=CHECK,READ,END
// RUN: env STREAMSAN_OPTIONS=syncs=0,footprints=inferred,trace_path=%t.off.trace LD_PRELOAD=%preload %t read > %t.off
// RUN: %trace_records %t.off.trace HostAccess HostIdle >> %t.off
// RUN: %filecheck %s --input-file %t.off --check-prefixes=CHECK,END
//
// RUN: env STREAMSAN_OPTIONS=syncs=1,footprints=inferred,trace_path=%t.call.trace LD_PRELOAD=%preload %t call %t.data > %t.call
// RUN: %trace_records %t.call.trace HostAccess HostIdle >> %t.call
// RUN: %filecheck %s --input-file %t.call --check-prefixes=CHECK,CALL,END
//
// RUN: env STREAMSAN_OPTIONS=syncs=1,footprints=inferred,trace_path=%t.aio.trace LD_PRELOAD=%preload %t aio %t.data > %t.aio
// RUN: %trace_records %t.aio.trace HostAccess HostIdle >> %t.aio
// RUN: %filecheck %s --input-file %t.aio --check-prefixes=CHECK,CALL,END
//
// RUN: env STREAMSAN_OPTIONS=syncs=1,footprints=inferred,trace_path=%t.write.trace LD_PRELOAD=%preload %t write > %t.write
// RUN: %trace_records %t.write.trace HostAccess HostIdle >> %t.write
// RUN: %filecheck %s --input-file %t.write --check-prefixes=CHECK,WRITE,END
// RUN: env STREAMSAN_OPTIONS=syncs=1,footprints=inferred,trace_path=%t.kept.trace LD_PRELOAD=%preload %t kept > %t.kept
// RUN: %trace_records %t.kept.trace HostAccess HostIdle >> %t.kept
// RUN: %filecheck %s --input-file %t.kept --check-prefixes=CHECK,IDLE,END
//
// RUN: env STREAMSAN_OPTIONS=syncs=1,footprints=inferred,trace_path=%t.idle.trace LD_PRELOAD=%preload %t idle > %t.idle
// RUN: %trace_records %t.idle.trace HostAccess HostIdle >> %t.idle
// RUN: %filecheck %s --input-file %t.idle --check-prefixes=CHECK,IDLE,END
// RUN: env STREAMSAN_OPTIONS=syncs=1,footprints=inferred,trace_path=%t.freed.trace LD_PRELOAD=%preload %t freed > %t.freed
// RUN: %trace_records %t.freed.trace HostAccess HostIdle >> %t.freed
// RUN: %filecheck %s --input-file %t.freed --check-prefixes=CHECK,IDLE,END
// RUN: env STREAMSAN_OPTIONS=syncs=1,footprints=inferred,trace_path=%t.reset.trace LD_PRELOAD=%preload %t reset > %t.reset
// RUN: %trace_records %t.reset.trace HostAccess HostIdle >> %t.reset
// RUN: %filecheck %s --input-file %t.reset --check-prefixes=CHECK,IDLE,END
// RUN: env STREAMSAN_OPTIONS=syncs=1,footprints=inferred,trace_path=%t.again.trace LD_PRELOAD=%preload %t again > %t.again
// RUN: %trace_records %t.again.trace HostAccess HostIdle >> %t.again
// RUN: %filecheck %s --input-file %t.again --check-prefixes=CHECK,IDLE,AGAIN,END
//
// RUN: env STREAMSAN_OPTIONS=syncs=1,footprints=inferred,trace_path=%t.fork.trace LD_PRELOAD=%preload %t fork > %t.fork
// RUN: %trace_records %t.fork.trace HostAccess HostIdle >> %t.fork
// RUN: %filecheck %s --input-file %t.fork --check-prefixes=CHECK,END
// RUN: env STREAMSAN_OPTIONS=syncs=1,footprints=inferred,trace_path=%t.large.trace LD_PRELOAD=%preload %t large > %t.large
// RUN: %trace_records %t.large.trace HostAccess HostIdle >> %t.large
// RUN: %filecheck %s --input-file %t.large --check-prefixes=CHECK,END
//
// RUN: env STREAMSAN_OPTIONS=syncs=1,footprints=inferred,trace_path=%t.ring.trace LD_PRELOAD=%preload %t ring > %t.ring
// RUN: %trace_records %t.ring.trace HostAccess HostIdle >> %t.ring
// RUN: %filecheck %s --input-file %t.ring --check-prefixes=CHECK,END
//
// CHECK: PINNED [[PINNED:0x[0-9a-f]+]]
// READ-NEXT: HostIdle flags=0 no-stack [[PINNED]] 0x2000 {{0x[0-9a-f]+}} 0x1
// READ-NEXT: HostAccess flags=0 stack [[PINNED]] 0x1 0x0 0x0
// CALL-NEXT: HostIdle flags=0 no-stack [[PINNED]] 0x2000 {{0x[0-9a-f]+}} 0x1
// CALL-NEXT: HostAccess flags=0 stack [[PINNED]] 0x40 0x1 0x0
// WRITE-NEXT: HostIdle flags=0 no-stack [[PINNED]] 0x2000 {{0x[0-9a-f]+}} 0x1
// WRITE-NEXT: HostAccess flags=0 stack [[PINNED]] 0x1 0x0 0x1
// IDLE-NEXT: HostIdle flags=0 no-stack [[PINNED]] 0x2000 {{0x[0-9a-f]+}} 0x0
// AGAIN-NEXT: HostIdle flags=0 no-stack [[PINNED]] 0x2000 {{0x[0-9a-f]+}} 0x0
// END-NOT: Host{{Access|Idle}}
#include <aio.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "must.h"

int main(int, char** arguments) {
  const auto is = [&](const char* mode) { return std::strcmp(arguments[1], mode) == 0; };
  const bool upload = is("write") || is("kept");
  const size_t bytes = is("large") ? size_t{8} << 20 : 8192;
  volatile char* pinned;
  char* device;
  must(cudaMallocHost((void**)&pinned, bytes));
  must(cudaMalloc(&device, bytes));
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
  std::printf("PINNED %p\n", (void*)pinned);
  std::fflush(stdout);
  const auto copy = [&] {
    if (upload) {
      must(cudaMemcpyAsync(device, (void*)pinned, bytes, cudaMemcpyHostToDevice, stream));
    } else {
      must(cudaMemcpyAsync((void*)pinned, device, bytes, cudaMemcpyDeviceToHost, stream));
    }
    must(cudaStreamSynchronize(stream));
  };
  char parameters[120] = {};
  if (is("ring") && syscall(SYS_io_uring_setup, 1, parameters) < 0) return 0;  // there are none here
  copy();
  if (is("read") || is("kept")) return pinned[0] > 1;
  if (is("write")) pinned[0] = 1;
  if (is("again")) copy();
  if (is("freed")) must(cudaFreeHost((void*)pinned));
  if (is("reset")) must(cudaDeviceReset());
  if (is("call")) {
    const int file = open(arguments[2], O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (write(file, (void*)pinned, 64) != 64) return 98;  // EFAULT has reached the program
  }
  if (is("aio")) {
    aiocb block{};
    block.aio_fildes = open(arguments[2], O_RDWR | O_CREAT | O_TRUNC, 0600);
    block.aio_buf = (void*)pinned;
    block.aio_nbytes = 64;
    const aiocb* list[] = {&block};
    if (aio_write(&block) != 0 || aio_suspend(list, 1, nullptr) != 0 || aio_return(&block) != 64) return 98;
  }
  if (is("fork")) {
    const pid_t child = fork();
    if (child == 0) _exit(pinned[0] > 1);
    int status = 1;
    waitpid(child, &status, 0);
    return status;
  }
  return 0;
}
