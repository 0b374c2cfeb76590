// Periodic east/west boundary exchange for a shallow-water solver.  The two edge columns are packed
// concurrently on their own streams and written back into the ghost columns on the solver stream.
#include <cuda_runtime.h>

#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#define CUDA_TRY(expr)                                                                        \
  do {                                                                                        \
    cudaError_t status_ = (expr);                                                             \
    if (status_ != cudaSuccess)                                                               \
      throw std::runtime_error(std::string(#expr) + ": " + cudaGetErrorString(status_));      \
  } while (0)

enum Side { West = 0, East = 1 };

class Stream {
 public:
  Stream() { CUDA_TRY(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(s_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return s_; }

 private:
  cudaStream_t s_{};
};

class Event {
 public:
  Event() { CUDA_TRY(cudaEventCreateWithFlags(&e_, cudaEventDisableTiming)); }
  ~Event() { cudaEventDestroy(e_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(cudaStream_t s) { CUDA_TRY(cudaEventRecord(e_, s)); }
  void block(cudaStream_t s) const { CUDA_TRY(cudaStreamWaitEvent(s, e_, 0)); }

 private:
  cudaEvent_t e_{};
};

class DeviceArray {
 public:
  explicit DeviceArray(size_t n) { CUDA_TRY(cudaMalloc(&p_, n * sizeof(float))); }
  ~DeviceArray() { cudaFree(p_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  float* get() const { return p_; }

 private:
  float* p_ = nullptr;
};

__global__ void packColumn(const float* eta, float* column, int nx, int ny, int x) {
  int y = blockIdx.x * blockDim.x + threadIdx.x;
  if (y < ny) column[y] = eta[y * nx + x];
}

__global__ void fillGhosts(float* eta, const float* west, const float* east, int nx, int ny) {
  int y = blockIdx.x * blockDim.x + threadIdx.x;
  if (y < ny) {
    eta[y * nx] = east[y];
    eta[y * nx + nx - 1] = west[y];
  }
}

__global__ void advance(float* eta, int nx, int ny, float c) {
  int x = blockIdx.x * blockDim.x + threadIdx.x + 1;
  int y = blockIdx.y;
  if (x < nx - 1 && y < ny) eta[y * nx + x] *= c;
}

class EdgeExchange {
 public:
  EdgeExchange(int nx, int ny) : nx_(nx), ny_(ny), west_(ny), east_(ny) {}

  void start(const float* eta, cudaStream_t solver) {
    fieldReady_.record(solver);
    pack(West, eta, 1);
    pack(East, eta, nx_ - 2);
  }

  void finish(float* eta, cudaStream_t solver) {
    packed_.block(solver);
    fillGhosts<<<blocks(), kThreads, 0, solver>>>(eta, west_.get(), east_.get(), nx_, ny_);
    CUDA_TRY(cudaGetLastError());
  }

 private:
  static constexpr int kThreads = 128;
  int blocks() const { return (ny_ + kThreads - 1) / kThreads; }

  void pack(Side side, const float* eta, int x) {
    cudaStream_t s = edge_[side].get();
    fieldReady_.block(s);
    packColumn<<<blocks(), kThreads, 0, s>>>(eta, column(side), nx_, ny_, x);
    CUDA_TRY(cudaGetLastError());
    packed_.record(s);
  }

  float* column(Side side) const { return side == West ? west_.get() : east_.get(); }

  int nx_, ny_;
  DeviceArray west_, east_;
  std::array<Stream, 2> edge_;
  Event fieldReady_;
  Event packed_;
};

int main() {
  const int nx = 1026, ny = 512;
  Stream solver;
  DeviceArray eta(size_t(nx) * ny);
  std::vector<float> host(size_t(nx) * ny, 1.0f);
  CUDA_TRY(cudaMemcpyAsync(eta.get(), host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice, solver.get()));
  CUDA_TRY(cudaStreamSynchronize(solver.get()));

  EdgeExchange exchange(nx, ny);
  for (int step = 0; step < 200; ++step) {
    advance<<<dim3((nx + 127) / 128, ny), 128, 0, solver.get()>>>(eta.get(), nx, ny, 0.999f);
    exchange.start(eta.get(), solver.get());
    exchange.finish(eta.get(), solver.get());
  }
  CUDA_TRY(cudaMemcpyAsync(host.data(), eta.get(), host.size() * sizeof(float), cudaMemcpyDeviceToHost, solver.get()));
  CUDA_TRY(cudaDeviceSynchronize());
  std::printf("corner %f\n", host[0]);
  return 0;
}
