// Antenna simulation: a block of time steps is captured once per mesh refinement.
// Each plan keeps the memory that its graph refers to.
#include <cuda_runtime.h>

#include <cstddef>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace fdtd {

inline void ok(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

__global__ void updateH(const float* e, float* h, int n, float c) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n - 1) h[i] += c * (e[i + 1] - e[i]);
}

__global__ void updateE(float* e, const float* h, int n, float c, const float* drive) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n) e[i] += c * (h[i] - h[i - 1]);
  if (i == n / 2) e[i] += *drive;
}

class DeviceFloats {
 public:
  explicit DeviceFloats(std::size_t n) { ok(cudaMalloc(&data_, n * sizeof(float))); }
  DeviceFloats(DeviceFloats&& o) noexcept : data_(std::exchange(o.data_, nullptr)) {}
  DeviceFloats& operator=(DeviceFloats&&) = delete;
  ~DeviceFloats() { cudaFree(data_); }
  float* get() const { return data_; }

 private:
  float* data_ = nullptr;
};

class Plan {
 public:
  Plan(int cells, int steps, const float* drive, cudaStream_t stream)
      : cells_(cells), electric_(cells), magnetic_(cells) {
    reset(stream);
    cudaGraph_t graph = nullptr;
    ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    const int blocks = (cells + 255) / 256;
    for (int s = 0; s < steps; ++s) {
      updateH<<<blocks, 256, 0, stream>>>(electric_.get(), magnetic_.get(), cells, 0.5f);
      updateE<<<blocks, 256, 0, stream>>>(electric_.get(), magnetic_.get(), cells, 0.5f, drive);
    }
    ok(cudaStreamEndCapture(stream, &graph));
    const cudaError_t built = cudaGraphInstantiate(&exec_, graph, 0);
    cudaGraphDestroy(graph);
    ok(built);
  }
  ~Plan() { cudaGraphExecDestroy(exec_); }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  void reset(cudaStream_t stream) {
    ok(cudaMemsetAsync(electric_.get(), 0, cells_ * sizeof(float), stream));
    ok(cudaMemsetAsync(magnetic_.get(), 0, cells_ * sizeof(float), stream));
  }
  void replay(cudaStream_t stream) { ok(cudaGraphLaunch(exec_, stream)); }
  const float* field() const { return electric_.get(); }
  int cells() const { return cells_; }

 private:
  int cells_;
  cudaGraphExec_t exec_ = nullptr;
  DeviceFloats electric_;
  DeviceFloats magnetic_;
};

class Simulator {
 public:
  explicit Simulator(int stepsPerBlock) : steps_(stepsPerBlock), drive_(1) {
    ok(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    ok(cudaMallocHost(&hostDrive_, sizeof(float)));
  }
  ~Simulator() {
    cudaStreamSynchronize(stream_);
    plans_.clear();
    cudaFreeHost(hostDrive_);
    cudaStreamDestroy(stream_);
  }
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;

  // Field after as many blocks as there are drive values.
  std::vector<float> run(int cells, const std::vector<float>& drive) {
    Plan& plan = planFor(cells);
    plan.reset(stream_);
    for (float value : drive) {
      *hostDrive_ = value;
      ok(cudaMemcpyAsync(drive_.get(), hostDrive_, sizeof(float), cudaMemcpyHostToDevice, stream_));
      plan.replay(stream_);
      ok(cudaStreamSynchronize(stream_));
    }
    std::vector<float> field(plan.cells());
    ok(cudaMemcpyAsync(field.data(), plan.field(), field.size() * sizeof(float), cudaMemcpyDeviceToHost,
                       stream_));
    ok(cudaStreamSynchronize(stream_));
    return field;
  }

 private:
  Plan& planFor(int cells) {
    auto& plan = plans_[cells];
    if (!plan) plan = std::make_unique<Plan>(cells, steps_, drive_.get(), stream_);
    return *plan;
  }

  int steps_;
  DeviceFloats drive_;
  cudaStream_t stream_ = nullptr;
  float* hostDrive_ = nullptr;
  std::map<int, std::unique_ptr<Plan>> plans_;
};

float convergence(Simulator& simulator, const std::vector<float>& drive) {
  const auto coarse = simulator.run(1 << 14, drive);
  const auto fine = simulator.run(1 << 16, drive);
  return fine[fine.size() / 2] - coarse[coarse.size() / 2];
}

}  // namespace fdtd
