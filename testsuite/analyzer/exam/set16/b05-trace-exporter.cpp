// Streams finished seismic trace blocks from the GPU to a collector over TCP.  Blocks are copied into
// pinned slots; a background thread owns the socket.
#include <cuda_runtime.h>

#include <sys/socket.h>
#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace seis {

inline void cudaOk(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

struct Slot {
  explicit Slot(size_t capacity) : capacity(capacity) {
    void* p = nullptr;
    cudaOk(cudaHostAlloc(&p, capacity, cudaHostAllocDefault));
    data = static_cast<char*>(p);
    cudaOk(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming | cudaEventBlockingSync));
  }
  ~Slot() {
    cudaEventSynchronize(copied);
    cudaFreeHost(data);
    cudaEventDestroy(copied);
  }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  size_t capacity;
  size_t bytes = 0;
  char* data = nullptr;
  cudaEvent_t copied{};
};

// Sends slots in the order in which they are posted and hands them back when they are on the wire.
class SlotSender {
 public:
  SlotSender(int fd, size_t slots, size_t slotBytes) : fd_(fd) {
    for (size_t i = 0; i < slots; ++i) {
      slots_.push_back(std::make_unique<Slot>(slotBytes));
      free_.push_back(slots_.back().get());
    }
    worker_ = std::thread([this] { run(); });
  }

  ~SlotSender() {
    {
      std::lock_guard<std::mutex> lock(m_);
      closing_ = true;
    }
    wake_.notify_all();
    worker_.join();
  }

  Slot* acquire() {
    std::unique_lock<std::mutex> lock(m_);
    returned_.wait(lock, [this] { return !free_.empty(); });
    Slot* s = free_.front();
    free_.pop_front();
    return s;
  }

  void post(Slot* s) {
    {
      std::lock_guard<std::mutex> lock(m_);
      queue_.push_back(s);
    }
    wake_.notify_one();
  }

 private:
  void run() {
    for (;;) {
      Slot* s = nullptr;
      {
        std::unique_lock<std::mutex> lock(m_);
        wake_.wait(lock, [this] { return closing_ || !queue_.empty(); });
        if (queue_.empty()) return;
        s = queue_.front();
        queue_.pop_front();
      }
      sendAll(s->data, s->bytes);
      {
        std::lock_guard<std::mutex> lock(m_);
        free_.push_back(s);
      }
      returned_.notify_one();
    }
  }

  void sendAll(const char* p, size_t n) {
    while (n > 0) {
      ssize_t sent = ::send(fd_, p, n, MSG_NOSIGNAL);
      if (sent <= 0) return;
      p += sent;
      n -= static_cast<size_t>(sent);
    }
  }

  int fd_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::deque<Slot*> free_, queue_;
  std::mutex m_;
  std::condition_variable wake_, returned_;
  bool closing_ = false;
  std::thread worker_;
};

class TraceExporter {
 public:
  TraceExporter(int fd, size_t blockBytes) : sender_(fd, 4, blockBytes) {
    cudaOk(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    cudaOk(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming));
  }
  ~TraceExporter() {
    cudaStreamSynchronize(stream_);
    cudaEventDestroy(ready_);
    cudaStreamDestroy(stream_);
  }

  // Exports `bytes` at `traces`, which `producer` is filling.  The caller may reuse `traces` on
  // `producer` right after the call.
  void publish(const void* traces, size_t bytes, cudaStream_t producer) {
    Slot* slot = sender_.acquire();
    if (bytes > slot->capacity) throw std::length_error("trace block");
    slot->bytes = bytes;
    cudaOk(cudaEventRecord(ready_, producer));
    cudaOk(cudaStreamWaitEvent(stream_, ready_, 0));
    cudaOk(cudaMemcpyAsync(slot->data, traces, bytes, cudaMemcpyDeviceToHost, stream_));
    cudaOk(cudaEventRecord(slot->copied, stream_));
    cudaOk(cudaStreamWaitEvent(producer, slot->copied, 0));
    sender_.post(slot);
  }

 private:
  SlotSender sender_;
  cudaStream_t stream_{};
  cudaEvent_t ready_{};
};

}  // namespace seis
