// Tone mapping service. The per-image work is captured once in a graph; page-
// locked memory for uploads comes from a shared arena of equal blocks.
#include <cuda_runtime.h>

#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

inline void rt(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

class PinnedArena {
 public:
  PinnedArena(size_t blockBytes, int blocks) : blockBytes_(blockBytes), total_(blocks) {
    rt(cudaMallocHost(&slab_, blockBytes * blocks));
    for (int i = blocks - 1; i >= 0; --i) free_.push_back(static_cast<char*>(slab_) + i * blockBytes);
  }
  ~PinnedArena() { cudaFreeHost(slab_); }
  PinnedArena(const PinnedArena&) = delete;
  PinnedArena& operator=(const PinnedArena&) = delete;

  class Lease {
   public:
    Lease() = default;
    Lease(PinnedArena* arena, char* block) : arena_(arena), block_(block) {}
    Lease(Lease&& o) noexcept { *this = std::move(o); }
    Lease& operator=(Lease&& o) noexcept {
      std::swap(arena_, o.arena_);
      std::swap(block_, o.block_);
      return *this;
    }
    ~Lease() {
      if (block_) arena_->free_.push_back(block_);
    }
    template <typename T> T* as() const { return reinterpret_cast<T*>(block_); }

   private:
    PinnedArena* arena_ = nullptr;
    char* block_ = nullptr;
  };

  Lease lease(size_t bytes) {
    if (bytes > blockBytes_ || free_.empty()) throw std::runtime_error("arena exhausted");
    char* block = free_.back();
    free_.pop_back();
    return Lease(this, block);
  }

 private:
  size_t blockBytes_;
  int total_;
  void* slab_ = nullptr;
  std::vector<char*> free_;
};

constexpr int kCurve = 1024;

__global__ void mapTones(const float* curve, const float* image, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int k = min(kCurve - 1, max(0, int(image[i] * (kCurve - 1))));
  out[i] = curve[k];
}

class ToneService {
 public:
  ToneService(int pixels, float gamma) : pixels_(pixels), arena_(sizeof(float) * pixels, 4) {
    if (pixels < kCurve) throw std::invalid_argument("image too small");
    rt(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    rt(cudaMalloc(&curve_, sizeof(float) * kCurve));
    rt(cudaMalloc(&image_, sizeof(float) * pixels_));
    rt(cudaMalloc(&out_, sizeof(float) * pixels_));
    capture(gamma);
  }
  ~ToneService() {
    cudaStreamSynchronize(stream_);
    if (exec_) cudaGraphExecDestroy(exec_);
    cudaFree(out_);
    cudaFree(image_);
    cudaFree(curve_);
    cudaStreamDestroy(stream_);
  }
  ToneService(const ToneService&) = delete;
  ToneService& operator=(const ToneService&) = delete;

  // `pixels` and `result` are ordinary host arrays.
  void process(const float* pixels, float* result) {
    const size_t bytes = sizeof(float) * pixels_;
    PinnedArena::Lease block = arena_.lease(bytes);
    std::memcpy(block.as<float>(), pixels, bytes);
    rt(cudaMemcpyAsync(image_, block.as<float>(), bytes, cudaMemcpyHostToDevice, stream_));
    rt(cudaGraphLaunch(exec_, stream_));
    rt(cudaStreamSynchronize(stream_));
    rt(cudaMemcpyAsync(block.as<float>(), out_, bytes, cudaMemcpyDeviceToHost, stream_));
    rt(cudaStreamSynchronize(stream_));
    std::memcpy(result, block.as<float>(), bytes);
  }

 private:
  // The curve travels with the graph, so that a device reset of the table by
  // a debugging tool does not survive an image.
  void capture(float gamma) {
    PinnedArena::Lease curve = arena_.lease(sizeof(float) * kCurve);
    float* table = curve.as<float>();
    for (int i = 0; i < kCurve; ++i) table[i] = std::pow(float(i) / (kCurve - 1), 1.0f / gamma);
    cudaGraph_t graph = nullptr;
    rt(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    rt(cudaMemcpyAsync(curve_, table, sizeof(float) * kCurve, cudaMemcpyHostToDevice, stream_));
    mapTones<<<(pixels_ + 255) / 256, 256, 0, stream_>>>(curve_, image_, out_, pixels_);
    rt(cudaStreamEndCapture(stream_, &graph));
    rt(cudaGraphInstantiate(&exec_, graph, 0));
    rt(cudaGraphDestroy(graph));
  }

  int pixels_;
  PinnedArena arena_;
  cudaStream_t stream_ = nullptr;
  float* curve_ = nullptr;
  float* image_ = nullptr;
  float* out_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};
