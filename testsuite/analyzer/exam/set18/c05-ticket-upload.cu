// Fire-and-forget uploads. The page-locked buffer of an upload is owned by a
// ticket, which travels through the stream and is retired by a host function.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstring>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

inline void ck(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

// Buffers of one size. Thread-safe, because host functions run on a thread of
// the driver; giving back makes no CUDA call.
class BufferBank {
 public:
  BufferBank(size_t bytes, int count) : bytes_(bytes) {
    for (int i = 0; i < count; ++i) {
      void* p = nullptr;
      ck(cudaMallocHost(&p, bytes));
      all_.push_back(p);
    }
    idle_ = all_;
  }
  ~BufferBank() {
    for (void* p : all_) cudaFreeHost(p);
  }
  BufferBank(const BufferBank&) = delete;
  BufferBank& operator=(const BufferBank&) = delete;

  void* take() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (idle_.empty()) return nullptr;
    void* p = idle_.back();
    idle_.pop_back();
    return p;
  }
  void give(void* p) {
    std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(p);
  }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_;
  std::mutex mutex_;
  std::vector<void*> all_, idle_;
};

struct Ticket {
  BufferBank* bank;
  void* buffer;
  std::promise<void> landed;
  ~Ticket() { bank->give(buffer); }
};

static void CUDART_CB retire(void* raw) {
  std::unique_ptr<Ticket> ticket(static_cast<Ticket*>(raw));
  ticket->landed.set_value();
}

__global__ void scaleBytes(const unsigned char* raw, float* out, size_t n, float scale) {
  size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) out[i] = scale * raw[i];
}

class Uploader {
 public:
  Uploader(size_t bytes, int buffers) : bank_(bytes, buffers) {
    ck(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    ck(cudaMalloc(&raw_, bytes));
  }
  // Host functions are part of the stream's work, so that all tickets are
  // retired before the bank goes.
  ~Uploader() {
    cudaStreamSynchronize(stream_);
    cudaFree(raw_);
    cudaStreamDestroy(stream_);
  }
  Uploader(const Uploader&) = delete;
  Uploader& operator=(const Uploader&) = delete;

  // Copies `n` bytes out of `src` at once; `out` (device) is filled later. The
  // future is ready when the copy to the device is over.
  std::future<void> send(const unsigned char* src, size_t n, float* out, float scale) {
    if (n == 0 || n > bank_.bytes()) throw std::invalid_argument("size");
    void* buffer = bank_.take();
    while (!buffer) {
      ck(cudaStreamSynchronize(stream_));
      buffer = bank_.take();
    }
    std::unique_ptr<Ticket> ticket(new Ticket{&bank_, buffer, {}});
    std::future<void> done = ticket->landed.get_future();
    std::memcpy(buffer, src, n);
    enqueue(*ticket, n);
    ck(cudaLaunchHostFunc(stream_, retire, ticket.get()));
    ticket.release();
    scaleBytes<<<unsigned((n + 255) / 256), 256, 0, stream_>>>(raw_, out, n, scale);
    ck(cudaGetLastError());
    return done;
  }

  // Makes `consumer` see everything sent so far.
  void publish(cudaStream_t consumer) {
    cudaEvent_t sent;
    ck(cudaEventCreateWithFlags(&sent, cudaEventDisableTiming));
    ck(cudaEventRecord(sent, stream_));
    ck(cudaStreamWaitEvent(consumer, sent, 0));
    ck(cudaEventDestroy(sent));
  }

 private:
  void enqueue(const Ticket& t, size_t n) {
    ck(cudaMemcpyAsync(raw_, t.buffer, n, cudaMemcpyHostToDevice, stream_));
  }

  BufferBank bank_;
  cudaStream_t stream_ = nullptr;
  unsigned char* raw_ = nullptr;
};
