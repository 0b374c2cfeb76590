// Separable smoothing of depth maps; one worker thread and one stream per camera.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#define DEPTH_CHECK(call)                                                         \
  do {                                                                            \
    const cudaError_t e_ = (call);                                                \
    if (e_ != cudaSuccess) {                                                      \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e_));            \
      std::exit(EXIT_FAILURE);                                                    \
    }                                                                             \
  } while (0)

namespace depth {

constexpr int kMaxWidth = 2048;
constexpr int kMaxHeight = 1536;

struct Image {
  float* data;
  int width, height;
};

__global__ void smoothRows(const float* in, float* out, int w, int h, int radius) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float sum = 0.f;
  for (int d = -radius; d <= radius; ++d) sum += in[y * w + min(max(x + d, 0), w - 1)];
  out[y * w + x] = sum / (2 * radius + 1);
}

__global__ void smoothColumns(const float* in, float* out, int w, int h, int radius) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float sum = 0.f;
  for (int d = -radius; d <= radius; ++d) sum += in[min(max(y + d, 0), h - 1) * w + x];
  out[y * w + x] = sum / (2 * radius + 1);
}

class Plane {
 public:
  Plane(int width, int height) {
    DEPTH_CHECK(cudaMalloc(reinterpret_cast<void**>(&data_), sizeof(float) * width * height));
  }
  Plane(const Plane&) = delete;
  ~Plane() { cudaFree(data_); }
  float* data() const { return data_; }

 private:
  float* data_ = nullptr;
};

namespace detail {

// The intermediate image is allocated on first use; allocating per call is too slow.
inline Plane& intermediate() {
  static Plane plane(kMaxWidth, kMaxHeight);
  return plane;
}

}  // namespace detail

// Smooths in place, asynchronously with respect to the host.
void smooth(const Image& image, int radius, cudaStream_t stream) {
  float* tmp = detail::intermediate().data();
  const dim3 block(32, 8);
  const dim3 grid((image.width + 31) / 32, (image.height + 7) / 8);
  smoothRows<<<grid, block, 0, stream>>>(image.data, tmp, image.width, image.height, radius);
  smoothColumns<<<grid, block, 0, stream>>>(tmp, image.data, image.width, image.height, radius);
  DEPTH_CHECK(cudaGetLastError());
}

class Camera {
 public:
  Camera(int id, int width, int height) : id_(id), frame_(width, height), width_(width), height_(height) {
    DEPTH_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    host_.resize(static_cast<size_t>(width) * height);
  }
  Camera(const Camera&) = delete;
  ~Camera() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }

  void run(int frames) {
    const size_t bytes = host_.size() * sizeof(float);
    double checksum = 0.0;
    for (int f = 0; f < frames; ++f) {
      grab(f);
      DEPTH_CHECK(cudaMemcpyAsync(frame_.data(), host_.data(), bytes, cudaMemcpyHostToDevice, stream_));
      for (int pass = 0; pass < 3; ++pass)
        smooth(Image{frame_.data(), width_, height_}, 2 + pass, stream_);
      DEPTH_CHECK(cudaMemcpyAsync(host_.data(), frame_.data(), bytes, cudaMemcpyDeviceToHost, stream_));
      DEPTH_CHECK(cudaStreamSynchronize(stream_));
      checksum += host_[host_.size() / 2];
    }
    std::printf("camera %d: %.3f\n", id_, checksum);
  }

 private:
  void grab(int f) {
    for (size_t i = 0; i < host_.size(); ++i) host_[i] = float((i * 31 + f * 17 + id_) % 977);
  }

  int id_;
  Plane frame_;
  int width_, height_;
  cudaStream_t stream_ = nullptr;
  std::vector<float> host_;
};

}  // namespace depth

int main() {
  std::vector<std::unique_ptr<depth::Camera>> cameras;
  for (int id = 0; id < 4; ++id) cameras.emplace_back(new depth::Camera(id, 1280, 960));
  std::vector<std::thread> workers;
  for (auto& camera : cameras) workers.emplace_back([&camera] { camera->run(50); });
  for (auto& w : workers) w.join();
  return 0;
}
