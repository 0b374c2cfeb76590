// Full-waveform inversion: one worker per shot computes a gradient, the reducer stacks them.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#define FWI_TRY(call)                                                              \
  if (cudaError_t fwi_err = (call); fwi_err != cudaSuccess) {                      \
    std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(fwi_err)); \
    std::abort();                                                                  \
  }

namespace fwi {

__global__ void propagate(float* field, const float* velocity, int cells, int shot, int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= cells) return;
  float u = (i % 97 == shot) ? 1.f : 0.f;
  for (int s = 0; s < steps; ++s) u = u * 0.99f + velocity[i] * 1e-3f;
  field[i] = u;
}

__global__ void correlateAdjoint(const float* field, float* gradient, int cells) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < cells) gradient[i] = -2.f * field[i] * field[i];
}

__global__ void stack(float* total, const float* gradient, int cells, float weight) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < cells) total[i] += weight * gradient[i];
}

struct GradientMessage {
  int shot;
  const float* gradient;
  cudaEvent_t ready;
};

using GradientSink = std::function<void(const GradientMessage&)>;

inline int gridFor(int cells) { return (cells + 255) / 256; }

// Sums the shots' gradients in the order in which they arrive.
class Reducer {
 public:
  explicit Reducer(int cells) : cells_(cells) {
    FWI_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    FWI_TRY(cudaMalloc(&total_, cells * sizeof(float)));
    FWI_TRY(cudaMemsetAsync(total_, 0, cells * sizeof(float), stream_));
  }
  ~Reducer() {
    cudaStreamSynchronize(stream_);
    cudaFree(total_);
    cudaStreamDestroy(stream_);
  }
  Reducer(const Reducer&) = delete;

  void accept(const GradientMessage& msg) {
    std::lock_guard<std::mutex> lock(mutex_);
    FWI_TRY(cudaStreamWaitEvent(stream_, msg.ready, 0));
    stack<<<gridFor(cells_), 256, 0, stream_>>>(total_, msg.gradient, cells_, 1.f);
    FWI_TRY(cudaGetLastError());
    ++stacked_;
  }

  std::vector<float> result() {
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<float> host(cells_);
    FWI_TRY(cudaMemcpyAsync(host.data(), total_, cells_ * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    FWI_TRY(cudaStreamSynchronize(stream_));
    return host;
  }

 private:
  int cells_;
  int stacked_ = 0;
  cudaStream_t stream_{};
  float* total_ = nullptr;
  std::mutex mutex_;
};

class ShotWorker {
 public:
  ShotWorker(int shot, int cells, const float* velocity, GradientSink sink)
      : shot_(shot), cells_(cells), velocity_(velocity), sink_(std::move(sink)) {
    FWI_TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    FWI_TRY(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming));
    FWI_TRY(cudaMalloc(&field_, cells * sizeof(float)));
    FWI_TRY(cudaMalloc(&gradient_, cells * sizeof(float)));
  }
  ~ShotWorker() {
    cudaStreamSynchronize(stream_);
    cudaFree(gradient_);
    cudaFree(field_);
    cudaEventDestroy(ready_);
    cudaStreamDestroy(stream_);
  }
  ShotWorker(const ShotWorker&) = delete;

  void run() {
    propagate<<<gridFor(cells_), 256, 0, stream_>>>(field_, velocity_, cells_, shot_, 400);
    correlateAdjoint<<<gridFor(cells_), 256, 0, stream_>>>(field_, gradient_, cells_);
    FWI_TRY(cudaGetLastError());
    FWI_TRY(cudaEventRecord(ready_, stream_));
    sink_(GradientMessage{shot_, gradient_, ready_});
  }

 private:
  int shot_;
  int cells_;
  const float* velocity_;
  GradientSink sink_;
  cudaStream_t stream_{};
  cudaEvent_t ready_{};
  float *field_ = nullptr, *gradient_ = nullptr;
};

}  // namespace fwi

int main() {
  using namespace fwi;
  constexpr int kCells = 1 << 20;
  constexpr int kShots = 4;

  std::vector<float> model(kCells, 1500.f);
  float* velocity = nullptr;
  FWI_TRY(cudaMalloc(&velocity, kCells * sizeof(float)));
  FWI_TRY(cudaMemcpy(velocity, model.data(), kCells * sizeof(float), cudaMemcpyHostToDevice));
  FWI_TRY(cudaDeviceSynchronize());

  {
    std::vector<std::unique_ptr<ShotWorker>> workers;
    Reducer reducer(kCells);
    GradientSink sink = [&reducer](const GradientMessage& msg) { reducer.accept(msg); };
    for (int s = 0; s < kShots; ++s) workers.push_back(std::make_unique<ShotWorker>(s, kCells, velocity, sink));

    std::vector<std::thread> threads;
    for (auto& w : workers) threads.emplace_back([worker = w.get()] { worker->run(); });
    for (auto& t : threads) t.join();

    std::vector<float> gradient = reducer.result();
    std::printf("gradient[0] = %g\n", gradient[0]);
  }
  FWI_TRY(cudaFree(velocity));
  return 0;
}
