// Out-of-core volume renderer: bricks are stream-ordered allocations that change hands between streams.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

namespace volume {
#define VOL(x)                                                       \
  do {                                                               \
    cudaError_t e_ = (x);                                            \
    if (e_ != cudaSuccess) {                                         \
      std::fprintf(stderr, "volume: %s\n", cudaGetErrorString(e_));  \
      std::abort();                                                  \
    }                                                                \
  } while (0)

// Orders everything queued in `second` from now on after everything queued in `first` until now.
inline void order(cudaStream_t first, cudaStream_t second) {
  if (first == second) return;
  cudaEvent_t e;
  VOL(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  VOL(cudaEventRecord(e, first));
  VOL(cudaStreamWaitEvent(second, e, 0));
  VOL(cudaEventDestroy(e));
}

// Move-only. The home stream is where the memory will be freed.
class Brick {
 public:
  Brick() = default;
  Brick(size_t voxels, cudaStream_t home) : voxels_(voxels), home_(home) {
    VOL(cudaMallocAsync(&data_, voxels * sizeof(float), home));
  }
  Brick(Brick&& o) noexcept { swap(o); }
  Brick& operator=(Brick&& o) noexcept {
    Brick gone(std::move(o));
    swap(gone);
    return *this;
  }
  ~Brick() {
    if (!data_) return;
    for (cudaStream_t r : readers_) order(r, home_);
    VOL(cudaFreeAsync(data_, home_));
  }

  // Hands the brick over to another stream.
  void rehome(cudaStream_t next) {
    order(home_, next);
    home_ = next;
  }

  // Lets a second stream read the brick while it stays at home.
  const float* share(cudaStream_t reader) {
    order(home_, reader);
    if (std::find(readers_.begin(), readers_.end(), reader) == readers_.end())
      readers_.push_back(reader);
    return data_;
  }

  float* data() { return data_; }
  size_t voxels() const { return voxels_; }

 private:
  void swap(Brick& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(voxels_, o.voxels_);
    std::swap(home_, o.home_);
    std::swap(readers_, o.readers_);
  }

  float* data_ = nullptr;
  size_t voxels_ = 0;
  cudaStream_t home_ = nullptr;
  std::vector<cudaStream_t> readers_;
};

__global__ void decodeBrick(float* out, size_t n, unsigned key) {
  const size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (i < n) out[i] = static_cast<float>((i * 2654435761u ^ key) & 255) / 255.f;
}

__global__ void integrateBrick(const float* brick, size_t n, float* image, int pixels) {
  const int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= pixels) return;
  float acc = image[p];
  for (size_t i = p; i < n; i += pixels) acc += 0.01f * brick[i];
  image[p] = acc;
}

__global__ void brickHistogram(const float* brick, size_t n, unsigned* bins) {
  const size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (i < n) atomicAdd(&bins[static_cast<int>(brick[i] * 63.f)], 1u);
}

class BrickRenderer {
 public:
  explicit BrickRenderer(int pixels) : pixels_(pixels) {
    VOL(cudaStreamCreateWithFlags(&decode_, cudaStreamNonBlocking));
    VOL(cudaStreamCreateWithFlags(&render_, cudaStreamNonBlocking));
    VOL(cudaStreamCreateWithFlags(&stats_, cudaStreamNonBlocking));
    VOL(cudaMallocAsync(&image_, pixels * sizeof(float), render_));
    VOL(cudaMemsetAsync(image_, 0, pixels * sizeof(float), render_));
    VOL(cudaMallocAsync(&bins_, 64 * sizeof(unsigned), stats_));
    VOL(cudaMemsetAsync(bins_, 0, 64 * sizeof(unsigned), stats_));
  }
  ~BrickRenderer() {
    cache_.clear();
    VOL(cudaFreeAsync(image_, render_));
    VOL(cudaFreeAsync(bins_, stats_));
    for (cudaStream_t s : {decode_, render_, stats_}) {
      VOL(cudaStreamSynchronize(s));
      VOL(cudaStreamDestroy(s));
    }
  }
  BrickRenderer(const BrickRenderer&) = delete;
  BrickRenderer& operator=(const BrickRenderer&) = delete;

  // Draws a brick, decoding it when needed; evicts the oldest bricks beyond the budget.
  void draw(unsigned key, size_t voxels) {
    auto it = cache_.find(key);
    if (it == cache_.end()) it = cache_.emplace(key, decode(key, voxels)).first;
    Brick& b = it->second;
    integrateBrick<<<(pixels_ + 127) / 128, 128, 0, render_>>>(b.data(), b.voxels(), image_, pixels_);
    VOL(cudaGetLastError());
    const float* shared = b.share(stats_);
    brickHistogram<<<blocks(b.voxels()), 256, 0, stats_>>>(shared, b.voxels(), bins_);
    VOL(cudaGetLastError());
    while (cache_.size() > 16) cache_.erase(cache_.begin());
  }

  std::vector<float> image() {
    std::vector<float> host(pixels_);
    VOL(cudaMemcpyAsync(host.data(), image_, pixels_ * sizeof(float), cudaMemcpyDeviceToHost, render_));
    VOL(cudaStreamSynchronize(render_));
    return host;
  }

 private:
  static unsigned blocks(size_t n) { return static_cast<unsigned>((n + 255) / 256); }

  Brick decode(unsigned key, size_t voxels) {
    Brick b(voxels, decode_);
    decodeBrick<<<blocks(voxels), 256, 0, decode_>>>(b.data(), voxels, key);
    VOL(cudaGetLastError());
    b.rehome(render_);
    return b;
  }

  int pixels_;
  cudaStream_t decode_ = nullptr, render_ = nullptr, stats_ = nullptr;
  float* image_ = nullptr;
  unsigned* bins_ = nullptr;
  std::map<unsigned, Brick> cache_;
};

}  // namespace volume
