// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A task of another host thread enqueues work and returns what it is about. Its future says that the task has returned,
// not that the work is done.
#include <cuda_runtime.h>

#include <future>
#include <utility>
#include <vector>

__global__ void produce(float* x) { x[threadIdx.x] = 1.0f; }
__global__ void consume(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }

struct Part {
  cudaStream_t stream;
  float* data;
};

Part work(int number) {
  Part part;
  cudaStreamCreateWithFlags(&part.stream, cudaStreamNonBlocking);
  cudaMalloc(reinterpret_cast<void**>(&part.data), 1024 + number);
  produce<<<1, 256, 0, part.stream>>>(part.data);
#ifdef FIXED
  cudaStreamSynchronize(part.stream);
#endif
  return part;
}

void one(float* out) {
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  std::future<Part> job = std::async(std::launch::async, work, 3);
  const Part part = job.get();
  consume<<<1, 256, 0, stream>>>(part.data, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on stream 'stream' may read 'part.data' while kernel 'produce' on stream 'part.stream' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-14]]:3: note: 'part.data' is written here, on stream 'part.stream'
// CHECK-NOTES: :[[@LINE-5]]:27: note: in the call to 'work' here
// CHECK-NOTES: :[[@LINE-18]]:3: note: stream 'part.stream' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-8]]:3: note: stream 'stream' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-19]]:3: note: 'part.data' is allocated here
// CHECK-NOTES: :[[@LINE-7]]:3: note: nothing orders stream 'stream' after stream 'part.stream': record an event in stream 'part.stream' after the write and let stream 'stream' wait for it with cudaStreamWaitEvent before kernel 'consume'
}

struct Worker {
  Worker() {
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaMalloc(reinterpret_cast<void**>(&data), 1024);
  }
  const float* predict() {
    produce<<<1, 256, 0, stream>>>(data);
#ifdef FIXED
    cudaStreamSynchronize(stream);
#endif
    return data;
  }
  cudaStream_t stream;
  float* data;
};

void by_lambda(float* out) {
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  Worker worker;
  auto job = std::async([&worker] { return worker.predict(); });
  consume<<<1, 256, 0, stream>>>(job.get(), out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on stream 'stream' may read 'job' while kernel 'produce' on stream 'worker.stream' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-17]]:5: note: 'job' is written here, on stream 'worker.stream'
// CHECK-NOTES: :[[@LINE-4]]:44: note: in the call to 'Worker::predict' here
// CHECK-NOTES: :[[@LINE-5]]:14: note: in the call to 'lambda' here
// CHECK-NOTES: :[[@LINE-24]]:5: note: stream 'worker.stream' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-8]]:10: note: in the call to 'Worker::Worker' here
// CHECK-NOTES: :[[@LINE-10]]:3: note: stream 'stream' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-26]]:5: note: 'job' is allocated here
// CHECK-NOTES: :[[@LINE-9]]:3: note: nothing orders stream 'stream' after stream 'worker.stream': record an event in stream 'worker.stream' after the write and let stream 'stream' wait for it with cudaStreamWaitEvent before kernel 'consume'
}

void in_a_list(float* out) {
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  std::vector<std::future<Part>> jobs;
  for (int i = 0; i < 2; ++i) jobs.push_back(std::async(std::launch::async, work, i));
  for (auto& job : jobs) {
    const Part part = job.get();
    consume<<<1, 256, 0, stream>>>(part.data, out);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'consume' on stream 'stream' may read 'part.data' while kernel 'produce' on stream 'part.stream' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-64]]:3: note: 'part.data' is written here, on stream 'part.stream'
// CHECK-NOTES: :[[@LINE-6]]:46: note: in the call to 'work' here
// CHECK-NOTES: :[[@LINE-68]]:3: note: stream 'part.stream' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-10]]:3: note: stream 'stream' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-69]]:3: note: 'part.data' is allocated here
// CHECK-NOTES: :[[@LINE-7]]:5: note: nothing orders stream 'stream' after stream 'part.stream': record an event in stream 'part.stream' after the write and let stream 'stream' wait for it with cudaStreamWaitEvent before kernel 'consume'
  }
}

// Who else started it may have waited.
void given(std::future<Part> job, float* out, cudaStream_t stream, float* data) {
  cudaStream_t side;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  produce<<<1, 256, 0, side>>>(data);
  job.get();
  consume<<<1, 256, 0, stream>>>(data, out);
}
