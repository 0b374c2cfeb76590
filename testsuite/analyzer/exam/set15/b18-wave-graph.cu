#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

// One-dimensional acoustic wave propagation along a borehole; the time step is a graph.

#define SEIS_CHECK(x)                                                      \
  do {                                                                     \
    cudaError_t err__ = (x);                                               \
    if (err__ != cudaSuccess) {                                            \
      std::fprintf(stderr, "%s -> %s\n", #x, cudaGetErrorString(err__));   \
      std::abort();                                                        \
    }                                                                      \
  } while (0)

__global__ void laplace_kernel(const float* u, float* lap, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) lap[i] = (i > 0 && i + 1 < n) ? u[i - 1] - 2.f * u[i] + u[i + 1] : 0.f;
}

__global__ void leapfrog_kernel(float* u, float* u_prev, const float* lap, float c2, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float next = 2.f * u[i] - u_prev[i] + c2 * lap[i];
  u_prev[i] = u[i];
  u[i] = next;
}

__global__ void taper_kernel(const float* wavelet, float* tapered, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) tapered[i] = wavelet[i] * expf(-1e-4f * i);
}

__global__ void inject_kernel(float* u, const float* tapered, int n, int at, int cells) {
  float sum = 0.f;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += tapered[i];
  if (at < cells) atomicAdd(&u[at], sum);
}

class Workspace {
 public:
  explicit Workspace(cudaStream_t stream) : stream_(stream) {}
  ~Workspace() { release(); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  // Returns true if the memory has moved.
  bool reserve(size_t floats) {
    if (floats <= capacity_) return false;
    release();
    SEIS_CHECK(cudaMalloc(&data_, floats * sizeof(float)));
    capacity_ = floats;
    return true;
  }
  float* data() const { return data_; }

 private:
  void release() {
    if (!data_) return;
    SEIS_CHECK(cudaStreamSynchronize(stream_));
    SEIS_CHECK(cudaFree(data_));
    data_ = nullptr;
    capacity_ = 0;
  }

  cudaStream_t stream_;
  float* data_ = nullptr;
  size_t capacity_ = 0;
};

class BoreholeModel {
 public:
  BoreholeModel(int cells, float courant, cudaStream_t stream)
      : cells_(cells), c2_(courant * courant), stream_(stream), workspace_(stream) {
    for (float** p : {&u_, &u_prev_}) {
      SEIS_CHECK(cudaMalloc(p, cells_ * sizeof(float)));
      SEIS_CHECK(cudaMemsetAsync(*p, 0, cells_ * sizeof(float), stream_));
    }
    workspace_.reserve(cells_);
  }
  ~BoreholeModel() {
    cudaStreamSynchronize(stream_);
    drop_graph();
    cudaFree(u_prev_);
    cudaFree(u_);
  }
  BoreholeModel(const BoreholeModel&) = delete;
  BoreholeModel& operator=(const BoreholeModel&) = delete;

  void inject_source(const std::vector<float>& wavelet, int at) {
    const int n = static_cast<int>(wavelet.size());
    workspace_.reserve(2 * wavelet.size());
    float* raw = workspace_.data();
    float* tapered = raw + n;
    SEIS_CHECK(cudaMemcpyAsync(raw, wavelet.data(), n * sizeof(float), cudaMemcpyHostToDevice, stream_));
    taper_kernel<<<(n + 255) / 256, 256, 0, stream_>>>(raw, tapered, n);
    inject_kernel<<<1, 256, 0, stream_>>>(u_, tapered, n, at, cells_);
    SEIS_CHECK(cudaGetLastError());
    SEIS_CHECK(cudaStreamSynchronize(stream_));
  }

  void advance(int steps) {
    if (!exec_) capture();
    for (int s = 0; s < steps; ++s) SEIS_CHECK(cudaGraphLaunch(exec_, stream_));
  }

  std::vector<float> wavefield() {
    std::vector<float> host(cells_);
    SEIS_CHECK(cudaMemcpyAsync(host.data(), u_, cells_ * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    SEIS_CHECK(cudaStreamSynchronize(stream_));
    return host;
  }

 private:
  void capture() {
    cudaGraph_t graph;
    const unsigned blocks = (cells_ + 255) / 256;
    SEIS_CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    laplace_kernel<<<blocks, 256, 0, stream_>>>(u_, workspace_.data(), cells_);
    leapfrog_kernel<<<blocks, 256, 0, stream_>>>(u_, u_prev_, workspace_.data(), c2_, cells_);
    SEIS_CHECK(cudaStreamEndCapture(stream_, &graph));
    SEIS_CHECK(cudaGraphInstantiate(&exec_, graph, 0));
    SEIS_CHECK(cudaGraphDestroy(graph));
  }

  void drop_graph() {
    if (exec_) cudaGraphExecDestroy(exec_);
    exec_ = nullptr;
  }

  int cells_;
  float c2_;
  cudaStream_t stream_;
  Workspace workspace_;
  cudaGraphExec_t exec_ = nullptr;
  float* u_ = nullptr;
  float* u_prev_ = nullptr;
};

int main() {
  cudaStream_t stream;
  SEIS_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  {
    BoreholeModel model(4096, 0.6f, stream);
    std::vector<float> wavelet(1000);
    for (size_t i = 0; i < wavelet.size(); ++i) wavelet[i] = std::sin(0.05f * i);
    model.inject_source(wavelet, 100);
    model.advance(200);
    std::vector<float> sweep(20000);
    for (size_t i = 0; i < sweep.size(); ++i) sweep[i] = std::sin(1e-6f * i * i);
    model.inject_source(sweep, 2048);
    model.advance(200);
    std::printf("u[100] = %f\n", model.wavefield()[100]);
  }
  SEIS_CHECK(cudaStreamDestroy(stream));
  return 0;
}
