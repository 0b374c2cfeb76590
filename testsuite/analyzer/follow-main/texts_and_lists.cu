// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free,host-write-before-done %s
// RUN: %check premature-free,host-write-before-done %s -- -DFIXED
//
// Made-up callers give texts that are not empty, and callbacks that fill the list that they are given.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

__global__ void count(const char* text, unsigned* counts, int n) {
  if (threadIdx.x < n) counts[threadIdx.x] += text[threadIdx.x];
}

struct Buffer {
  Buffer(size_t size, cudaStream_t given) : bytes(size), stream(given) { cudaMallocAsync(&memory, bytes, stream); }
  Buffer(Buffer&& other) noexcept
      : memory(std::exchange(other.memory, nullptr)), bytes(other.bytes), stream(other.stream) {}
  ~Buffer() {
    if (memory != nullptr) cudaFreeAsync(memory, stream);
// CHECK-MESSAGES: :[[@LINE-1]]:28: warning: 'memory' is freed by cudaFreeAsync on stream 'ingest_' while kernel 'count' on stream 'count_' still reads it [streamsan-premature-free]
// CHECK-NOTES: :[[@LINE-3]]:13: note: in the call to '~Buffer' here
// CHECK-NOTES: :[[@LINE+43]]:5: note: 'memory' is read here, on stream 'count_'
// CHECK-NOTES: :[[@LINE+19]]:5: note: stream 'count_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE+16]]:13: note: in the call to 'Counter' here
// CHECK-NOTES: :[[@LINE-10]]:74: note: 'memory' is allocated here
// CHECK-NOTES: :[[@LINE-11]]:72: note: in the call to 'Buffer' here
// CHECK-NOTES: :[[@LINE+31]]:12: note: in the call to 'Buffer' here
// CHECK-NOTES: :[[@LINE+23]]:11: note: in the call to 'load' here
// CHECK-NOTES: :[[@LINE-10]]:28: note: free it on stream 'count_', or let stream 'ingest_' wait for it first: record an event in stream 'count_' after the read and use cudaStreamWaitEvent
// CHECK-NOTES: :[[@LINE-11]]:28: note: an object of 'Counter' was made, and its public methods were called, each several times, in the order in which they stand (--dump-ir shows how); that was followed to here, with zeros for what the GPU computes
// CHECK-NOTES: :[[@LINE+20]]:7: note: in the call to '~Buffer' here
  }
  char* memory = nullptr;
  size_t bytes;
  cudaStream_t stream;
};

class Counter {
 public:
  Counter() {
    cudaStreamCreateWithFlags(&ingest_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&count_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&packed_, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&counted_, cudaEventDisableTiming);
    cudaMalloc(&counts_, 64 * sizeof(unsigned));
  }
  ~Counter() { cudaDeviceSynchronize(); }
  void add(std::string_view text) {
    while (!text.empty()) {
      const std::string_view part = text.substr(0, 16);
      run(load(part));
      text.remove_prefix(part.size());
    }
  }

 private:
  Buffer load(std::string_view part) {
    Buffer buffer(part.size(), ingest_);
    cudaMemcpyAsync(buffer.memory, part.data(), part.size(), cudaMemcpyHostToDevice, ingest_);
    return buffer;
  }
  void run(Buffer buffer) {
    cudaEventRecord(packed_, ingest_);
    cudaStreamWaitEvent(count_, packed_, 0);
    count<<<1, 64, 0, count_>>>(buffer.memory, counts_, static_cast<int>(buffer.bytes));
#ifdef FIXED
    cudaEventRecord(counted_, count_);
    cudaStreamWaitEvent(ingest_, counted_, 0);
#endif
  }
  cudaStream_t ingest_ = nullptr, count_ = nullptr;
  cudaEvent_t packed_ = nullptr, counted_ = nullptr;
  unsigned* counts_ = nullptr;
};

struct Pose {
  float x, y, z;
};

__global__ void move(const Pose* poses, float* out, int n) {
  if (threadIdx.x < n) out[threadIdx.x] = poses[threadIdx.x].x;
}

class Monitor {
 public:
  Monitor() {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaMallocHost(&staged_, 64 * sizeof(Pose));
    cudaMalloc(&poses_, 64 * sizeof(Pose));
    cudaMalloc(&out_, 64 * sizeof(float));
  }
  ~Monitor() { cudaDeviceSynchronize(); }
  void watch(const std::function<bool(std::vector<Pose>&)>& tracker) {
    std::vector<Pose> poses;
    while (tracker(poses)) {
      if (poses.size() > 64) poses.resize(64);
#ifdef FIXED
      cudaStreamSynchronize(stream_);
#endif
      std::memcpy(staged_, poses.data(), poses.size() * sizeof(Pose));
// CHECK-MESSAGES: :[[@LINE-1]]:7: warning: the host may write 'staged_' while cudaMemcpyAsync on stream 'stream_' still reads it [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE+6]]:7: note: 'staged_' is read here, on stream 'stream_'
// CHECK-NOTES: :[[@LINE-16]]:5: note: stream 'stream_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-18]]:13: note: in the call to 'Monitor' here
// CHECK-NOTES: :[[@LINE-17]]:5: note: 'staged_' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:7: note: wait for stream 'stream_' with cudaStreamSynchronize before the write
// CHECK-NOTES: :[[@LINE-7]]:7: note: an object of 'Monitor' was made, and its public methods were called, each several times, in the order in which they stand (--dump-ir shows how); that was followed to here, with zeros for what the GPU computes
      cudaMemcpyAsync(poses_, staged_, poses.size() * sizeof(Pose), cudaMemcpyHostToDevice, stream_);
      move<<<1, 64, 0, stream_>>>(poses_, out_, static_cast<int>(poses.size()));
    }
  }

 private:
  cudaStream_t stream_ = nullptr;
  Pose *staged_ = nullptr, *poses_ = nullptr;
  float* out_ = nullptr;
};
