// Conveyor between two GPUs: strips of a mosaic are pushed into a ring on the peer; 32-bit counters
// in mapped host memory carry "filled" and "drained" between the streams.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define RUN(e)                                                                   \
  do {                                                                           \
    cudaError_t r_ = (e);                                                        \
    if (r_ != cudaSuccess) {                                                     \
      std::fprintf(stderr, "%s: %s\n", #e, cudaGetErrorString(r_));              \
      std::exit(1);                                                              \
    }                                                                            \
  } while (0)
#define RUN_DRV(e)                                                               \
  do {                                                                           \
    CUresult r_ = (e);                                                           \
    if (r_ != CUDA_SUCCESS) {                                                    \
      std::fprintf(stderr, "%s: %d\n", #e, static_cast<int>(r_));                \
      std::exit(1);                                                              \
    }                                                                            \
  } while (0)

__global__ void warp_strip(float* strip, int n, float shift) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) strip[i] = __sinf(i * 0.001f + shift);
}

__global__ void blend_strip(float* mosaic, const float* strip, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) mosaic[i] = 0.5f * (mosaic[i] + strip[i]);
}

class OnDevice {
 public:
  explicit OnDevice(int d) {
    RUN(cudaGetDevice(&old_));
    RUN(cudaSetDevice(d));
  }
  ~OnDevice() { cudaSetDevice(old_); }

 private:
  int old_ = 0;
};

struct Conveyor {
  static constexpr std::uint32_t kDepth = 4;

  Conveyor(int device, int strip) : strip(strip) {
    OnDevice d(device);
    RUN(cudaMalloc(&ring, sizeof(float) * strip * kDepth));
    RUN(cudaHostAlloc(&filled, 2 * sizeof(std::uint32_t),
                      cudaHostAllocPortable | cudaHostAllocMapped));
    drained = filled + 1;
    *filled = *drained = 0;
  }
  ~Conveyor() {
    cudaFreeHost(filled);
    cudaFree(ring);
  }
  Conveyor(const Conveyor&) = delete;
  Conveyor& operator=(const Conveyor&) = delete;

  float* slot(std::uint32_t i) const { return ring + static_cast<size_t>(i % kDepth) * strip; }
  static void post(cudaStream_t s, std::uint32_t* counter, std::uint32_t value) {
    RUN_DRV(cuStreamWriteValue32(s, reinterpret_cast<CUdeviceptr>(counter), value,
                                 CU_STREAM_WRITE_VALUE_DEFAULT));
  }
  static void await(cudaStream_t s, std::uint32_t* counter, std::uint32_t value) {
    RUN_DRV(cuStreamWaitValue32(s, reinterpret_cast<CUdeviceptr>(counter), value,
                                CU_STREAM_WAIT_VALUE_GEQ));
  }

  int strip;
  float* ring = nullptr;
  std::uint32_t *filled = nullptr, *drained = nullptr;
};

class Feeder {
 public:
  Feeder(int device, int peer, int strip) : device_(device), peer_(peer), n_(strip) {
    OnDevice d(device_);
    RUN(cudaStreamCreateWithFlags(&render_, cudaStreamNonBlocking));
    RUN(cudaStreamCreateWithFlags(&link_, cudaStreamNonBlocking));
    RUN(cudaEventCreateWithFlags(&rendered_, cudaEventDisableTiming));
    RUN(cudaEventCreateWithFlags(&sent_, cudaEventDisableTiming));
    RUN(cudaMalloc(&strip_, sizeof(float) * n_));
  }
  ~Feeder() {
    OnDevice d(device_);
    cudaStreamSynchronize(link_);
    cudaStreamSynchronize(render_);
    cudaFree(strip_);
    cudaEventDestroy(sent_);
    cudaEventDestroy(rendered_);
    cudaStreamDestroy(link_);
    cudaStreamDestroy(render_);
  }

  void feed(std::uint32_t i, const Conveyor& c) {
    OnDevice d(device_);
    RUN(cudaStreamWaitEvent(render_, sent_, 0));
    warp_strip<<<(n_ + 255) / 256, 256, 0, render_>>>(strip_, n_, 0.1f * i);
    RUN(cudaEventRecord(rendered_, render_));
    RUN(cudaStreamWaitEvent(link_, rendered_, 0));
    if (i >= Conveyor::kDepth) Conveyor::await(link_, c.drained, i - Conveyor::kDepth + 1);
    RUN(cudaMemcpyPeerAsync(c.slot(i), peer_, strip_, device_, sizeof(float) * n_, link_));
    Conveyor::post(link_, c.filled, i + 1);
    RUN(cudaEventRecord(sent_, link_));
  }

 private:
  int device_, peer_, n_;
  cudaStream_t render_{}, link_{};
  cudaEvent_t rendered_{}, sent_{};
  float* strip_ = nullptr;
};

class Mosaic {
 public:
  Mosaic(int device, int strip) : device_(device), n_(strip) {
    OnDevice d(device_);
    RUN(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    RUN(cudaMalloc(&pixels_, sizeof(float) * n_));
    RUN(cudaMemsetAsync(pixels_, 0, sizeof(float) * n_, stream_));
  }
  ~Mosaic() {
    OnDevice d(device_);
    cudaStreamSynchronize(stream_);
    cudaFree(pixels_);
    cudaStreamDestroy(stream_);
  }
  void blend(std::uint32_t i, const Conveyor& c) {
    OnDevice d(device_);
    Conveyor::await(stream_, c.filled, i + 1);
    blend_strip<<<(n_ + 255) / 256, 256, 0, stream_>>>(pixels_, c.slot(i), n_);
    Conveyor::post(stream_, c.drained, i + 1);
  }

 private:
  int device_, n_;
  cudaStream_t stream_{};
  float* pixels_ = nullptr;
};

int main() {
  constexpr int kStrip = 1 << 20;
  RUN_DRV(cuInit(0));
  Conveyor conveyor(0, kStrip);
  {
    Feeder feeder(1, 0, kStrip);
    Mosaic mosaic(0, kStrip);
    for (std::uint32_t i = 0; i < 100; ++i) {
      feeder.feed(i, conveyor);
      mosaic.blend(i, conveyor);
    }
  }
  return 0;
}
