// Visual odometry: camera images are staged in a ring of page-locked slots that a host function gives back.
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <vector>

#define CUDA_DO(x)                                                          \
  do {                                                                      \
    cudaError_t d_ = (x);                                                   \
    if (d_ != cudaSuccess) {                                                \
      std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(d_));         \
      std::abort();                                                         \
    }                                                                       \
  } while (0)

constexpr int kW = 1280, kH = 720;
constexpr size_t kBytes = size_t(kW) * kH;

__global__ void gradient(const uint8_t* img, float* out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y;
  if (x < 1 || x >= kW - 1 || y < 1 || y >= kH - 1) return;
  float gx = float(img[y * kW + x + 1]) - float(img[y * kW + x - 1]);
  float gy = float(img[(y + 1) * kW + x]) - float(img[(y - 1) * kW + x]);
  out[y * kW + x] = gx * gx + gy * gy;
}

class SlotRing {
 public:
  explicit SlotRing(int slots) : slots_(slots) {
    for (auto& s : slots_) {
      s.ring = this;
      CUDA_DO(cudaMallocHost(&s.pixels, kBytes));
      idle_.push_back(&s);
    }
  }
  // All slots must have been given back.
  ~SlotRing() {
    std::unique_lock<std::mutex> lock(mutex_);
    returned_.wait(lock, [this] { return idle_.size() == slots_.size(); });
    for (auto& s : slots_) cudaFreeHost(s.pixels);
  }
  SlotRing(const SlotRing&) = delete;
  SlotRing& operator=(const SlotRing&) = delete;

  struct Slot {
    SlotRing* ring = nullptr;
    uint8_t* pixels = nullptr;
  };

  Slot* take() {
    std::unique_lock<std::mutex> lock(mutex_);
    returned_.wait(lock, [this] { return !idle_.empty(); });
    Slot* s = idle_.front();
    idle_.pop_front();
    return s;
  }

  // Gives the slot back when the work queued on stream so far is done.
  void give_back_after(Slot* s, cudaStream_t stream) {
    CUDA_DO(cudaLaunchHostFunc(stream, &SlotRing::on_copied, s));
  }

 private:
  static void CUDART_CB on_copied(void* arg) {
    auto* slot = static_cast<Slot*>(arg);
    SlotRing* ring = slot->ring;
    std::lock_guard<std::mutex> lock(ring->mutex_);
    ring->idle_.push_back(slot);
    ring->returned_.notify_all();
  }

  std::vector<Slot> slots_;
  std::deque<Slot*> idle_;
  std::mutex mutex_;
  std::condition_variable returned_;
};

class Tracker {
 public:
  Tracker() {
    CUDA_DO(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CUDA_DO(cudaMalloc(&image_, kBytes));
    CUDA_DO(cudaMalloc(&energy_, kBytes * sizeof(float)));
    CUDA_DO(cudaMemsetAsync(energy_, 0, kBytes * sizeof(float), stream_));
  }
  ~Tracker() {
    cudaStreamSynchronize(stream_);
    cudaFree(energy_);
    cudaFree(image_);
    cudaStreamDestroy(stream_);
  }
  Tracker(const Tracker&) = delete;
  Tracker& operator=(const Tracker&) = delete;

  void track(SlotRing& ring, int frame) {
    SlotRing::Slot* slot = ring.take();
    grab(slot->pixels, frame);
    CUDA_DO(cudaMemcpyAsync(image_, slot->pixels, kBytes, cudaMemcpyHostToDevice, stream_));
    ring.give_back_after(slot, stream_);
    gradient<<<dim3((kW + 127) / 128, kH), 128, 0, stream_>>>(image_, energy_);
    CUDA_DO(cudaGetLastError());
  }

  float energy_at(int x, int y) {
    float e = 0;
    CUDA_DO(cudaMemcpyAsync(&e, energy_ + y * kW + x, sizeof e, cudaMemcpyDeviceToHost, stream_));
    CUDA_DO(cudaStreamSynchronize(stream_));
    return e;
  }

 private:
  static void grab(uint8_t* dst, int frame) {
    for (size_t i = 0; i < kBytes; ++i) dst[i] = uint8_t(i * 3 + frame);
  }

  cudaStream_t stream_ = nullptr;
  uint8_t* image_ = nullptr;
  float* energy_ = nullptr;
};

int main() {
  SlotRing ring(3);
  Tracker tracker;
  for (int f = 0; f < 300; ++f) tracker.track(ring, f);
  std::printf("%f\n", tracker.energy_at(100, 100));
  return 0;
}
