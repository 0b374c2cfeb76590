// Compresses telemetry frames on the GPU and writes them to a socket.
//
// Pinned blocks come from a slab; a frame that does not fit gets a block of its
// own.  A host function tells the sender thread which frames are complete.

#include <cuda_runtime.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace telemetry {

inline void require(cudaError_t status, const char* where) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(where) + ": " + cudaGetErrorString(status));
}

class PinnedSlab {
 public:
  PinnedSlab(size_t chunk_bytes, size_t chunks) : chunk_bytes_(chunk_bytes) {
    require(cudaMallocHost(&base_, chunk_bytes * chunks), "slab");
    for (size_t i = 0; i < chunks; ++i) free_.push_back(static_cast<char*>(base_) + i * chunk_bytes);
  }
  ~PinnedSlab() { cudaFreeHost(base_); }
  PinnedSlab(const PinnedSlab&) = delete;
  PinnedSlab& operator=(const PinnedSlab&) = delete;

  char* take(size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (bytes > chunk_bytes_ || free_.empty()) return nullptr;
    char* p = free_.back();
    free_.pop_back();
    return p;
  }
  void give_back(char* p) {
    std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(p);
  }

 private:
  size_t chunk_bytes_;
  void* base_ = nullptr;
  std::mutex mutex_;
  std::vector<char*> free_;
};

// The owner releases a block only when no queued work uses it any more.
class PinnedBlock {
 public:
  PinnedBlock(PinnedSlab& slab, size_t bytes) : slab_(slab), bytes_(bytes), address_(slab.take(bytes)) {
    pooled_ = address_ != nullptr;
    if (!pooled_) require(cudaMallocHost(reinterpret_cast<void**>(&address_), bytes), "pinned block");
  }
  ~PinnedBlock() {
    if (pooled_)
      slab_.give_back(address_);
    else
      cudaFreeHost(address_);
  }
  PinnedBlock(const PinnedBlock&) = delete;
  PinnedBlock& operator=(const PinnedBlock&) = delete;
  char* data() const { return address_; }
  size_t bytes() const { return bytes_; }

 private:
  PinnedSlab& slab_;
  size_t bytes_;
  char* address_;
  bool pooled_ = false;
};

// Hands complete frames to a thread that writes them to the socket.
class Sender {
 public:
  explicit Sender(int fd) : fd_(fd), thread_([this] { loop(); }) {}
  ~Sender() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      closing_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  void enqueue(std::unique_ptr<PinnedBlock> frame) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      queue_.push_back(std::move(frame));
    }
    wake_.notify_one();
  }

 private:
  void loop() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return closing_ || !queue_.empty(); });
      if (queue_.empty()) return;
      std::unique_ptr<PinnedBlock> frame = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      size_t sent = 0;
      while (sent < frame->bytes()) {
        const ssize_t w = ::send(fd_, frame->data() + sent, frame->bytes() - sent, MSG_NOSIGNAL);
        if (w <= 0) break;
        sent += static_cast<size_t>(w);
      }
      frame.reset();
      lock.lock();
    }
  }

  int fd_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::unique_ptr<PinnedBlock>> queue_;
  bool closing_ = false;
  std::thread thread_;
};

__global__ void quantise(const float* samples, int8_t* codes, size_t n, float scale) {
  const size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (i < n) codes[i] = static_cast<int8_t>(fminf(fmaxf(samples[i] * scale, -127.0f), 127.0f));
}

class Uplink {
 public:
  Uplink(int fd, PinnedSlab& slab, cudaStream_t stream, size_t max_samples) : slab_(slab), stream_(stream), sender_(fd) {
    require(cudaMalloc(reinterpret_cast<void**>(&codes_), max_samples), "codes");
  }
  ~Uplink() {
    cudaStreamSynchronize(stream_);
    cudaFree(codes_);
  }
  Uplink(const Uplink&) = delete;
  Uplink& operator=(const Uplink&) = delete;

  // samples: device memory, valid in the order of the uplink's stream.
  void push(const float* samples, size_t n, float scale) {
    quantise<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream_>>>(samples, codes_, n, scale);
    require(cudaGetLastError(), "quantise");
    auto ticket = std::make_unique<Ticket>();
    ticket->sender = &sender_;
    ticket->frame = std::make_unique<PinnedBlock>(slab_, n);
    require(cudaMemcpyAsync(ticket->frame->data(), codes_, n, cudaMemcpyDeviceToHost, stream_), "copy");
    require(cudaLaunchHostFunc(stream_, &Uplink::complete, ticket.get()), "notify");
    ticket.release();
  }

 private:
  struct Ticket {
    Sender* sender = nullptr;
    std::unique_ptr<PinnedBlock> frame;
  };

  static void complete(void* opaque) {
    std::unique_ptr<Ticket> ticket(static_cast<Ticket*>(opaque));
    ticket->sender->enqueue(std::move(ticket->frame));
  }

  PinnedSlab& slab_;
  cudaStream_t stream_;
  int8_t* codes_ = nullptr;
  Sender sender_;
};

}  // namespace telemetry
