// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done,host-write-before-done %s
// RUN: %check host-read-before-done,host-write-before-done %s -- -DFIXED
//
// write(), send(), read() and recv() work on memory of the program's and wait for no GPU: a thread writes a page to a file
// once a host function has notified it of the page. Whoever appends could wait for `taken` between two pages, but not
// between a page and what the thread does with it. The next block is read out of a pipe.
#include <cuda_runtime.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

extern "C" {
ssize_t write(int file, const void* begin, size_t size);
ssize_t read(int file, void* begin, size_t size);
}

constexpr size_t kPage = 4096;

__global__ void compress(const char* in, char* out) { out[threadIdx.x] = in[threadIdx.x]; }

class Journal {
 public:
  explicit Journal(int file) : file_(file) {
    cudaStreamCreateWithFlags(&work_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&compressed_, cudaEventDisableTiming);
    cudaMalloc(&page_, kPage);
    cudaMallocHost(&host_, kPage);
    writer_ = std::thread([this] { run(); });
  }
  ~Journal() {
    cudaDeviceSynchronize();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    writer_.join();
    cudaFreeHost(host_);
    cudaFree(page_);
  }
  /// `raw` may be overwritten behind `taken`.
  void append(const char* raw, cudaEvent_t taken) {
    compress<<<1, 256, 0, work_>>>(raw, page_);
    cudaEventRecord(taken, work_);
    cudaEventRecord(compressed_, work_);
    cudaStreamWaitEvent(copies_, compressed_, 0);
    cudaMemcpyAsync(host_, page_, kPage, cudaMemcpyDeviceToHost, copies_);
#ifdef FIXED
    cudaLaunchHostFunc(copies_, &Journal::arrived, this);
#else
    cudaLaunchHostFunc(work_, &Journal::arrived, this);
#endif
  }

 private:
  static void arrived(void* given) {
    auto* self = static_cast<Journal*>(given);
    const std::lock_guard<std::mutex> lock(self->mutex_);
    self->pages_.push_back(self->host_);
    self->changed_.notify_all();
  }
  void run() {
    for (;;) {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return over_ || !pages_.empty(); });
      if (pages_.empty()) return;
      const char* page = pages_.front();
      pages_.pop_front();
      for (size_t done = 0; done < kPage;) done += write(file_, page + done, kPage - done);
// CHECK-MESSAGES: :[[@LINE-1]]:52: warning: the host may read 'host_' while cudaMemcpyAsync on stream 'copies_' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-43]]:36: note: in the call to 'run' here
// CHECK-NOTES: :[[@LINE-25]]:5: note: 'host_' is written here, on stream 'copies_'
// CHECK-NOTES: :[[@LINE-49]]:5: note: stream 'copies_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-52]]:44: note: in the call to 'Journal' here
// CHECK-NOTES: :[[@LINE-48]]:5: note: 'host_' is allocated here
// CHECK-NOTES: :[[@LINE-7]]:52: note: wait for stream 'copies_' with cudaStreamSynchronize before the read
// CHECK-NOTES: :[[@LINE-8]]:52: note: an object of 'Journal' was made, and its public methods were called, each several times, in the order in which they stand (--dump-ir shows how); that was followed to here, with zeros for what the GPU computes
    }
  }

  int file_;
  cudaStream_t work_ = nullptr, copies_ = nullptr;
  cudaEvent_t compressed_ = nullptr;
  char *page_ = nullptr, *host_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<const char*> pages_;
  bool over_ = false;
  std::thread writer_;
};

class Feed {
 public:
  Feed() {
    cudaStreamCreateWithFlags(&uploads_, cudaStreamNonBlocking);
    cudaMallocHost(&block_, kPage);
    cudaMalloc(&device_, kPage);
  }
  ~Feed() { cudaDeviceSynchronize(); }
  void take(int pipe) {
    while (read(pipe, block_, kPage) > 0) {
// CHECK-MESSAGES: :[[@LINE-1]]:12: warning: the host may write 'this->block_' while cudaMemcpyAsync (host to device) on stream 'this->uploads_', in an earlier iteration, still reads it [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE+4]]:7: note: 'this->block_' is read here, on stream 'this->uploads_'
// CHECK-NOTES: :[[@LINE-9]]:5: note: stream 'this->uploads_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-9]]:5: note: 'this->block_' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:12: note: wait for stream 'this->uploads_' with cudaStreamSynchronize before the write
      cudaMemcpyAsync(device_, block_, kPage, cudaMemcpyHostToDevice, uploads_);
#ifdef FIXED
      cudaStreamSynchronize(uploads_);
#endif
    }
  }

 private:
  cudaStream_t uploads_ = nullptr;
  char *block_ = nullptr, *device_ = nullptr;
};
