// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race,event-wait-without-record %s
// RUN: %check cross-stream-race,event-wait-without-record %s -- -DFIXED
//
// Two kernels use a table at indices out of memory, which may be two parts of it. That one stream waits for an event of the
// other in between says that they are not.
#include <cuda_runtime.h>

__global__ void put(int* table, const int* rows, const int* values, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) table[rows[i]] = values[i];
}
__global__ void clear(int* table, const int* rows, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && table[rows[i]] < 0) table[rows[i]] = 0;
}
__global__ void use(const int* table, const int* rows, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = table[rows[i]];
}

struct Batch {
  const int *rows, *values;
  int* out;
  int n;
};

void serve(const Batch* batches, int count, int* table) {
  cudaStream_t plan, work;
  cudaStreamCreateWithFlags(&plan, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking);
  cudaEvent_t planned, done;
  cudaEventCreateWithFlags(&planned, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  for (int b = 0; b < count; ++b) {
    const Batch& batch = batches[b];
    cudaStreamWaitEvent(plan, done, 0);
    clear<<<1, 64, 0, plan>>>(table, batch.rows, batch.n);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'clear' on stream 'plan' may update 'table' while kernel 'put' on stream 'work' still writes it: event 'done', which it waits for, was recorded before that [streamsan-event-wait-without-record]
// CHECK-NOTES: :[[@LINE+12]]:5: note: 'table' is written here, on stream 'work'
// CHECK-NOTES: :[[@LINE+9]]:5: note: event 'done' is recorded here, before the write: a wait for it does not cover the write
// CHECK-NOTES: :[[@LINE-11]]:3: note: stream 'work' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-13]]:3: note: stream 'plan' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-6]]:5: note: record event 'done' in stream 'work' after the write, before stream 'plan' waits for it
// CHECK-NOTES: :[[@LINE-8]]:5: note: here the one stream waits for the other: their lists of indices are taken to have elements in common
    cudaEventRecord(planned, plan);
    cudaStreamWaitEvent(work, planned, 0);
    use<<<1, 64, 0, work>>>(table, batch.rows, batch.out, batch.n);
#ifndef FIXED
    cudaEventRecord(done, work);
#endif
    put<<<1, 64, 0, work>>>(table, batch.rows, batch.values, batch.n);
#ifdef FIXED
    cudaEventRecord(done, work);
#endif
  }
  cudaDeviceSynchronize();
}

/// Nothing says that the two lists have rows in common.
void fill(int* table, const int* rows, const int* values, int n, const int* others, int count) {
  cudaStream_t one, other;
  cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  put<<<1, 64, 0, one>>>(table, rows, values, n);
  clear<<<1, 64, 0, other>>>(table, others, count);
  cudaDeviceSynchronize();
}
