// Heap of equally sized simulation bricks, shared by the solver streams of a fluid renderer.
// A brick that was released on one stream can move to another stream behind an event.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace fluid {

#define FL_CUDA(x)                                                                        \
  do {                                                                                    \
    const cudaError_t s_ = (x);                                                           \
    if (s_ != cudaSuccess) throw std::runtime_error(std::string(#x) + cudaGetErrorString(s_)); \
  } while (0)

class BrickHeap {
 public:
  BrickHeap(std::size_t brick_floats, int bricks) {
    FL_CUDA(cudaMalloc(&slab_, sizeof(float) * brick_floats * bricks));
    for (int i = 0; i < bricks; ++i) untouched_.push_back(slab_ + i * brick_floats);
  }

  ~BrickHeap() {
    cudaDeviceSynchronize();
    for (auto& [s, bin] : bins_) cudaEventDestroy(bin.released);
    cudaFree(slab_);
  }

  BrickHeap(const BrickHeap&) = delete;
  BrickHeap& operator=(const BrickHeap&) = delete;

  float* allocate(cudaStream_t s) {
    Bin& mine = bin(s);
    if (!mine.bricks.empty()) return pop(mine.bricks);
    if (!untouched_.empty()) return pop(untouched_);
    for (auto& [owner, other] : bins_) {
      if (owner == s || other.bricks.empty()) continue;
      absorb(s, mine, other);
      return pop(mine.bricks);
    }
    throw std::bad_alloc();
  }

  void release(float* brick, cudaStream_t s) {
    Bin& mine = bin(s);
    FL_CUDA(cudaEventRecord(mine.released, s));
    mine.bricks.push_back(brick);
  }

 private:
  struct Bin {
    cudaEvent_t released{};  // covers every brick of this bin
    std::vector<float*> bricks;
  };

  static float* pop(std::vector<float*>& v) {
    float* b = v.back();
    v.pop_back();
    return b;
  }

  Bin& bin(cudaStream_t s) {
    auto it = bins_.find(s);
    if (it == bins_.end()) {
      it = bins_.emplace(s, Bin{}).first;
      FL_CUDA(cudaEventCreateWithFlags(&it->second.released, cudaEventDisableTiming));
    }
    return it->second;
  }

  // Moves all bricks of another stream over.
  void absorb(cudaStream_t s, Bin& mine, Bin& other) {
    FL_CUDA(cudaStreamWaitEvent(s, other.released, 0));
    mine.bricks.insert(mine.bricks.end(), other.bricks.begin(), other.bricks.end());
    other.bricks.clear();
    FL_CUDA(cudaEventRecord(mine.released, s));
  }

  float* slab_ = nullptr;
  std::vector<float*> untouched_;
  std::map<cudaStream_t, Bin> bins_;
};

__global__ void inject(float* brick, float rate, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) brick[i] = rate * i;
}

__global__ void diffuse(float* brick, int n, int sweeps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = brick[i];
  for (int k = 0; k < sweeps; ++k) v = 0.99f * v + 0.01f * __sinf(v);
  brick[i] = v;
}

class Emitter {
 public:
  Emitter(BrickHeap& heap, int n) : heap_(heap), n_(n) {
    FL_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~Emitter() { cudaStreamDestroy(stream_); }
  Emitter(const Emitter&) = delete;
  Emitter& operator=(const Emitter&) = delete;

  void spawn(int bricks, float rate) {
    for (int i = 0; i < bricks; ++i) {
      float* b = heap_.allocate(stream_);
      inject<<<(n_ + 255) / 256, 256, 0, stream_>>>(b, rate, n_);
      live_.push_back(b);
    }
  }

  void settle(int sweeps) {
    for (float* b : live_) diffuse<<<(n_ + 255) / 256, 256, 0, stream_>>>(b, n_, sweeps);
  }

  void fade() {
    for (float* b : live_) heap_.release(b, stream_);
    live_.clear();
  }

 private:
  BrickHeap& heap_;
  int n_;
  cudaStream_t stream_{};
  std::vector<float*> live_;
};

}  // namespace fluid

int main() {
  constexpr int kBrick = 1 << 20, kBricks = 8;
  fluid::BrickHeap heap(kBrick, kBricks);
  fluid::Emitter smoke(heap, kBrick), fire(heap, kBrick), dust(heap, kBrick);

  fire.spawn(1, 0.5f);
  fire.fade();

  smoke.spawn(7, 1.0f);
  smoke.settle(500);
  smoke.fade();

  fire.spawn(2, 0.25f);  // one brick of its own, the rest from smoke
  dust.spawn(5, 0.125f);
  dust.settle(10);
  FL_CUDA(cudaDeviceSynchronize());
  std::puts("done");
  return 0;
}
