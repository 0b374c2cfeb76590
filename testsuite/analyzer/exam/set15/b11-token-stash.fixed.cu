#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

// Overlapped scheduling of a streaming speech recogniser: while a batch is decoded the
// scheduler prepares the next one. Tokens that do not exist yet are rows of a map that
// decoding fills in later.
namespace asr {

inline void throw_on(cudaError_t e, const char* where) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(where) + ": " + cudaGetErrorString(e));
}

struct Batch {
  const int* slots = nullptr;      // rows of the map, one for every utterance
  const float* frames = nullptr;   // [size][kFeatures]
  int size = 0;
};

constexpr int kFeatures = 80;

__global__ void decode_kernel(const int* rows, Batch batch, int* next_token) {
  const int u = blockIdx.x * blockDim.x + threadIdx.x;
  if (u >= batch.size) return;
  float best = -1e30f;
  int arg = 0;
  for (int f = 0; f < kFeatures; ++f) {
    const float v = batch.frames[u * kFeatures + f] + 1e-3f * rows[batch.slots[u]];
    if (v > best) { best = v; arg = f; }
  }
  next_token[u] = arg;
}

__global__ void stash_kernel(int* rows, Batch batch, const int* next_token) {
  const int u = blockIdx.x * blockDim.x + threadIdx.x;
  if (u < batch.size) rows[batch.slots[u]] = next_token[u];
}

__global__ void publish_kernel(int* rows, Batch batch, int blank) {
  const int u = blockIdx.x * blockDim.x + threadIdx.x;
  if (u < batch.size && rows[batch.slots[u]] < 0) rows[batch.slots[u]] = blank;
}

class EventHandle {
 public:
  EventHandle() { throw_on(cudaEventCreateWithFlags(&e_, cudaEventDisableTiming), "event"); }
  ~EventHandle() { cudaEventDestroy(e_); }
  EventHandle(const EventHandle&) = delete;
  EventHandle& operator=(const EventHandle&) = delete;

  void record(cudaStream_t s) { throw_on(cudaEventRecord(e_, s), "record"); }
  void block(cudaStream_t s) const { throw_on(cudaStreamWaitEvent(s, e_, 0), "wait"); }

 private:
  cudaEvent_t e_ = nullptr;
};

class OverlapScheduler {
 public:
  OverlapScheduler(int rows, int max_batch) : max_batch_(max_batch) {
    throw_on(cudaStreamCreateWithFlags(&forward_, cudaStreamNonBlocking), "forward stream");
    throw_on(cudaStreamCreateWithFlags(&schedule_, cudaStreamNonBlocking), "schedule stream");
    throw_on(cudaMalloc(&rows_, rows * sizeof(int)), "rows");
    throw_on(cudaMalloc(&next_token_, max_batch_ * sizeof(int)), "tokens");
    throw_on(cudaMemsetAsync(rows_, 0xff, rows * sizeof(int), schedule_), "rows");
  }

  ~OverlapScheduler() {
    cudaStreamSynchronize(schedule_);
    cudaStreamSynchronize(forward_);
    cudaFree(next_token_);
    cudaFree(rows_);
    cudaStreamDestroy(schedule_);
    cudaStreamDestroy(forward_);
  }

  OverlapScheduler(const OverlapScheduler&) = delete;
  OverlapScheduler& operator=(const OverlapScheduler&) = delete;

  cudaStream_t schedule_stream() const { return schedule_; }

  // Prepares the rows of a batch; its arrays must be ready on the schedule stream and stay
  // alive until drain().
  void publish(const Batch& batch) {
    forward_done_.block(schedule_);
    publish_kernel<<<grid(batch), 128, 0, schedule_>>>(rows_, batch, 0);
    throw_on(cudaGetLastError(), "publish_kernel");
    published_.record(schedule_);
  }

  // Decodes a published batch.
  void forward(const Batch& batch) {
    published_.block(forward_);
    decode_kernel<<<grid(batch), 128, 0, forward_>>>(rows_, batch, next_token_);
    throw_on(cudaGetLastError(), "decode_kernel");
    stash(batch);
    forward_done_.record(forward_);
  }

  void serve(const Batch* batches, int count) {
    for (int b = 0; b < count; ++b) {
      publish(batches[b]);
      forward(batches[b]);
    }
  }

  void drain() {
    throw_on(cudaStreamSynchronize(schedule_), "drain");
    throw_on(cudaStreamSynchronize(forward_), "drain");
  }

 private:
  static unsigned grid(const Batch& b) { return (b.size + 127) / 128; }

  void stash(const Batch& batch) {
    stash_kernel<<<grid(batch), 128, 0, forward_>>>(rows_, batch, next_token_);
    throw_on(cudaGetLastError(), "stash_kernel");
  }

  int max_batch_;
  cudaStream_t forward_ = nullptr;
  cudaStream_t schedule_ = nullptr;
  int* rows_ = nullptr;
  int* next_token_ = nullptr;
  EventHandle forward_done_;
  EventHandle published_;
};

}  // namespace asr
