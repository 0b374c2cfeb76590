// Semi-Lagrangian advection on a lat/lon grid. The time step is captured in a
// graph; the solver keeps one scratch area that grows with the request.
#include <cuda_runtime.h>

#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>

namespace advect {

[[noreturn]] inline void fail(cudaError_t e, const char* expr) {
  throw std::runtime_error(std::string(expr) + " failed: " + cudaGetErrorString(e));
}
#define ADV_CHECK(x)                                     \
  if (cudaError_t adv_e = (x); adv_e != cudaSuccess) {   \
    ::advect::fail(adv_e, #x);                           \
  }

__global__ void departurePoints(const float2* wind, float2* dep, int n, float dt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) dep[i] = make_float2(-wind[i].x * dt, -wind[i].y * dt);
}

__global__ void interpolate(const float2* dep, const float* q, float* qNew, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int j = i + static_cast<int>(dep[i].x);
  j = j < 0 ? 0 : (j >= n ? n - 1 : j);
  qNew[i] = q[j];
}

__global__ void smooth(float* q, const float2* dep, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) q[i] *= 1.f - 0.001f * dep[i].y;
}

class Scratch {
 public:
  Scratch() = default;
  ~Scratch() { cudaFree(data_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  void* ensure(size_t bytes, cudaStream_t stream) {
    if (bytes > bytes_) {
      ADV_CHECK(cudaStreamSynchronize(stream));
      ADV_CHECK(cudaFree(data_));
      data_ = nullptr;
      ADV_CHECK(cudaMalloc(&data_, bytes));
      bytes_ = bytes;
    }
    return data_;
  }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

struct Level {
  const float2* wind;
  float* q;
  float* qNew;
  int points;
};

class Advector {
 public:
  Advector() { ADV_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Advector() {
    cudaStreamSynchronize(stream_);
    for (auto& kv : graphs_) cudaGraphExecDestroy(kv.second);
    cudaStreamDestroy(stream_);
  }
  Advector(const Advector&) = delete;
  Advector& operator=(const Advector&) = delete;

  // Steps one model level; the graph of a level is made at its first step.
  void step(int id, const Level& level, float dt) {
    auto it = graphs_.find(id);
    if (it == graphs_.end()) it = graphs_.emplace(id, record(level, dt)).first;
    ADV_CHECK(cudaGraphLaunch(it->second, stream_));
  }

  void wait() { ADV_CHECK(cudaStreamSynchronize(stream_)); }

 private:
  cudaGraphExec_t record(const Level& l, float dt) {
    void* work = scratch_.ensure(l.points * sizeof(float2), stream_);
    cudaGraph_t graph = nullptr;
    ADV_CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed));
    enqueue(l, static_cast<float2*>(work), dt);
    ADV_CHECK(cudaStreamEndCapture(stream_, &graph));
    cudaGraphExec_t exec = nullptr;
    ADV_CHECK(cudaGraphInstantiate(&exec, graph, 0));
    ADV_CHECK(cudaGraphDestroy(graph));
    return exec;
  }

  void enqueue(const Level& l, float2* dep, float dt) {
    const int grid = (l.points + 255) / 256;
    departurePoints<<<grid, 256, 0, stream_>>>(l.wind, dep, l.points, dt);
    interpolate<<<grid, 256, 0, stream_>>>(dep, l.q, l.qNew, l.points);
    smooth<<<grid, 256, 0, stream_>>>(l.qNew, dep, l.points);
    ADV_CHECK(cudaGetLastError());
  }

  cudaStream_t stream_ = nullptr;
  Scratch scratch_;
  std::map<int, cudaGraphExec_t> graphs_;
};

// A nested domain: coarse levels first, then the finer ones.
void stepNest(Advector& adv, const Level& coarse, const Level& fine, float dt, int steps) {
  for (int s = 0; s < steps; ++s) {
    adv.step(0, coarse, dt);
    adv.step(1, fine, dt * 0.5f);
    adv.step(1, fine, dt * 0.5f);
  }
  adv.wait();
}

}  // namespace advect
