// MRI reconstruction, coil by coil. Scratch images come from an arena because
// cudaMalloc per coil was the largest item of the profile.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

namespace mri {

inline void cu(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

__global__ void gridSamples(const float2* kspace, float2* image, int n, float phase) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float2 s = kspace[i];
  image[i] = make_float2(s.x * cosf(phase) - s.y * sinf(phase), s.x * sinf(phase) + s.y * cosf(phase));
}

__global__ void magnitude(const float2* image, float* mag, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) mag[i] = hypotf(image[i].x, image[i].y);
}

class Arena {
 public:
  class Block {
   public:
    Block(Arena& arena, void* data, std::size_t bytes) : arena_(&arena), data_(data), bytes_(bytes) {}
    Block(Block&& o) noexcept
        : arena_(o.arena_), data_(std::exchange(o.data_, nullptr)), bytes_(o.bytes_) {}
    Block& operator=(Block&&) = delete;
    ~Block() {
      if (data_ != nullptr) arena_->giveBack(data_, bytes_);
    }
    template <typename T>
    T* as() const {
      return static_cast<T*>(data_);
    }

   private:
    Arena* arena_;
    void* data_;
    std::size_t bytes_;
  };

  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() {
    for (auto& [bytes, data] : idle_) cudaFree(data);
  }

  Block take(std::size_t bytes) {
    if (auto it = idle_.lower_bound(bytes); it != idle_.end()) {
      Block block(*this, it->second, it->first);
      idle_.erase(it);
      return block;
    }
    void* data = nullptr;
    cu(cudaMalloc(&data, bytes));
    return Block(*this, data, bytes);
  }

 private:
  void giveBack(void* data, std::size_t bytes) { idle_.emplace(bytes, data); }

  std::multimap<std::size_t, void*> idle_;
};

class Reconstruction {
 public:
  explicit Reconstruction(int pixels) : pixels_(pixels) {
    cu(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
    cu(cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking));
    cu(cudaEventCreateWithFlags(&computed_, cudaEventDisableTiming));
  }
  ~Reconstruction() {
    cudaDeviceSynchronize();
    cudaEventDestroy(computed_);
    cudaStreamDestroy(copy_);
    cudaStreamDestroy(compute_);
  }
  Reconstruction(const Reconstruction&) = delete;
  Reconstruction& operator=(const Reconstruction&) = delete;

  // host: pinned, complete after finish()
  void coil(const float2* kspace, float phase, float* host) {
    auto mag = arena_.take(pixels_ * sizeof(float));
    reconstruct(kspace, phase, mag.as<float>());
    download(mag, host);
  }

  void finish() {
    cu(cudaStreamSynchronize(compute_));
    cu(cudaStreamSynchronize(copy_));
  }

 private:
  void reconstruct(const float2* kspace, float phase, float* mag) {
    const auto image = arena_.take(pixels_ * sizeof(float2));
    const int blocks = (pixels_ + 255) / 256;
    gridSamples<<<blocks, 256, 0, compute_>>>(kspace, image.as<float2>(), pixels_, phase);
    magnitude<<<blocks, 256, 0, compute_>>>(image.as<float2>(), mag, pixels_);
    cu(cudaGetLastError());
  }

  void download(const Arena::Block& mag, float* host) {
    cu(cudaEventRecord(computed_, compute_));
    cu(cudaStreamWaitEvent(copy_, computed_, 0));
    cu(cudaMemcpyAsync(host, mag.as<float>(), pixels_ * sizeof(float), cudaMemcpyDeviceToHost, copy_));
  }

  int pixels_;
  cudaStream_t compute_ = nullptr;
  cudaStream_t copy_ = nullptr;
  cudaEvent_t computed_ = nullptr;
  Arena arena_;
};

}  // namespace mri

int main() {
  constexpr int kPixels = 320 * 320;
  constexpr int kCoils = 32;

  float2* kspace = nullptr;
  float* images = nullptr;
  mri::cu(cudaMalloc(&kspace, sizeof(float2) * kPixels));
  mri::cu(cudaMallocHost(&images, sizeof(float) * kPixels * kCoils));
  mri::cu(cudaMemset(kspace, 0, sizeof(float2) * kPixels));
  mri::cu(cudaDeviceSynchronize());
  {
    mri::Reconstruction recon(kPixels);
    for (int c = 0; c < kCoils; ++c) recon.coil(kspace, 0.1f * c, images + c * kPixels);
    recon.finish();
    double sum = 0.0;
    for (int i = 0; i < kPixels * kCoils; ++i) sum += images[i];
    std::printf("sum over coils %f\n", sum);
  }
  mri::cu(cudaFreeHost(images));
  mri::cu(cudaFree(kspace));
}
