// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// Without a policy the iterators of an algorithm decide who works: a device_ptr, also one computed on the spot or got
// from a pool, means the device, in the default stream; memory of a host_vector means the host.
#include <cuda_runtime.h>
#include <thrust/device_ptr.h>
#include <thrust/host_vector.h>
#include <thrust/scan.h>

__global__ void mark(unsigned* flags) { flags[threadIdx.x] = 1; }

struct Pool {
  thrust::device_ptr<unsigned> get();
};

void scan(Pool& pool, thrust::host_vector<unsigned>& counts, thrust::host_vector<unsigned>& sums, unsigned n) {
  thrust::device_ptr<unsigned> flags = pool.get();
  mark<<<1, 256>>>(flags.get());
  thrust::device_ptr<unsigned> starts = pool.get();
  thrust::inclusive_scan(flags, flags + n, starts);
  cudaStream_t s;
  cudaStreamCreate(&s);
  cudaHostRegister(counts.data(), n * sizeof(unsigned), cudaHostRegisterDefault);
  cudaMemcpyAsync(counts.data(), starts.get(), n * sizeof(unsigned), cudaMemcpyDeviceToHost, s);
#ifdef FIXED
  cudaStreamSynchronize(s);
#endif
  thrust::inclusive_scan(counts.begin(), counts.end(), sums.begin());
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: the host may read 'counts' while cudaMemcpyAsync (device to host) on stream 's' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'counts' is written here, on stream 's'
// CHECK-NOTES: :[[@LINE+3]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-10]]:3: note: stream 's' is created here
// CHECK-NOTES: :[[@LINE-5]]:3: note: wait for stream 's' with cudaStreamSynchronize before the read
  cudaStreamSynchronize(s);
}
