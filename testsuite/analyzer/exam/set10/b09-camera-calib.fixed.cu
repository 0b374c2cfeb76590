// Multi-camera rig: rectification tables are uploaded once, by whichever camera comes first.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#define CHECK_CUDA(stmt)                                                               \
  do {                                                                                 \
    cudaError_t err__ = (stmt);                                                        \
    if (err__ != cudaSuccess) {                                                        \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(err__)); \
      std::exit(EXIT_FAILURE);                                                         \
    }                                                                                  \
  } while (0)

constexpr int kWidth = 1920;
constexpr int kHeight = 1080;
constexpr int kPixels = kWidth * kHeight;

__global__ void rectify(const unsigned char* raw, unsigned char* out, const float2* table) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kPixels) return;
  int x = min(max(int(table[i].x), 0), kWidth - 1);
  int y = min(max(int(table[i].y), 0), kHeight - 1);
  out[i] = raw[y * kWidth + x];
}

class CalibrationCache {
 public:
  CalibrationCache() = default;
  ~CalibrationCache() {
    cudaDeviceSynchronize();
    for (auto& [model, t] : tables_) {
      cudaEventDestroy(t->uploaded);
      cudaFree(t->device);
      cudaFreeHost(t->host);
    }
  }
  CalibrationCache(const CalibrationCache&) = delete;
  CalibrationCache& operator=(const CalibrationCache&) = delete;

  // The table of a lens model, usable by work that is queued on stream from now on.
  const float2* get(int model, cudaStream_t stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto& slot = tables_[model];
    if (!slot) {
      slot = build(model);
      CHECK_CUDA(cudaMemcpyAsync(slot->device, slot->host, kPixels * sizeof(float2), cudaMemcpyHostToDevice, stream));
      CHECK_CUDA(cudaEventRecord(slot->uploaded, stream));
    } else {
      CHECK_CUDA(cudaStreamWaitEvent(stream, slot->uploaded, 0));
    }
    return slot->device;
  }

 private:
  struct Table {
    float2* host = nullptr;
    float2* device = nullptr;
    cudaEvent_t uploaded = nullptr;
  };

  static std::unique_ptr<Table> build(int model) {
    auto t = std::make_unique<Table>();
    CHECK_CUDA(cudaMallocHost(&t->host, kPixels * sizeof(float2)));
    CHECK_CUDA(cudaMalloc(&t->device, kPixels * sizeof(float2)));
    CHECK_CUDA(cudaEventCreateWithFlags(&t->uploaded, cudaEventDisableTiming));
    const float k1 = 1e-7f * float(model + 1);
    for (int y = 0; y < kHeight; ++y)
      for (int x = 0; x < kWidth; ++x) {
        float dx = x - kWidth * 0.5f, dy = y - kHeight * 0.5f;
        float s = 1.f + k1 * (dx * dx + dy * dy);
        t->host[y * kWidth + x] = make_float2(kWidth * 0.5f + s * dx, kHeight * 0.5f + s * dy);
      }
    return t;
  }

  std::mutex mutex_;
  std::map<int, std::unique_ptr<Table>> tables_;
};

class Camera {
 public:
  Camera(int id, CalibrationCache& cache) : id_(id), cache_(cache) {
    CHECK_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CHECK_CUDA(cudaMalloc(&raw_, kPixels));
    CHECK_CUDA(cudaMalloc(&rectified_, kPixels));
  }
  ~Camera() {
    cudaStreamSynchronize(stream_);
    cudaFree(rectified_);
    cudaFree(raw_);
    cudaStreamDestroy(stream_);
  }
  Camera(const Camera&) = delete;
  Camera& operator=(const Camera&) = delete;

  void run(int frames) {
    for (int f = 0; f < frames; ++f) {
      CHECK_CUDA(cudaMemsetAsync(raw_, (id_ * 31 + f) & 0xff, kPixels, stream_));
      const float2* table = cache_.get(0, stream_);
      rectify<<<(kPixels + 255) / 256, 256, 0, stream_>>>(raw_, rectified_, table);
      CHECK_CUDA(cudaGetLastError());
    }
    CHECK_CUDA(cudaStreamSynchronize(stream_));
  }

 private:
  int id_;
  CalibrationCache& cache_;
  cudaStream_t stream_ = nullptr;
  unsigned char *raw_ = nullptr, *rectified_ = nullptr;
};

int main() {
  CalibrationCache cache;
  std::vector<std::unique_ptr<Camera>> rig;
  for (int i = 0; i < 6; ++i) rig.push_back(std::make_unique<Camera>(i, cache));
  std::vector<std::thread> workers;
  for (auto& cam : rig) workers.emplace_back([&cam] { cam->run(30); });
  for (auto& w : workers) w.join();
  std::puts("rig processed");
  return 0;
}
