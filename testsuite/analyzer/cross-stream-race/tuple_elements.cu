// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// What a function returns in a tuple, bound to names, tied to variables and taken out of a pair by its number.
#include <cuda_runtime.h>

#include <tuple>
#include <utility>

__global__ void grind(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void brew(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

std::tuple<float*, cudaStream_t> mill() {
  float* beans = nullptr;
  cudaStream_t stream;
  cudaMalloc(&beans, 1024);
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  return {beans, stream};
}

void bound(float* cup) {
  auto [beans, stream] = mill();
  cudaStream_t other;
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  grind<<<1, 256, 0, stream>>>(beans);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  brew<<<1, 256, 0, other>>>(beans, cup);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'brew' on stream 'other' may read 'beans' while kernel 'grind' on stream 'stream' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'beans' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-15]]:3: note: stream 'stream' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-11]]:26: note: in the call to 'mill' here
// CHECK-NOTES: :[[@LINE-10]]:3: note: stream 'other' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-19]]:3: note: 'beans' is allocated here
// CHECK-NOTES: :[[@LINE-7]]:3: note: nothing orders stream 'other' after stream 'stream': record an event in stream 'stream' after the write and let stream 'other' wait for it with cudaStreamWaitEvent before kernel 'brew'
}

void tied(float* cup) {
  float* beans;
  cudaStream_t stream, other;
  std::tie(beans, stream) = mill();
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  grind<<<1, 256, 0, stream>>>(beans);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  brew<<<1, 256, 0, other>>>(beans, cup);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'brew' on stream 'other' may read 'beans' while kernel 'grind' on stream 'stream' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'beans' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-34]]:3: note: stream 'stream' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-10]]:29: note: in the call to 'mill' here
// CHECK-NOTES: :[[@LINE-10]]:3: note: stream 'other' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-38]]:3: note: 'beans' is allocated here
// CHECK-NOTES: :[[@LINE-7]]:3: note: nothing orders stream 'other' after stream 'stream': record an event in stream 'stream' after the write and let stream 'other' wait for it with cudaStreamWaitEvent before kernel 'brew'
}

void by_number(float* cup, cudaStream_t other) {
  std::pair<float*, cudaEvent_t> job;
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  cudaMalloc(&job.first, 1024);
  cudaEventCreate(&job.second);
  grind<<<1, 256, 0, stream>>>(std::get<0>(job));
  cudaEventRecord(job.second, stream);
  const auto copy = std::make_pair(job.first, job.second);
#ifdef FIXED
  cudaStreamWaitEvent(other, std::get<1>(copy), 0);
#endif
  brew<<<1, 256, 0, other>>>(copy.first, cup);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'brew' on stream 'other' may read 'copy.first' while kernel 'grind' on stream 'stream' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-8]]:3: note: 'copy.first' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-8]]:3: note: event 'job.second' is recorded here, after the write, but stream 'other' does not wait for it
// CHECK-NOTES: :[[@LINE-14]]:3: note: stream 'stream' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-14]]:3: note: stream 'other' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-14]]:3: note: 'copy.first' is allocated here
// CHECK-NOTES: :[[@LINE-7]]:3: note: let stream 'other' wait for event 'job.second' with cudaStreamWaitEvent before kernel 'brew'
}
