#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

namespace pipe {

#define PIPE_CALL(code)                                                          \
  do {                                                                           \
    cudaError_t status = (code);                                                 \
    if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status)); \
  } while (0)

struct PinnedDeleter {
  void operator()(void* p) const { cudaFreeHost(p); }
};
struct DeviceDeleter {
  void operator()(void* p) const { cudaFree(p); }
};
template <typename T>
using pinned_ptr = std::unique_ptr<T[], PinnedDeleter>;
template <typename T>
using device_ptr = std::unique_ptr<T[], DeviceDeleter>;

template <typename T>
pinned_ptr<T> make_pinned(size_t n) {
  void* p = nullptr;
  PIPE_CALL(cudaMallocHost(&p, n * sizeof(T)));
  return pinned_ptr<T>(static_cast<T*>(p));
}
template <typename T>
device_ptr<T> make_device(size_t n) {
  void* p = nullptr;
  PIPE_CALL(cudaMalloc(&p, n * sizeof(T)));
  return device_ptr<T>(static_cast<T*>(p));
}

struct SampleDesc {
  float m[6];
  int w, h;
};

__global__ void warp_affine(const uint8_t* in, uint8_t* out, const SampleDesc* desc, int pitch) {
  const SampleDesc d = desc[blockIdx.z];
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= d.w || y >= d.h) return;
  int sx = int(d.m[0] * x + d.m[1] * y + d.m[2]), sy = int(d.m[3] * x + d.m[4] * y + d.m[5]);
  size_t base = size_t(blockIdx.z) * pitch * pitch;
  bool inside = sx >= 0 && sy >= 0 && sx < d.w && sy < d.h;
  out[base + y * pitch + x] = inside ? in[base + sy * pitch + sx] : 0;
}

class Operator {
 public:
  virtual ~Operator() = default;
  virtual void Setup() = 0;
  virtual void Run(cudaStream_t stream) = 0;
};

class WarpAffine final : public Operator {
 public:
  WarpAffine(int batch, int side)
      : batch_(batch), side_(side),
        staging_(make_pinned<SampleDesc>(batch)),
        desc_(make_device<SampleDesc>(batch)),
        in_(make_device<uint8_t>(size_t(batch) * side * side)),
        out_(make_device<uint8_t>(size_t(batch) * side * side)) {
    PIPE_CALL(cudaMemset(in_.get(), 0x40, size_t(batch) * side * side));
    PIPE_CALL(cudaDeviceSynchronize());
  }

  void Setup() override {
    std::uniform_real_distribution<float> jitter(-0.1f, 0.1f);
    for (int i = 0; i < batch_; ++i) {
      SampleDesc& d = staging_[i];
      const float c = 1.f + jitter(rng_), s = jitter(rng_);
      const float m[6] = {c, -s, 0.f, s, c, 0.f};
      std::memcpy(d.m, m, sizeof m);
      d.w = d.h = side_;
    }
  }

  void Run(cudaStream_t stream) override {
    PIPE_CALL(cudaMemcpyAsync(desc_.get(), staging_.get(), batch_ * sizeof(SampleDesc), cudaMemcpyHostToDevice, stream));
    dim3 block(32, 8), grid((side_ + 31) / 32, (side_ + 7) / 8, batch_);
    warp_affine<<<grid, block, 0, stream>>>(in_.get(), out_.get(), desc_.get(), side_);
    PIPE_CALL(cudaGetLastError());
  }

 private:
  int batch_, side_;
  std::mt19937 rng_{7};
  pinned_ptr<SampleDesc> staging_;
  device_ptr<SampleDesc> desc_;
  device_ptr<uint8_t> in_, out_;
};

class Executor {
 public:
  static constexpr int kDepth = 2;

  Executor() {
    PIPE_CALL(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    for (auto& e : finished_) PIPE_CALL(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  }
  ~Executor() {
    cudaStreamSynchronize(stream_);
    for (auto& e : finished_) cudaEventDestroy(e);
    cudaStreamDestroy(stream_);
  }

  void Add(std::unique_ptr<Operator> op) { ops_.push_back(std::move(op)); }

  void RunCPU() {
    PIPE_CALL(cudaEventSynchronize(finished_[(iteration_ + kDepth - 1) % kDepth]));
    for (auto& op : ops_) op->Setup();
  }
  void RunGPU() {
    for (auto& op : ops_) op->Run(stream_);
    PIPE_CALL(cudaEventRecord(finished_[iteration_ % kDepth], stream_));
    ++iteration_;
  }
  void Drain() { PIPE_CALL(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_{};
  std::array<cudaEvent_t, kDepth> finished_{};
  std::vector<std::unique_ptr<Operator>> ops_;
  uint64_t iteration_ = 0;
};

}  // namespace pipe

int main() {
  pipe::Executor ex;
  ex.Add(std::make_unique<pipe::WarpAffine>(64, 512));
  ex.Add(std::make_unique<pipe::WarpAffine>(64, 256));
  for (int i = 0; i < 500; ++i) {
    ex.RunCPU();
    ex.RunGPU();
  }
  ex.Drain();
  std::puts("done");
}
