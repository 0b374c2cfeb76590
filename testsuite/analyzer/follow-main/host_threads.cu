// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// A worker thread copies, and the main thread reads when it is notified: a queue between them, a condition, a join.
#include <cuda_runtime.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

class Worker {
 public:
  Worker() : thread_([this] { run(); }) {}
  ~Worker() {
    post(nullptr);
    thread_.join();
  }
  void post(std::function<void()> job) {
    const std::lock_guard<std::mutex> lock(mutex_);
    jobs_.push_back(std::move(job));
    more_.notify_one();
  }

 private:
  void run() {
    for (;;) {
      std::unique_lock<std::mutex> lock(mutex_);
      more_.wait(lock, [this] { return !jobs_.empty(); });
      std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      if (!job) return;
      job();
    }
  }
  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<std::function<void()>> jobs_;
  std::thread thread_;
};

int main() {
  constexpr size_t kBytes = 4096;
  cudaStream_t copies;
  float *device, *host;
  cudaStreamCreate(&copies);
  cudaMalloc((void**)&device, kBytes);
  cudaMallocHost((void**)&host, kBytes);
  {
    Worker worker;
    worker.post([&] {
      cudaMemcpyAsync(host, device, kBytes, cudaMemcpyDeviceToHost, copies);
#ifdef FIXED
      cudaStreamSynchronize(copies);
#endif
    });
  }
  const float first = host[0];  // FIRES: host-read-before-done
  return first > 1 ? 1 : 0;
}
