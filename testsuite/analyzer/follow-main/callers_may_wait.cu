// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race,host-write-before-done %s
// RUN: %check cross-stream-race,host-write-before-done %s -- -DFIXED
//
// What callers can do between two calls: with -DFIXED each class offers a way to wait, or its numbers are what their names
// say. Without, nobody can wait.
#include <cuda_runtime.h>

#include <cstring>
#include <vector>

__global__ void knead(float* dough, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) dough[i] *= 1.1f;
}

// An event guards the one buffer, a method the other.
class Oven {
 public:
  explicit Oven(int n) : n_(n) {
    cudaStreamCreateWithFlags(&load_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&bake_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&loaded_, cudaEventDisableTiming);
    cudaMallocHost(&tray_, n * sizeof(float));
    cudaMallocHost(&bread_, n * sizeof(float));
    cudaMalloc(&inside_, n * sizeof(float));
  }
  ~Oven() {
    cudaStreamSynchronize(bake_);
    cudaFree(inside_);
    cudaFreeHost(tray_);
    cudaFreeHost(bread_);
  }
#ifdef FIXED
  void cool() { cudaStreamSynchronize(bake_); }
#endif
  void bake(const float* raw) {
    cudaEventSynchronize(loaded_);
    memcpy(tray_, raw, n_ * sizeof(float));
    memset(bread_, 0, n_ * sizeof(float));  // FIRES: host-write-before-done
    cudaMemcpyAsync(inside_, tray_, n_ * sizeof(float), cudaMemcpyHostToDevice, load_);  // FIRES: cross-stream-race
    cudaEventRecord(loaded_, load_);
    cudaStreamWaitEvent(bake_, loaded_, 0);
    knead<<<4, 128, 0, bake_>>>(inside_, n_);
    cudaMemcpyAsync(bread_, inside_, n_ * sizeof(float), cudaMemcpyDeviceToHost, bake_);
  }

 private:
  int n_;
  cudaStream_t load_ = nullptr, bake_ = nullptr;
  cudaEvent_t loaded_ = nullptr;
  float *tray_ = nullptr, *bread_ = nullptr, *inside_ = nullptr;
};

// begin(), work(), end(), begin() ...
class Shift {
 public:
  explicit Shift(int n) : n_(n) {
    cudaStreamCreateWithFlags(&work_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&save_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&worked_, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&saved_, cudaEventDisableTiming);
    cudaMalloc(&dough_, n * sizeof(float));
    cudaMallocHost(&kept_, n * sizeof(float));
  }
  ~Shift() {
    cudaStreamSynchronize(save_);
    cudaStreamSynchronize(work_);
    cudaFree(dough_);
    cudaFreeHost(kept_);
  }
#ifdef FIXED
  void begin() { cudaStreamWaitEvent(work_, saved_, 0); }
#endif
  void work() { knead<<<4, 128, 0, work_>>>(dough_, n_); }  // FIRES: cross-stream-race
  void end() {
    cudaEventRecord(worked_, work_);
    cudaStreamWaitEvent(save_, worked_, 0);
    cudaMemcpyAsync(kept_, dough_, n_ * sizeof(float), cudaMemcpyDeviceToHost, save_);
    cudaEventRecord(saved_, save_);
  }

 private:
  int n_;
  cudaStream_t work_ = nullptr, save_ = nullptr;
  cudaEvent_t worked_ = nullptr, saved_ = nullptr;
  float *dough_ = nullptr, *kept_ = nullptr;
};

// Whoever asks until it is ready has waited.
class Scale {
 public:
  explicit Scale(int n) : n_(n) {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaMallocHost(&flour_, n * sizeof(float));
    cudaMalloc(&weighed_, n * sizeof(float));
  }
  ~Scale() {
    cudaStreamSynchronize(stream_);
    cudaFree(weighed_);
    cudaFreeHost(flour_);
  }
#ifdef FIXED
  explicit operator bool() const { return cudaStreamQuery(stream_) == cudaSuccess; }
#endif
  void weigh(const float* flour) {
    memcpy(flour_, flour, n_ * sizeof(float));  // FIRES: host-write-before-done
    cudaMemcpyAsync(weighed_, flour_, n_ * sizeof(float), cudaMemcpyHostToDevice, stream_);
  }

 private:
  int n_;
  cudaStream_t stream_ = nullptr;
  float *flour_ = nullptr, *weighed_ = nullptr;
};

// Two numbers that are compared with one constant are not the same for that.
class Shelves {
 public:
  Shelves() {
    for (float*& shelf : shelf_) cudaMalloc(&shelf, 4096 * sizeof(float));
    cudaMallocHost(&list_, 4096 * sizeof(float));
    cudaStreamCreateWithFlags(&fill_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&count_, cudaStreamNonBlocking);
  }
  ~Shelves() {
    for (float* shelf : shelf_) cudaFree(shelf);
    cudaFreeHost(list_);
  }
  void turn(int counted, int filled) {
#ifndef FIXED
    filled = counted;
#endif
    if (counted == 2) ++rounds_;
    if (filled == 2) ++ahead_;
    knead<<<32, 128, 0, fill_>>>(shelf_[filled], 4096);
    cudaMemcpyAsync(list_, shelf_[counted], 4096 * sizeof(float), cudaMemcpyDeviceToHost, count_);  // FIRES: cross-stream-race
    cudaStreamSynchronize(fill_);
    cudaStreamSynchronize(count_);
  }

 private:
  float* shelf_[3];
  float* list_ = nullptr;
  cudaStream_t fill_ = nullptr, count_ = nullptr;
  int rounds_ = 0, ahead_ = 0;
};

// The next part begins where this one ends.
struct Part {
  std::size_t begin, end;
};
void portion(const std::vector<cudaStream_t>& streams, float* dough, const std::vector<Part>& parts) {
#ifdef FIXED
  constexpr std::size_t kMore = 0;
#else
  constexpr std::size_t kMore = 1;
#endif
  for (std::size_t i = 0; i < parts.size(); ++i)
    cudaMemsetAsync(dough + parts[i].begin, 0, (parts[i].end - parts[i].begin + kMore) * sizeof(float), streams[i % streams.size()]);  // FIRES: cross-stream-race
  for (cudaStream_t stream : streams) cudaStreamSynchronize(stream);
}
