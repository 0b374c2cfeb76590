// 2-D wave equation split over the GPUs of a node, halos pulled from the neighbours.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#define CHK(x)                                                                     \
  do {                                                                             \
    cudaError_t err_ = (x);                                                        \
    if (err_ != cudaSuccess) {                                                     \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(err_)); \
      std::exit(1);                                                                \
    }                                                                              \
  } while (0)

// rows 0 and ny+1 are halos
__global__ void wave(const float* cur, const float* prev, float* next, int nx, int ny, float c2) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y + 1;
  if (x >= nx || y > ny) return;
  int i = y * nx + x;
  float l = x ? cur[i - 1] : 0.f, r = x + 1 < nx ? cur[i + 1] : 0.f;
  next[i] = 2 * cur[i] - prev[i] + c2 * (l + r + cur[i - nx] + cur[i + nx] - 4 * cur[i]);
}

class Domain {
 public:
  Domain(int dev, int nx, int ny) : dev_(dev), nx_(nx), ny_(ny) {
    CHK(cudaSetDevice(dev_));
    CHK(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
    CHK(cudaStreamCreateWithFlags(&halo_, cudaStreamNonBlocking));
    CHK(cudaEventCreateWithFlags(&stepped_, cudaEventDisableTiming));
    CHK(cudaEventCreateWithFlags(&pulled_, cudaEventDisableTiming));
    for (float*& p : field_) {
      CHK(cudaMalloc(&p, bytes()));
      CHK(cudaMemsetAsync(p, 0, bytes(), compute_));
    }
    CHK(cudaEventRecord(stepped_, compute_));
  }
  ~Domain() {
    cudaSetDevice(dev_);
    cudaStreamSynchronize(halo_);
    cudaStreamSynchronize(compute_);
    for (float* p : field_) cudaFree(p);
    cudaEventDestroy(stepped_);
    cudaEventDestroy(pulled_);
    cudaStreamDestroy(halo_);
    cudaStreamDestroy(compute_);
  }
  Domain(const Domain&) = delete;

  void pull(const Domain* up, const Domain* down) {
    CHK(cudaSetDevice(dev_));
    CHK(cudaStreamWaitEvent(halo_, stepped_, 0));
    const size_t row = nx_ * sizeof(float);
    if (up) {
      CHK(cudaStreamWaitEvent(halo_, up->stepped_, 0));
      CHK(cudaMemcpyPeerAsync(cur(), dev_, up->cur() + size_t(up->ny_) * nx_, up->dev_, row, halo_));
    }
    if (down) {
      CHK(cudaStreamWaitEvent(halo_, down->stepped_, 0));
      CHK(cudaMemcpyPeerAsync(cur() + size_t(ny_ + 1) * nx_, dev_, down->cur() + nx_, down->dev_, row, halo_));
    }
    CHK(cudaEventRecord(pulled_, halo_));
  }

  // The field written here is the one the neighbours pulled from two steps ago.
  void step(const Domain* up, const Domain* down, float c2) {
    CHK(cudaSetDevice(dev_));
    CHK(cudaStreamWaitEvent(compute_, pulled_, 0));
    for (const Domain* d : {up, down})
      if (d) CHK(cudaStreamWaitEvent(compute_, d->pulled_, 0));
    dim3 grid((nx_ + 255) / 256, ny_);
    wave<<<grid, 256, 0, compute_>>>(cur(), field_[(t_ + 2) % 3], field_[(t_ + 1) % 3], nx_, ny_, c2);
    CHK(cudaGetLastError());
  }

  void advance() {
    CHK(cudaSetDevice(dev_));
    CHK(cudaEventRecord(stepped_, compute_));
    t_ = (t_ + 1) % 3;
  }

  float probe() {
    float v = 0;
    CHK(cudaSetDevice(dev_));
    CHK(cudaMemcpyAsync(&v, cur() + nx_ + nx_ / 2, sizeof v, cudaMemcpyDeviceToHost, compute_));
    CHK(cudaStreamSynchronize(compute_));
    return v;
  }

 private:
  float* cur() const { return field_[t_]; }
  size_t bytes() const { return size_t(nx_) * (ny_ + 2) * sizeof(float); }

  int dev_, nx_, ny_, t_ = 0;
  cudaStream_t compute_{}, halo_{};
  cudaEvent_t stepped_{}, pulled_{};
  float* field_[3] = {};
};

int main() {
  int count = 0;
  CHK(cudaGetDeviceCount(&count));
  std::vector<std::unique_ptr<Domain>> d;
  for (int i = 0; i < count; ++i) d.push_back(std::make_unique<Domain>(i, 4096, 1024));
  auto at = [&](int i) -> Domain* { return i >= 0 && i < count ? d[i].get() : nullptr; };
  for (int s = 0; s < 500; ++s) {
    for (int i = 0; i < count; ++i) d[i]->pull(at(i - 1), at(i + 1));
    for (int i = 0; i < count; ++i) d[i]->step(at(i - 1), at(i + 1), 0.2f);
    for (int i = 0; i < count; ++i) d[i]->advance();
  }
  for (int i = 0; i < count; ++i) std::printf("%d %g\n", i, d[i]->probe());
  for (int i = 0; i < count; ++i) {
    CHK(cudaSetDevice(i));
    CHK(cudaDeviceSynchronize());
  }
}
