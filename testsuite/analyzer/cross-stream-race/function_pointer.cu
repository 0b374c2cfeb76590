// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A table of functions with one function in each place, and a pointer to a function as an argument: the calls through
// them are calls of these functions.
#include <cuda_runtime.h>

__global__ void pack(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void send(const float* in, float* wire) { wire[threadIdx.x] = in[threadIdx.x]; }

struct Transport {
  void (*pack)(float*, cudaStream_t);
  void (*send)(const float*, float*, cudaStream_t);
};

static void pack_rows(float* out, cudaStream_t s) { pack<<<1, 256, 0, s>>>(out); }
static void send_rows(const float* in, float* wire, cudaStream_t s) {
  send<<<1, 256, 0, s>>>(in, wire);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'send' on stream 'b' may read 'data' while kernel 'pack' on stream 'a' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE+23]]:3: note: in the call to 'send_rows' here
// CHECK-NOTES: :[[@LINE-5]]:53: note: 'data' is written here, on stream 'a'
// CHECK-NOTES: :[[@LINE+10]]:85: note: in the call to 'pack_rows' here
// CHECK-NOTES: :[[@LINE+15]]:3: note: in the call to 'each' here
// CHECK-NOTES: :[[@LINE+15]]:3: note: event 'packed' is recorded here, after the write, but stream 'b' does not wait for it
// CHECK-NOTES: :[[@LINE+11]]:3: note: stream 'a' is created here
// CHECK-NOTES: :[[@LINE+11]]:3: note: stream 'b' is created here
// CHECK-NOTES: :[[@LINE-9]]:3: note: let stream 'b' wait for event 'packed' with cudaStreamWaitEvent before kernel 'send'
}

static const Transport transport = {pack_rows, &send_rows};

static void each(void (*step)(float*, cudaStream_t), float* data, cudaStream_t s) { step(data, s); }

void by_table(float* data, float* wire, cudaEvent_t packed) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  each(transport.pack, data, a);
  cudaEventRecord(packed, a);
#ifdef FIXED
  cudaStreamWaitEvent(b, packed, 0);
#endif
  transport.send(data, wire, b);
  cudaStreamSynchronize(a);
  cudaStreamSynchronize(b);
}
