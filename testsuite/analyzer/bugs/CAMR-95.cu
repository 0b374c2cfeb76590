// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s
// RUN: %check premature-free %s -- -DFIXED
//
// AMReX-Fluids/CAMR#95, AR: a temporary goes back to its arena at the end of the scope; a kernel on the box's stream
// still reads it.
#include <cuda_runtime.h>

class Temporary {
 public:
  Temporary(size_t bytes, cudaStream_t arena) : arena_(arena) { cudaMallocAsync(&data_, bytes, arena); }
  ~Temporary() { cudaFreeAsync(data_, arena_); }
// CHECK-MESSAGES: :[[@LINE-1]]:18: warning: 'weights.data_' is freed by cudaFreeAsync on stream 'arena' while kernel 'redistribute' on stream 'box_stream' still reads it [streamsan-premature-free]
// CHECK-NOTES: :[[@LINE+24]]:1: note: 'weights' goes out of scope here
// CHECK-NOTES: :[[@LINE+19]]:3: note: 'weights.data_' is read here, on stream 'box_stream'
// CHECK-NOTES: :[[@LINE+27]]:3: note: stream 'box_stream' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-6]]:65: note: 'weights.data_' is allocated here
// CHECK-NOTES: :[[@LINE+14]]:13: note: in the call to 'Temporary::Temporary' here
// CHECK-NOTES: :[[@LINE-7]]:18: note: free it on stream 'box_stream', or let stream 'arena' wait for it first: record an event in stream 'box_stream' after the read and use cudaStreamWaitEvent
// CHECK-NOTES: :[[@LINE+24]]:31: note: in the call to 'update_box' here
  Temporary(const Temporary&) = delete;
  double* data() { return data_; }

 private:
  double* data_ = nullptr;
  cudaStream_t arena_;
};

__global__ void redistribute(const double* weights, double* state) { state[threadIdx.x] += weights[threadIdx.x]; }

static void update_box(double* state, size_t bytes, cudaStream_t arena, cudaStream_t box_stream) {
  Temporary weights(bytes, arena);
  cudaStreamSynchronize(arena);
  redistribute<<<1, 256, 0, box_stream>>>(weights.data(), state);
#ifdef FIXED
  cudaStreamSynchronize(box_stream);
#endif
}

void advance(double* const* boxes, int n, size_t bytes) {
  cudaStream_t arena, box_stream;
  cudaStreamCreateWithFlags(&arena, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&box_stream, cudaStreamNonBlocking);
  for (int i = 0; i < n; ++i) update_box(boxes[i], bytes, arena, box_stream);
  cudaDeviceSynchronize();
}
