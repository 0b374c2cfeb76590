// Sensor samples are written into a ring of pinned slots and streamed to the GPU,
// where a running mean and variance is kept.
#include <cuda_runtime.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>

namespace telemetry {

#define CHECK(x)                                                               \
  do {                                                                         \
    cudaError_t st = (x);                                                      \
    if (st != cudaSuccess) {                                                   \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(st)); \
      std::abort();                                                            \
    }                                                                          \
  } while (0)

constexpr int kSamples = 4096;
constexpr int kSlots = 3;

struct Moments { double n, sum, sq; };

__global__ void accumulate(const float* x, int n, Moments* m) {
  __shared__ double sum[256], sq[256];
  double s = 0, q = 0;
  for (int i = threadIdx.x; i < n; i += 256) { s += x[i]; q += double(x[i]) * x[i]; }
  sum[threadIdx.x] = s;
  sq[threadIdx.x] = q;
  __syncthreads();
  for (int d = 128; d > 0; d >>= 1) {
    if (threadIdx.x < d) { sum[threadIdx.x] += sum[threadIdx.x + d]; sq[threadIdx.x] += sq[threadIdx.x + d]; }
    __syncthreads();
  }
  if (threadIdx.x == 0) { m->n += n; m->sum += sum[0]; m->sq += sq[0]; }
}

class Stage {
 public:
  Stage() {
    CHECK(cudaMallocHost(reinterpret_cast<void**>(&host_), kSamples * sizeof(float)));
    CHECK(cudaMalloc(reinterpret_cast<void**>(&dev_), kSamples * sizeof(float)));
    CHECK(cudaEventCreateWithFlags(&copied_, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&consumed_, cudaEventDisableTiming));
  }
  ~Stage() {
    cudaEventSynchronize(copied_);
    cudaEventSynchronize(consumed_);
    cudaEventDestroy(copied_);
    cudaEventDestroy(consumed_);
    cudaFree(dev_);
    cudaFreeHost(host_);
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  // Host buffer to fill. In the first lap the event has no record yet and is complete.
  float* open() {
    CHECK(cudaEventSynchronize(copied_));
    return host_;
  }

  void send(cudaStream_t upload) {
    CHECK(cudaStreamWaitEvent(upload, consumed_, 0));
    CHECK(cudaMemcpyAsync(dev_, host_, kSamples * sizeof(float), cudaMemcpyHostToDevice, upload));
    CHECK(cudaEventRecord(copied_, upload));
  }

  void use(cudaStream_t compute, Moments* m) {
    CHECK(cudaStreamWaitEvent(compute, copied_, 0));
    accumulate<<<1, 256, 0, compute>>>(dev_, kSamples, m);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(consumed_, compute));
  }

 private:
  float* host_ = nullptr;
  float* dev_ = nullptr;
  cudaEvent_t copied_ = nullptr, consumed_ = nullptr;
};

class Recorder {
 public:
  Recorder() {
    CHECK(cudaStreamCreateWithFlags(&upload_, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
    CHECK(cudaMalloc(reinterpret_cast<void**>(&moments_), sizeof(Moments)));
    CHECK(cudaMemsetAsync(moments_, 0, sizeof(Moments), compute_));
  }
  ~Recorder() {
    cudaStreamSynchronize(upload_);
    cudaStreamSynchronize(compute_);
    cudaFree(moments_);
    cudaStreamDestroy(upload_);
    cudaStreamDestroy(compute_);
  }

  template <class Source>
  void push(Source&& next) {
    Stage& s = stages_[turn_++ % kSlots];
    float* out = s.open();
    for (int i = 0; i < kSamples; ++i) out[i] = next();
    s.send(upload_);
    s.use(compute_, moments_);
  }

  Moments moments() const {
    Moments m;
    CHECK(cudaMemcpyAsync(&m, moments_, sizeof(m), cudaMemcpyDeviceToHost, compute_));
    CHECK(cudaStreamSynchronize(compute_));
    return m;
  }

 private:
  std::array<Stage, kSlots> stages_;
  unsigned turn_ = 0;
  cudaStream_t upload_ = nullptr, compute_ = nullptr;
  Moments* moments_ = nullptr;
};

}  // namespace telemetry

int main() {
  std::mt19937 rng(7);
  std::normal_distribution<float> noise(3.f, 2.f);
  telemetry::Recorder rec;
  for (int i = 0; i < 500; ++i) rec.push([&] { return noise(rng); });
  auto m = rec.moments();
  std::printf("mean %.4f var %.4f\n", m.sum / m.n, m.sq / m.n - (m.sum / m.n) * (m.sum / m.n));
}
