// Distributed path tracer: scene bricks are streamed to all GPUs through one pool of page-locked slabs.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <vector>

#define REQUIRE(x)                                                              \
  do {                                                                          \
    cudaError_t r_ = (x);                                                       \
    if (r_ != cudaSuccess) {                                                    \
      std::fprintf(stderr, "%s -> %s\n", #x, cudaGetErrorString(r_));           \
      std::abort();                                                             \
    }                                                                           \
  } while (0)

constexpr size_t kBrickFloats = 64 * 64 * 64;
constexpr size_t kBrickBytes = kBrickFloats * sizeof(float);

__global__ void accumulate_density(const float* brick, float* film, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) film[i] += brick[i] * 0.125f;
}

struct Slab {
  float* data = nullptr;
  std::vector<cudaEvent_t> drained;
  int last_device = -1;
};

class SlabPool {
 public:
  SlabPool(int slabs, int devices) {
    for (int i = 0; i < slabs; ++i) {
      auto s = std::make_unique<Slab>();
      REQUIRE(cudaHostAlloc(&s->data, kBrickBytes, cudaHostAllocPortable));
      s->drained.resize(devices);
      for (int d = 0; d < devices; ++d) {
        REQUIRE(cudaSetDevice(d));
        REQUIRE(cudaEventCreateWithFlags(&s->drained[d], cudaEventDisableTiming));
      }
      idle_.push_back(s.get());
      all_.push_back(std::move(s));
    }
  }
  ~SlabPool() {
    for (auto& s : all_) {
      for (cudaEvent_t e : s->drained) {
        cudaEventSynchronize(e);
        cudaEventDestroy(e);
      }
      cudaFreeHost(s->data);
    }
  }
  SlabPool(const SlabPool&) = delete;
  SlabPool& operator=(const SlabPool&) = delete;

  // A slab that the host may fill.
  Slab* take() {
    Slab* s = idle_.front();
    idle_.pop_front();
    if (s->last_device >= 0) REQUIRE(cudaEventSynchronize(s->drained[s->last_device]));
    return s;
  }

  // Called after the last copy out of the slab was queued on stream, a stream of the given device.
  void put_back(Slab* s, int device, cudaStream_t stream) {
    cudaSetDevice(device);
    REQUIRE(cudaEventRecord(s->drained[device], stream));
    s->last_device = device;
    idle_.push_back(s);
  }

 private:
  std::vector<std::unique_ptr<Slab>> all_;
  std::deque<Slab*> idle_;
};

class Worker {
 public:
  explicit Worker(int device) : device_(device) {
    REQUIRE(cudaSetDevice(device_));
    REQUIRE(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    REQUIRE(cudaMalloc(&brick_, kBrickBytes));
    REQUIRE(cudaMalloc(&film_, kBrickBytes));
    REQUIRE(cudaMemsetAsync(film_, 0, kBrickBytes, stream_));
  }
  ~Worker() {
    cudaSetDevice(device_);
    cudaStreamSynchronize(stream_);
    cudaFree(film_);
    cudaFree(brick_);
    cudaStreamDestroy(stream_);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void process(SlabPool& pool, int brick_id) {
    Slab* slab = pool.take();
    load_brick(slab->data, brick_id);
    REQUIRE(cudaSetDevice(device_));
    REQUIRE(cudaMemcpyAsync(brick_, slab->data, kBrickBytes, cudaMemcpyHostToDevice, stream_));
    pool.put_back(slab, device_, stream_);
    accumulate_density<<<kBrickFloats / 256, 256, 0, stream_>>>(brick_, film_, int(kBrickFloats));
  }

  void finish() {
    REQUIRE(cudaSetDevice(device_));
    REQUIRE(cudaStreamSynchronize(stream_));
  }

 private:
  static void load_brick(float* dst, int id) {
    for (size_t i = 0; i < kBrickFloats; ++i) dst[i] = float((id * 2654435761u + i) & 0xffff) / 65536.f;
  }

  int device_;
  cudaStream_t stream_ = nullptr;
  float* brick_ = nullptr;
  float* film_ = nullptr;
};

int main() {
  int devices = 0;
  REQUIRE(cudaGetDeviceCount(&devices));
  SlabPool pool(4, devices);
  std::vector<std::unique_ptr<Worker>> workers;
  for (int d = 0; d < devices; ++d) workers.push_back(std::make_unique<Worker>(d));
  for (int brick = 0; brick < 256; ++brick) workers[brick % devices]->process(pool, brick);
  for (auto& w : workers) w->finish();
  std::printf("rendered on %d devices\n", devices);
  return 0;
}
