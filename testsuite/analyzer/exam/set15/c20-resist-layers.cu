// Resist development over several layers. The latent image of a layer is made on the exposure stream and read by one or more
// development streams; the buffer goes back on the exposure stream when all of them are through.
#include <cuda_runtime.h>

#include <cstddef>
#include <deque>
#include <stdexcept>
#include <utility>
#include <vector>

namespace resist {

inline void ok(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

__global__ void expose(float* latent, int n, float dose) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) latent[i] = 1.f - __expf(-dose * (i % 97) / 97.f);
}

__global__ void develop(const float* latent, float* height, int n, float rate) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) height[i] = fmaxf(0.f, 1.f - rate * latent[i]);
}

class Event {
 public:
  Event() { ok(cudaEventCreateWithFlags(&handle_, cudaEventDisableTiming)); }
  ~Event() {
    if (handle_) cudaEventDestroy(handle_);
  }
  Event(Event&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(cudaStream_t stream) { ok(cudaEventRecord(handle_, stream)); }
  cudaEvent_t get() const { return handle_; }

 private:
  cudaEvent_t handle_ = nullptr;
};

class LatentImage {
 public:
  LatentImage(int pixels, cudaStream_t owner) : owner_(owner) {
    ok(cudaMallocAsync(reinterpret_cast<void**>(&data_), pixels * sizeof(float), owner));
  }
  ~LatentImage() {
    for (const Event& reader : readers_) cudaStreamWaitEvent(owner_, reader.get(), 0);
    cudaFreeAsync(data_, owner_);
  }
  LatentImage(const LatentImage&) = delete;
  LatentImage& operator=(const LatentImage&) = delete;

  float* data() const { return data_; }

  // To be called when the image is complete in the owner's stream.
  void publish() { complete_.record(owner_); }

  template <typename Read>
  void read_on(cudaStream_t stream, Read&& read) {
    ok(cudaStreamWaitEvent(stream, complete_.get(), 0));
    read(static_cast<const float*>(data_));
    readers_.emplace_back();
    readers_.back().record(stream);
  }

 private:
  cudaStream_t owner_;
  float* data_ = nullptr;
  Event complete_;
  std::deque<Event> readers_;
};

class Developer {
 public:
  Developer(int pixels, std::vector<float> rates) : pixels_(pixels), rates_(std::move(rates)) {
    ok(cudaStreamCreateWithFlags(&exposure_, cudaStreamNonBlocking));
    for (std::size_t i = 0; i < rates_.size(); ++i) {
      cudaStream_t stream = nullptr;
      float* height = nullptr;
      ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      streams_.push_back(stream);
      ok(cudaMalloc(&height, pixels * sizeof(float)));
      heights_.push_back(height);
    }
  }
  ~Developer() {
    wait();
    for (float* height : heights_) cudaFree(height);
    for (cudaStream_t stream : streams_) cudaStreamDestroy(stream);
    cudaStreamDestroy(exposure_);
  }
  Developer(const Developer&) = delete;
  Developer& operator=(const Developer&) = delete;

  void layer(float dose) {
    LatentImage image(pixels_, exposure_);
    expose<<<blocks(), 256, 0, exposure_>>>(image.data(), pixels_, dose);
    ok(cudaGetLastError());
    image.publish();
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      image.read_on(streams_[i], [&](const float* latent) {
        develop<<<blocks(), 256, 0, streams_[i]>>>(latent, heights_[i], pixels_, rates_[i]);
        ok(cudaGetLastError());
      });
    }
  }

  void wait() {
    cudaStreamSynchronize(exposure_);
    for (cudaStream_t stream : streams_) cudaStreamSynchronize(stream);
  }

 private:
  int blocks() const { return (pixels_ + 255) / 256; }

  int pixels_;
  std::vector<float> rates_;
  cudaStream_t exposure_ = nullptr;
  std::vector<cudaStream_t> streams_;
  std::vector<float*> heights_;
};

}  // namespace resist

int main() {
  resist::Developer developer(2048 * 2048, {0.7f, 0.8f, 0.9f});
  for (int layer = 0; layer < 24; ++layer) developer.layer(0.1f * layer);
  developer.wait();
  return 0;
}
