// Lens tables for the rectification stage. A table travels to a GPU the first time that any
// camera on this GPU asks for it; the cameras run on streams of their own.
#include <cuda_runtime.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rectify {

inline void cuda_throw(cudaError_t e, const char* what) {
  if (e != cudaSuccess)
    throw std::runtime_error(std::string(what) + " failed: " + cudaGetErrorString(e));
}
#define RCT(call) ::rectify::cuda_throw((call), #call)

struct LensModel {
  int width = 0, height = 0;
  std::vector<float2> offsets;  // width * height
};

class LensTable {
 public:
  explicit LensTable(const LensModel& m) : bytes_(m.offsets.size() * sizeof(float2)) {
    RCT(cudaMallocHost(&host_, bytes_));
    std::memcpy(host_, m.offsets.data(), bytes_);
    int n = 0;
    RCT(cudaGetDeviceCount(&n));
    for (int i = 0; i < n; ++i) per_device_.push_back(std::make_unique<Copy>());
  }

  ~LensTable() {
    int current = 0;
    cudaGetDevice(&current);
    for (std::size_t d = 0; d < per_device_.size(); ++d) {
      Copy& c = *per_device_[d];
      if (!c.data) continue;
      cudaSetDevice(static_cast<int>(d));
      cudaDeviceSynchronize();
      cudaEventDestroy(c.uploaded);
      cudaFree(c.data);
    }
    cudaSetDevice(current);
    cudaFreeHost(host_);
  }

  LensTable(const LensTable&) = delete;
  LensTable& operator=(const LensTable&) = delete;

  // Address of the table on the current device, usable by work queued on `s` after the call.
  const float2* on_device(cudaStream_t s) const {
    int device = 0;
    RCT(cudaGetDevice(&device));
    Copy& c = *per_device_.at(device);
    if (c.complete.load(std::memory_order_acquire)) return c.data;

    std::lock_guard<std::mutex> lk(c.mutex);
    if (!c.data) {
      RCT(cudaEventCreateWithFlags(&c.uploaded, cudaEventDisableTiming));
      upload(c, s);
      return c.data;
    }
    cudaError_t state = cudaEventQuery(c.uploaded);
    if (state == cudaSuccess) {
      c.complete.store(true, std::memory_order_release);
    } else if (state == cudaErrorNotReady) {
      RCT(cudaStreamWaitEvent(s, c.uploaded, 0));
    } else {
      RCT(state);
    }
    return c.data;
  }

 private:
  struct Copy {
    std::mutex mutex;
    std::atomic<bool> complete{false};
    cudaEvent_t uploaded{};
    float2* data = nullptr;
  };

  void upload(Copy& c, cudaStream_t s) const {
    RCT(cudaMalloc(&c.data, bytes_));
    RCT(cudaMemcpyAsync(c.data, host_, bytes_, cudaMemcpyHostToDevice, s));
    RCT(cudaEventRecord(c.uploaded, s));
  }

  std::size_t bytes_;
  float2* host_ = nullptr;
  std::vector<std::unique_ptr<Copy>> per_device_;
};

__global__ void remap(const uchar4* src, uchar4* dst, const float2* offsets, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float2 o = offsets[y * w + x];
  int sx = min(max(static_cast<int>(x + o.x), 0), w - 1);
  int sy = min(max(static_cast<int>(y + o.y), 0), h - 1);
  dst[y * w + x] = src[sy * w + sx];
}

class Camera {
 public:
  Camera(std::shared_ptr<const LensTable> lens, int w, int h) : lens_(std::move(lens)), w_(w), h_(h) {
    RCT(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    RCT(cudaMalloc(&raw_, bytes()));
    RCT(cudaMalloc(&flat_, bytes()));
  }
  ~Camera() {
    cudaStreamSynchronize(stream_);
    cudaFree(flat_);
    cudaFree(raw_);
    cudaStreamDestroy(stream_);
  }
  Camera(const Camera&) = delete;
  Camera& operator=(const Camera&) = delete;

  // Page-locked images.
  void enqueue(const uchar4* in, uchar4* out) {
    RCT(cudaMemcpyAsync(raw_, in, bytes(), cudaMemcpyHostToDevice, stream_));
    const float2* table = lens_->on_device(stream_);
    dim3 b(32, 8), g((w_ + 31) / 32, (h_ + 7) / 8);
    remap<<<g, b, 0, stream_>>>(raw_, flat_, table, w_, h_);
    RCT(cudaGetLastError());
    RCT(cudaMemcpyAsync(out, flat_, bytes(), cudaMemcpyDeviceToHost, stream_));
  }
  void wait() { RCT(cudaStreamSynchronize(stream_)); }

 private:
  std::size_t bytes() const { return static_cast<std::size_t>(w_) * h_ * sizeof(uchar4); }
  std::shared_ptr<const LensTable> lens_;
  int w_, h_;
  cudaStream_t stream_{};
  uchar4 *raw_ = nullptr, *flat_ = nullptr;
};

// One image of each camera of a rig whose lenses are all of one model.
void rectify_rig(const LensModel& model, const std::vector<const uchar4*>& in,
                 const std::vector<uchar4*>& out) {
  auto lens = std::make_shared<const LensTable>(model);
  std::vector<std::unique_ptr<Camera>> rig;
  for (std::size_t i = 0; i < in.size(); ++i)
    rig.push_back(std::make_unique<Camera>(lens, model.width, model.height));
  for (std::size_t i = 0; i < in.size(); ++i) rig[i]->enqueue(in[i], out[i]);
  for (auto& c : rig) c->wait();
}

}  // namespace rectify
