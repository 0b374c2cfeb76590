// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check omitted-stream %s
// RUN: %check omitted-stream %s -- -DFIXED
//
// The stream is that of an object which the function is given: a queue, a context.
#include <cuda_runtime.h>

__global__ void clear(float* p) { p[threadIdx.x] = 0.0f; }
__global__ void add(float* p, const float* x) { p[threadIdx.x] += x[threadIdx.x]; }

class Queue {
 public:
  explicit Queue(cudaStream_t stream) : stream_(stream) {}
  cudaStream_t stream() const { return stream_; }

 private:
  cudaStream_t stream_;
};
struct Context {
  cudaStream_t stream;
};

void filled(float* p, const float* x, Queue* queue) {
#ifdef FIXED
  cudaMemsetAsync(p, 0, 128, queue->stream());
#else
  cudaMemset(p, 0, 128);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemset goes to the default stream, not to that of kernel 'add' on the same memory: nothing orders the two if that stream does not wait for the default one [streamsan-omitted-stream]
// CHECK-NOTES: :[[@LINE+3]]:3: note: kernel 'add' goes to another stream
// CHECK-NOTES: :[[@LINE-3]]:3: note: use the form that takes a stream, and pass the stream of the work around it
#endif
  add<<<1, 32, 0, queue->stream()>>>(p, x);
}

void cleared(float* p, const float* x, const Context& context) {
#ifdef FIXED
  clear<<<1, 32, 0, context.stream>>>(p);
#else
  clear<<<1, 32>>>(p);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'clear' goes to the default stream, not to stream 'context.stream': its stream argument is left out [streamsan-omitted-stream]
// CHECK-NOTES: :[[@LINE-2]]:3: note: pass stream 'context.stream'; if the default stream is meant, write 0
// CHECK-NOTES: :[[@LINE+2]]:3: note: stream 'context.stream' is what the work on the same memory here goes to
#endif
  add<<<1, 32, 0, context.stream>>>(p, x);
}

void copied(float* p, const float* from, const float* x, const Context& context) {
#ifdef FIXED
  cudaMemcpyAsync(p, from, 128, cudaMemcpyDeviceToDevice, context.stream);
#else
  cudaMemcpy(p, from, 128, cudaMemcpyDeviceToDevice);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemcpy (device to device) goes to the default stream, not to stream 'context.stream' as kernel 'add' on the same memory: nothing orders the two if that stream does not wait for the default one [streamsan-omitted-stream]
// CHECK-NOTES: :[[@LINE+3]]:3: note: kernel 'add' goes to stream 'context.stream'
// CHECK-NOTES: :[[@LINE-3]]:3: note: use the form that takes a stream, and pass stream 'context.stream'
#endif
  add<<<1, 32, 0, context.stream>>>(p, x);
}

// Other memory; the host waits; the function asks about the stream; the stream is created in sight, and a blocking one;
// the copy to the host comes after the work of a stream that is perhaps a blocking one.
void other_memory(float* p, float* q, const float* x, Queue* queue) {
  cudaMemset(q, 0, 128);
  add<<<1, 32, 0, queue->stream()>>>(p, x);
}
void waited(float* p, const float* x, Queue* queue) {
  cudaMemset(p, 0, 128);
  cudaDeviceSynchronize();
  add<<<1, 32, 0, queue->stream()>>>(p, x);
}
void asked(float* p, const float* x, const Context& context) {
  clear<<<1, 32>>>(p);
  if (context.stream == nullptr) return;
  add<<<1, 32, 0, context.stream>>>(p, x);
}
class Blocking {
 public:
  Blocking() { cudaStreamCreate(&stream_); }
  ~Blocking() { cudaStreamDestroy(stream_); }
  friend void ordered(float* p, const float* x, Blocking& own);

 private:
  cudaStream_t stream_ = nullptr;
};
void ordered(float* p, const float* x, Blocking& own) {
  cudaMemset(p, 0, 128);
  clear<<<1, 32>>>(p);
  add<<<1, 32, 0, own.stream_>>>(p, x);
}
void read_back(float* host, float* p, const float* x, Queue* queue) {
  add<<<1, 32, 0, queue->stream()>>>(p, x);
  cudaMemcpy(host, p, 128, cudaMemcpyDeviceToHost);
}
void none(float* p, const float* x) {
  cudaStream_t stream = nullptr;
  cudaMemset(p, 0, 128);
  add<<<1, 32, 0, stream>>>(p, x);
}
