#include <cuda_runtime.h>

#include <array>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

// Ingest of radar sweeps through a ring of pinned buffers; a host function behind every
// upload gives the buffer back to the receiver.

#define RX_CHECK(x)                                                       \
  do {                                                                    \
    const cudaError_t e_ = (x);                                           \
    if (e_ != cudaSuccess) {                                              \
      std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e_));       \
      std::abort();                                                       \
    }                                                                     \
  } while (0)

__global__ void clutter_kernel(const float* sweep, float* clutter, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) clutter[i] = 0.98f * clutter[i] + 0.02f * sweep[i];
}

class PinnedSlot {
 public:
  explicit PinnedSlot(size_t n) { RX_CHECK(cudaMallocHost(&data_, n * sizeof(float))); }
  ~PinnedSlot() { cudaFreeHost(data_); }
  PinnedSlot(const PinnedSlot&) = delete;
  PinnedSlot& operator=(const PinnedSlot&) = delete;

  float* lock() {
    std::unique_lock<std::mutex> guard(mutex_);
    returned_.wait(guard, [this] { return free_; });
    free_ = false;
    return data_;
  }

  void unlock() {
    {
      std::lock_guard<std::mutex> guard(mutex_);
      free_ = true;
    }
    returned_.notify_one();
  }

  static void CUDART_CB on_uploaded(void* self) { static_cast<PinnedSlot*>(self)->unlock(); }

 private:
  float* data_ = nullptr;
  std::mutex mutex_;
  std::condition_variable returned_;
  bool free_ = true;
};

class SweepIngest {
 public:
  static constexpr int kSlots = 3;

  explicit SweepIngest(int bins) : bins_(bins) {
    RX_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    for (auto& s : slots_) s = std::make_unique<PinnedSlot>(bins);
    RX_CHECK(cudaMalloc(&sweep_, bins * sizeof(float)));
    RX_CHECK(cudaMalloc(&clutter_, bins * sizeof(float)));
    RX_CHECK(cudaMemsetAsync(clutter_, 0, bins * sizeof(float), stream_));
  }
  ~SweepIngest() {
    cudaStreamSynchronize(stream_);
    cudaFree(clutter_);
    cudaFree(sweep_);
    cudaStreamDestroy(stream_);
  }
  SweepIngest(const SweepIngest&) = delete;
  SweepIngest& operator=(const SweepIngest&) = delete;

  template <typename Receive>
  void ingest(Receive&& receive) {
    PinnedSlot& slot = *slots_[next_++ % kSlots];
    float* host = slot.lock();
    receive(host, bins_);
    RX_CHECK(cudaMemcpyAsync(sweep_, host, bins_ * sizeof(float), cudaMemcpyHostToDevice, stream_));
    RX_CHECK(cudaLaunchHostFunc(stream_, &PinnedSlot::on_uploaded, &slot));
    clutter_kernel<<<(bins_ + 255) / 256, 256, 0, stream_>>>(sweep_, clutter_, bins_);
    RX_CHECK(cudaGetLastError());
  }

  std::vector<float> clutter() {
    std::vector<float> host(bins_);
    RX_CHECK(cudaMemcpyAsync(host.data(), clutter_, bins_ * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    RX_CHECK(cudaStreamSynchronize(stream_));
    return host;
  }

 private:
  int bins_;
  cudaStream_t stream_ = nullptr;
  std::array<std::unique_ptr<PinnedSlot>, kSlots> slots_;
  unsigned next_ = 0;
  float* sweep_ = nullptr;
  float* clutter_ = nullptr;
};

int main() {
  constexpr int kBins = 360 * 1200;
  SweepIngest ingest(kBins);
  for (int sweep = 0; sweep < 40; ++sweep) {
    ingest.ingest([sweep](float* dst, int bins) {
      for (int i = 0; i < bins; ++i) dst[i] = static_cast<float>((i * 11 + sweep * 3) % 97);
    });
  }
  const std::vector<float> map = ingest.clutter();
  std::printf("clutter[0] = %f\n", map[0]);
  return 0;
}
