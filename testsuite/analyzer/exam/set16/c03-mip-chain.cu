// Builds mip levels on the texture stream and converts each of them for the encoder on a second stream.
#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tex {

inline void must(cudaError_t rc, const char* what) {
  if (rc != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(rc));
}
#define TEX(x) ::tex::must((x), #x)

class Event {
 public:
  Event() { TEX(cudaEventCreateWithFlags(&e_, cudaEventDisableTiming)); }
  Event(Event&& o) noexcept : e_(std::exchange(o.e_, nullptr)) {}
  Event& operator=(Event&&) = delete;
  ~Event() {
    if (e_) cudaEventDestroy(e_);
  }
  cudaEvent_t get() const { return e_; }

 private:
  cudaEvent_t e_{};
};

// Stream-ordered buffer; the free waits for the last foreign use.
class Level {
 public:
  Level(int w, int h, cudaStream_t home) : w_(w), h_(h), home_(home) {
    TEX(cudaMallocAsync(reinterpret_cast<void**>(&p_), sizeof(float4) * w * h, home));
  }
  Level(Level&& o) noexcept
      : w_(o.w_), h_(o.h_), home_(o.home_), used_(o.used_), lastUse_(std::move(o.lastUse_)), p_(std::exchange(o.p_, nullptr)) {}
  Level& operator=(Level&&) = delete;
  ~Level() {
    if (!p_) return;
    if (used_) cudaStreamWaitEvent(home_, lastUse_.get(), 0);
    cudaFreeAsync(p_, home_);
  }

  void usedOn(cudaStream_t s) {
    TEX(cudaEventRecord(lastUse_.get(), s));
    used_ = true;
  }

  float4* data() const { return p_; }
  int w() const { return w_; }
  int h() const { return h_; }

 private:
  int w_, h_;
  cudaStream_t home_;
  bool used_ = false;
  Event lastUse_;
  float4* p_ = nullptr;
};

__global__ void halve(const float4* src, float4* dst, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= w || y >= h) return;
  float4 a = src[(2 * y) * 2 * w + 2 * x], b = src[(2 * y + 1) * 2 * w + 2 * x + 1];
  dst[y * w + x] = make_float4(0.5f * (a.x + b.x), 0.5f * (a.y + b.y), 0.5f * (a.z + b.z), 0.5f * (a.w + b.w));
}

__global__ void quantise(const float4* src, uchar4* dst, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) dst[i] = make_uchar4(src[i].x * 255, src[i].y * 255, src[i].z * 255, src[i].w * 255);
}

class MipBuilder {
 public:
  MipBuilder() {
    TEX(cudaStreamCreateWithFlags(&texture_, cudaStreamNonBlocking));
    TEX(cudaStreamCreateWithFlags(&encode_, cudaStreamNonBlocking));
  }
  ~MipBuilder() {
    cudaStreamSynchronize(encode_);
    cudaStreamSynchronize(texture_);
    cudaStreamDestroy(encode_);
    cudaStreamDestroy(texture_);
  }
  MipBuilder(const MipBuilder&) = delete;
  MipBuilder& operator=(const MipBuilder&) = delete;

  // Writes all levels below `base` (w and h powers of two, filled on textureStream()) one after the
  // other to `packed`, which belongs to encodeStream().
  void build(const float4* base, int w, int h, uchar4* packed) {
    std::vector<Level> chain;
    const float4* src = base;
    while (w > 1 && h > 1) {
      w /= 2;
      h /= 2;
      chain.emplace_back(w, h, texture_);
      halve<<<dim3((w + 63) / 64, h), 64, 0, texture_>>>(src, chain.back().data(), w, h);
      TEX(cudaGetLastError());
      src = chain.back().data();
      packed += encode(chain.back(), packed);
    }
  }

  cudaStream_t textureStream() const { return texture_; }
  cudaStream_t encodeStream() const { return encode_; }

 private:
  int encode(Level& level, uchar4* out) {
    TEX(cudaEventRecord(built_.get(), texture_));
    TEX(cudaStreamWaitEvent(encode_, built_.get(), 0));
    const int n = level.w() * level.h();
    quantise<<<(n + 127) / 128, 128, 0, encode_>>>(level.data(), out, n);
    TEX(cudaGetLastError());
    level.usedOn(encode_);
    return n;
  }

  cudaStream_t texture_{}, encode_{};
  Event built_;
};

}  // namespace tex
