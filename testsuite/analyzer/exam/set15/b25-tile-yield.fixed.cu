// Yield estimation over satellite tiles. Tiles are pulled from page-locked season memory into a small ring of device buckets on
// the load stream, while the model stream reduces the buckets that are complete.
#include <cuda_runtime.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CROP_CUDA(call)                                                                        \
  do {                                                                                         \
    cudaError_t rc = (call);                                                                   \
    if (rc != cudaSuccess) {                                                                   \
      std::fprintf(stderr, "%s at %s:%d\n", cudaGetErrorString(rc), __FILE__, __LINE__);       \
      std::exit(EXIT_FAILURE);                                                                 \
    }                                                                                          \
  } while (0)

constexpr int kTilePixels = 1 << 22;

__global__ void accumulate_ndvi(const float2* red_nir, float* yield, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float2 v = red_nir[i];
  yield[i] += (v.y - v.x) / (v.y + v.x + 1e-6f);
}

class Stream {
 public:
  Stream() { CROP_CUDA(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(handle_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return handle_; }

 private:
  cudaStream_t handle_ = nullptr;
};

class Event {
 public:
  Event() { CROP_CUDA(cudaEventCreateWithFlags(&handle_, cudaEventDisableTiming)); }
  ~Event() { cudaEventDestroy(handle_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(cudaStream_t stream) { CROP_CUDA(cudaEventRecord(handle_, stream)); }
  void hold(cudaStream_t stream) const { CROP_CUDA(cudaStreamWaitEvent(stream, handle_, 0)); }

 private:
  cudaEvent_t handle_ = nullptr;
};

struct Bucket {
  Bucket() { CROP_CUDA(cudaMalloc(&pixels, kTilePixels * sizeof(float2))); }
  ~Bucket() { cudaFree(pixels); }
  float2* pixels = nullptr;
  Event filled;
  Event drained;
};

// All tiles of a season, page-locked once at start-up.
class Season {
 public:
  explicit Season(int tiles) : tiles_(tiles) {
    CROP_CUDA(cudaMallocHost(&data_, static_cast<std::size_t>(tiles) * kTilePixels * sizeof(float2)));
    for (std::size_t i = 0; i < static_cast<std::size_t>(tiles) * kTilePixels; ++i) data_[i] = make_float2(0.2f, 0.6f);
  }
  ~Season() { cudaFreeHost(data_); }
  Season(const Season&) = delete;
  Season& operator=(const Season&) = delete;
  const float2* tile(int i) const { return data_ + static_cast<std::size_t>(i) * kTilePixels; }
  int tiles() const { return tiles_; }

 private:
  int tiles_;
  float2* data_ = nullptr;
};

class YieldModel {
 public:
  YieldModel() {
    CROP_CUDA(cudaMalloc(&yield_, kTilePixels * sizeof(float)));
    CROP_CUDA(cudaMemsetAsync(yield_, 0, kTilePixels * sizeof(float), model_));
  }
  ~YieldModel() {
    cudaStreamSynchronize(load_);
    cudaStreamSynchronize(model_);
    cudaFree(yield_);
  }

  void run(const Season& season) {
    for (int i = 0; i < season.tiles(); ++i) {
      Bucket& bucket = ring_[i % ring_.size()];
      fetch(season, i, bucket);
      reduce(bucket);
    }
  }

  std::vector<float> result() {
    std::vector<float> host(kTilePixels);
    CROP_CUDA(cudaStreamSynchronize(model_));
    CROP_CUDA(cudaMemcpy(host.data(), yield_, host.size() * sizeof(float), cudaMemcpyDeviceToHost));
    return host;
  }

 private:
  void fetch(const Season& season, int index, Bucket& bucket) {
    bucket.drained.hold(load_);
    CROP_CUDA(cudaMemcpyAsync(bucket.pixels, season.tile(index), kTilePixels * sizeof(float2), cudaMemcpyHostToDevice, load_));
    bucket.filled.record(load_);
  }

  void reduce(Bucket& bucket) {
    bucket.filled.hold(model_);
    accumulate_ndvi<<<kTilePixels / 256, 256, 0, model_>>>(bucket.pixels, yield_, kTilePixels);
    CROP_CUDA(cudaGetLastError());
    bucket.drained.record(model_);
  }

  Stream load_;
  Stream model_;
  std::array<Bucket, 2> ring_;
  float* yield_ = nullptr;
};

int main() {
  Season season(12);
  YieldModel model;
  model.run(season);
  const std::vector<float> yield = model.result();
  std::printf("first pixel %.3f\n", yield.front());
  return 0;
}
