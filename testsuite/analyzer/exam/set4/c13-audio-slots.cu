// Room-acoustics convolution of a multichannel capture. Blocks arrive from the
// audio callback; upload slots come back through a stream callback.
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

namespace audio {

#define AU_CHECK(e)                                                   \
  do {                                                                \
    if ((e) != cudaSuccess) {                                         \
      std::fprintf(stderr, "audio: " #e "\n");                        \
      std::abort();                                                   \
    }                                                                 \
  } while (0)

__global__ void convolveBlock(const float* in, const float* ir, int taps, float* line, int block, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= block) return;
  float acc = line[i];
  for (int t = 0; t < taps && t <= i; ++t) acc += ir[t] * in[i - t];
  out[i] = acc;
}

class SlotRing;

struct Slot {
  SlotRing* ring = nullptr;
  float* host = nullptr;
  int id = 0;
};

class SlotRing {
 public:
  SlotRing(int n, size_t samples) : slots_(n) {
    for (int i = 0; i < n; ++i) {
      slots_[i].ring = this;
      slots_[i].id = i;
      AU_CHECK(cudaMallocHost(&slots_[i].host, samples * sizeof(float)));
      free_.push_back(&slots_[i]);
    }
  }
  ~SlotRing() {
    std::unique_lock<std::mutex> lk(m_);
    cv_.wait(lk, [this] { return free_.size() == slots_.size(); });
    for (Slot& s : slots_) cudaFreeHost(s.host);
  }
  Slot* acquire() {
    std::unique_lock<std::mutex> lk(m_);
    cv_.wait(lk, [this] { return !free_.empty(); });
    Slot* s = free_.back();
    free_.pop_back();
    return s;
  }
  void release(Slot* s) {
    std::lock_guard<std::mutex> lk(m_);
    free_.push_back(s);
    cv_.notify_one();
  }
  static void CUDART_CB onCopied(void* user) {
    auto* s = static_cast<Slot*>(user);
    s->ring->release(s);
  }

 private:
  std::vector<Slot> slots_;
  std::vector<Slot*> free_;
  std::mutex m_;
  std::condition_variable cv_;
};

class Convolver {
 public:
  Convolver(int block, const std::vector<float>& ir) : block_(block), taps_(static_cast<int>(ir.size())), ring_(3, block) {
    AU_CHECK(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking));
    AU_CHECK(cudaMalloc(&in_, block * sizeof(float)));
    AU_CHECK(cudaMalloc(&out_, block * sizeof(float)));
    AU_CHECK(cudaMalloc(&line_, block * sizeof(float)));
    AU_CHECK(cudaMalloc(&ir_, taps_ * sizeof(float)));
    AU_CHECK(cudaMemsetAsync(line_, 0, block * sizeof(float), s_));
    AU_CHECK(cudaMemcpyAsync(ir_, ir.data(), taps_ * sizeof(float), cudaMemcpyHostToDevice, s_));
    AU_CHECK(cudaStreamSynchronize(s_));
  }
  ~Convolver() {
    AU_CHECK(cudaStreamSynchronize(s_));
    for (float* p : {in_, out_, line_, ir_}) cudaFree(p);
    cudaStreamDestroy(s_);
  }

  // audio thread
  void feed(const float* samples) {
    Slot* slot = ring_.acquire();
    std::memcpy(slot->host, samples, block_ * sizeof(float));
    AU_CHECK(cudaMemcpyAsync(in_, slot->host, block_ * sizeof(float), cudaMemcpyHostToDevice, s_));
    AU_CHECK(cudaLaunchHostFunc(s_, &SlotRing::onCopied, slot));
    convolveBlock<<<(block_ + 63) / 64, 64, 0, s_>>>(in_, ir_, taps_, line_, block_, out_);
    AU_CHECK(cudaGetLastError());
  }

  void collect(float* dst) {
    AU_CHECK(cudaMemcpyAsync(dst, out_, block_ * sizeof(float), cudaMemcpyDeviceToHost, s_));
    AU_CHECK(cudaStreamSynchronize(s_));
  }

 private:
  int block_, taps_;
  SlotRing ring_;
  cudaStream_t s_ = nullptr;
  float *in_ = nullptr, *out_ = nullptr, *line_ = nullptr, *ir_ = nullptr;
};

}  // namespace audio
