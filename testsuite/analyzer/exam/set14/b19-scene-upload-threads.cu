// Ray tracer: scene tables are uploaded once, by whichever worker thread needs
// them first; the other workers order their streams behind that upload.
#include <cuda_runtime.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#define RAY_CU(x)                                                               \
  do {                                                                          \
    cudaError_t rc_ = (x);                                                      \
    if (rc_ != cudaSuccess) {                                                   \
      std::fprintf(stderr, "ray: %s line %d\n", cudaGetErrorString(rc_), __LINE__); \
      std::abort();                                                             \
    }                                                                           \
  } while (0)

struct Sphere {
  float4 centreRadius;
  float4 albedo;
};

template <typename T>
class PinnedTable {
 public:
  explicit PinnedTable(size_t n) : n_(n) {
    RAY_CU(cudaMallocHost(reinterpret_cast<void**>(&p_), n * sizeof(T)));
  }
  ~PinnedTable() { cudaFreeHost(p_); }
  PinnedTable(const PinnedTable&) = delete;
  PinnedTable& operator=(const PinnedTable&) = delete;
  T* data() const { return p_; }
  T& operator[](size_t i) { return p_[i]; }
  size_t size() const { return n_; }

 private:
  T* p_ = nullptr;
  size_t n_;
};

// A host table with a lazily made device copy.
template <typename T>
class SceneTable {
 public:
  explicit SceneTable(size_t n) : host_(n) {
    RAY_CU(cudaEventCreateWithFlags(&uploaded_, cudaEventDisableTiming));
  }
  ~SceneTable() {
    cudaFree(device_);
    cudaEventDestroy(uploaded_);
  }

  T& operator[](size_t i) { return host_[i]; }
  int size() const { return static_cast<int>(host_.size()); }

  // Device pointer for work enqueued in `stream`.
  const T* get(cudaStream_t stream) {
    std::lock_guard<std::mutex> lk(mu_);
    if (!device_) {
      const size_t bytes = host_.size() * sizeof(T);
      RAY_CU(cudaMalloc(reinterpret_cast<void**>(&device_), bytes));
      RAY_CU(cudaMemcpyAsync(device_, host_.data(), bytes, cudaMemcpyHostToDevice, stream));
      owner_ = stream;
    } else if (stream != owner_) {
      RAY_CU(cudaStreamWaitEvent(stream, uploaded_, 0));
    }
    return device_;
  }

 private:
  PinnedTable<T> host_;
  T* device_ = nullptr;
  cudaEvent_t uploaded_ = nullptr;
  cudaStream_t owner_ = nullptr;
  std::mutex mu_;
};

__global__ void shade(const Sphere* spheres, int count, float* tile, int width, int height, int tileX) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y;
  if (x >= width || y >= height) return;
  float best = 1e30f, value = 0.f;
  for (int s = 0; s < count; ++s) {
    float dx = (x + tileX) - spheres[s].centreRadius.x;
    float dy = y - spheres[s].centreRadius.y;
    float r = spheres[s].centreRadius.w;
    float d = dx * dx + dy * dy;
    if (d < r * r && spheres[s].centreRadius.z < best) {
      best = spheres[s].centreRadius.z;
      value = spheres[s].albedo.x * (1.f - d / (r * r));
    }
  }
  tile[y * width + x] = value;
}

class Worker {
 public:
  Worker(SceneTable<Sphere>& scene, int width, int height) : scene_(scene), w_(width), h_(height) {
    RAY_CU(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    RAY_CU(cudaMalloc(reinterpret_cast<void**>(&tile_), w_ * h_ * sizeof(float)));
  }
  ~Worker() {
    cudaStreamSynchronize(stream_);
    cudaFree(tile_);
    cudaStreamDestroy(stream_);
  }

  void render(int tileX, std::vector<float>& out) {
    const Sphere* spheres = scene_.get(stream_);
    shade<<<dim3((w_ + 127) / 128, h_), 128, 0, stream_>>>(spheres, scene_.size(), tile_, w_, h_, tileX);
    RAY_CU(cudaGetLastError());
    out.resize(w_ * h_);
    RAY_CU(cudaMemcpyAsync(out.data(), tile_, out.size() * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    RAY_CU(cudaStreamSynchronize(stream_));
  }

 private:
  SceneTable<Sphere>& scene_;
  int w_;
  int h_;
  cudaStream_t stream_ = nullptr;
  float* tile_ = nullptr;
};

int main() {
  SceneTable<Sphere> scene(1 << 20);
  for (int i = 0; i < scene.size(); ++i) {
    scene[i].centreRadius = make_float4(i % 4096, (i * 7) % 512, i, 3.f + i % 5);
    scene[i].albedo = make_float4(0.8f, 0.8f, 0.8f, 1.f);
  }
  const int tiles = 8;
  std::vector<std::vector<float>> image(tiles);
  std::vector<std::thread> pool;
  for (int t = 0; t < tiles; ++t)
    pool.emplace_back([&, t] {
      Worker worker(scene, 512, 512);
      worker.render(t * 512, image[t]);
    });
  for (auto& th : pool) th.join();
  std::printf("%zu tiles\n", image.size());
  return 0;
}
