// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The barrier in shared memory that a bulk copy reports to, in PTX.
#pragma once

__device__ inline unsigned shared(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

/// By all threads: a barrier for one arrival and so many bytes.
__device__ inline void begin_transfer(unsigned long long* barrier, unsigned bytes) {
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared(barrier)) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared(barrier)), "r"(bytes)
                 : "memory");
  }
  __syncthreads();
}

/// By all threads: the bytes are there.
__device__ inline void await_transfer(unsigned long long* barrier) {
  unsigned done = 0;
  while (done == 0) {
    asm volatile(
        "{\n"
        "  .reg .pred complete;\n"
        "  mbarrier.try_wait.parity.shared::cta.b64 complete, [%1], 0;\n"
        "  selp.u32 %0, 1, 0, complete;\n"
        "}"
        : "=r"(done)
        : "r"(shared(barrier))
        : "memory");
  }
}
