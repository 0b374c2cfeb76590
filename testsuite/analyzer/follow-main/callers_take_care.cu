// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// What a careful caller does: different numbers for different things, a wait between two jobs of a worker, one user of
// what a mutex does not guard. With -DFIXED each class is silent;
// without, no care helps.
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

__global__ void blur(float* row, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) row[i] *= 0.9f;
}

// `near` and `far` are two planes.
class Planes {
 public:
  explicit Planes(int pixels) : pixels_(pixels) {
    for (float*& each : plane_) cudaMalloc(&each, pixels * sizeof(float));
    cudaStreamCreateWithFlags(&show_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&work_, cudaStreamNonBlocking);
  }
  ~Planes() {
    cudaDeviceSynchronize();
    for (float* each : plane_) cudaFree(each);
    cudaStreamDestroy(show_);
    cudaStreamDestroy(work_);
  }
  void turn(int near, int far, float* pinned) {
#ifndef FIXED
    far = near;
#endif
    cudaMemcpyAsync(pinned, plane_[near % 3], pixels_ * sizeof(float), cudaMemcpyDeviceToHost, show_);
    blur<<<4, 128, 0, work_>>>(plane_[far % 3], pixels_);  // FIRES: cross-stream-race
    cudaStreamSynchronize(show_);
    cudaStreamSynchronize(work_);
  }

 private:
  int pixels_;
  float* plane_[3];
  cudaStream_t show_ = nullptr, work_ = nullptr;
};

// The rows that go have nothing in common with those that come.
class Rows {
 public:
  Rows(int rows, std::size_t row_bytes) : bytes_(row_bytes) {
    cudaMalloc(&device_, rows * row_bytes);
    cudaMallocHost(&host_, rows * row_bytes);
    cudaStreamCreateWithFlags(&out_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&in_, cudaStreamNonBlocking);
  }
  ~Rows() {
    cudaDeviceSynchronize();
    cudaFree(device_);
    cudaFreeHost(host_);
    cudaStreamDestroy(out_);
    cudaStreamDestroy(in_);
  }
  void exchange(const std::vector<int>& going, const std::vector<int>& coming) {
    for (const int row : going)
      cudaMemcpyAsync(host_ + row * bytes_, device_ + row * bytes_, bytes_, cudaMemcpyDeviceToHost, out_);
#ifndef FIXED
    for (const int row : going)
#else
    for (const int row : coming)
#endif
      cudaMemcpyAsync(device_ + row * bytes_, host_ + row * bytes_, bytes_, cudaMemcpyHostToDevice, in_);  // FIRES: cross-stream-race
    cudaStreamSynchronize(out_);
    cudaStreamSynchronize(in_);
    (void)coming;
  }

 private:
  std::size_t bytes_;
  char *device_ = nullptr, *host_ = nullptr;
  cudaStream_t out_ = nullptr, in_ = nullptr;
};

// A worker: who hands in the next job has waited for the last one.
class Printer {
 public:
  explicit Printer(int n) : n_(n) {
    cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&ink_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&there_, cudaEventDisableTiming);
    cudaMalloc(&page_, n * sizeof(float));
    cudaMallocHost(&text_, n * sizeof(float));
    worker_ = std::thread([this] { run(); });
  }
  ~Printer() {
    {
      const std::lock_guard<std::mutex> guard(lock_);
      ends_ = true;
    }
    changed_.notify_all();
    worker_.join();
    cudaStreamSynchronize(ink_);
    cudaFree(page_);
    cudaFreeHost(text_);
  }
  void print(int sheet) {
    const std::lock_guard<std::mutex> guard(lock_);
    jobs_.push_back(sheet);
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock<std::mutex> guard(lock_);
    changed_.wait(guard, [this] { return jobs_.empty(); });
    cudaStreamSynchronize(ink_);
  }

 private:
  void run() {
    for (;;) {
      {
        std::unique_lock<std::mutex> guard(lock_);
        changed_.wait(guard, [this] { return ends_ || !jobs_.empty(); });
        if (jobs_.empty()) return;
      }
      cudaMemcpyAsync(page_, text_, n_ * sizeof(float), cudaMemcpyHostToDevice, copy_);
      cudaEventRecord(there_, copy_);
#ifdef FIXED
      cudaStreamWaitEvent(ink_, there_, 0);
#endif
      blur<<<4, 128, 0, ink_>>>(page_, n_);  // FIRES: cross-stream-race
      const std::lock_guard<std::mutex> guard(lock_);
      jobs_.pop_front();
      changed_.notify_all();
    }
  }
  int n_;
  cudaStream_t copy_ = nullptr, ink_ = nullptr;
  cudaEvent_t there_ = nullptr;
  float *page_ = nullptr, *text_ = nullptr;
  std::thread worker_;
  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<int> jobs_;
  bool ends_ = false;
};

// The mutex guards a counter; the buffer is for one stream. Where it guards the buffer, the class is there for several.
class Echo {
 public:
  explicit Echo(int n) : n_(n) { cudaMalloc(&past_, n * sizeof(float)); }
  ~Echo() { cudaFree(past_); }
  void add(const float* sound, cudaStream_t stream) {
#ifndef FIXED
    const std::lock_guard<std::mutex> guard(lock_);
#endif
    cudaMemcpyAsync(past_, sound, n_ * sizeof(float), cudaMemcpyDeviceToDevice, stream);  // FIRES: cross-stream-race
    blur<<<4, 128, 0, stream>>>(past_, n_);
    count();
  }

 private:
  void count() {
#ifdef FIXED
    const std::lock_guard<std::mutex> guard(lock_);
#endif
    ++calls_;
  }
  int n_;
  float* past_ = nullptr;
  std::mutex lock_;
  long calls_ = 0;
};
