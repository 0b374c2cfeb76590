// Lattice gauge relay: GPU 1 prepares link fields and GPU 0 measures them.  Two inbox slots on GPU 0
// let the transfer of one field overlap with the measurement of the field before it.
#include <cuda_runtime.h>

#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>

#define CU(call)                                                                             \
  do {                                                                                       \
    const cudaError_t rc = (call);                                                           \
    if (rc != cudaSuccess) throw std::runtime_error(std::string(#call " failed: ") + cudaGetErrorString(rc)); \
  } while (0)

__global__ void randomLinks(float2* links, int n, unsigned sweep) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s, c;
  sincosf(((i * 1664525u + sweep * 1013904223u) >> 8) * 1e-6f, &s, &c);
  links[i] = make_float2(c, s);
}

__global__ void plaquette(const float2* links, double* sum, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + 1 < n) atomicAdd(sum, double(links[i].x * links[i + 1].x - links[i].y * links[i + 1].y));
}

class Measurer {
 public:
  struct Slot {
    float2* links = nullptr;
    cudaEvent_t measured{};
  };

  Measurer(int device, int n) : device_(device), n_(n) {
    CU(cudaSetDevice(device_));
    CU(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    for (Slot& s : slots_) {
      CU(cudaMalloc(&s.links, sizeof(float2) * n));
      CU(cudaEventCreateWithFlags(&s.measured, cudaEventDisableTiming));
    }
    CU(cudaMalloc(&sum_, sizeof(double)));
    CU(cudaMemsetAsync(sum_, 0, sizeof(double), stream_));
  }
  ~Measurer() {
    cudaSetDevice(device_);
    cudaStreamSynchronize(stream_);
    for (Slot& s : slots_) {
      cudaFree(s.links);
      cudaEventDestroy(s.measured);
    }
    cudaFree(sum_);
    cudaStreamDestroy(stream_);
  }
  Measurer(const Measurer&) = delete;

  Slot& slot(int sweep) { return slots_[sweep % slots_.size()]; }

  void measure(Slot& slot, cudaEvent_t arrived) {
    CU(cudaSetDevice(device_));
    CU(cudaStreamWaitEvent(stream_, arrived, 0));
    plaquette<<<(n_ + 255) / 256, 256, 0, stream_>>>(slot.links, sum_, n_);
    CU(cudaGetLastError());
    CU(cudaEventRecord(slot.measured, stream_));
  }

  double total() {
    CU(cudaSetDevice(device_));
    double v = 0;
    CU(cudaMemcpyAsync(&v, sum_, sizeof v, cudaMemcpyDeviceToHost, stream_));
    CU(cudaStreamSynchronize(stream_));
    return v;
  }

  int device() const { return device_; }

 private:
  int device_, n_;
  cudaStream_t stream_{};
  std::array<Slot, 2> slots_;
  double* sum_ = nullptr;
};

class Generator {
 public:
  Generator(int device, int n) : device_(device), n_(n) {
    CU(cudaSetDevice(device_));
    CU(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CU(cudaEventCreateWithFlags(&arrived_, cudaEventDisableTiming));
    CU(cudaMalloc(&links_, sizeof(float2) * n));
  }
  ~Generator() {
    cudaSetDevice(device_);
    cudaStreamSynchronize(stream_);
    cudaFree(links_);
    cudaEventDestroy(arrived_);
    cudaStreamDestroy(stream_);
  }
  Generator(const Generator&) = delete;

  cudaEvent_t produce(unsigned sweep, Measurer::Slot& into, int target) {
    CU(cudaSetDevice(device_));
    randomLinks<<<(n_ + 255) / 256, 256, 0, stream_>>>(links_, n_, sweep);
    CU(cudaGetLastError());
    CU(cudaStreamWaitEvent(stream_, into.measured, 0));
    CU(cudaMemcpyPeerAsync(into.links, target, links_, device_, sizeof(float2) * n_, stream_));
    CU(cudaEventRecord(arrived_, stream_));
    return arrived_;
  }

 private:
  int device_, n_;
  cudaStream_t stream_{};
  cudaEvent_t arrived_{};
  float2* links_ = nullptr;
};

int main() {
  int devices = 0;
  CU(cudaGetDeviceCount(&devices));
  if (devices < 2) return std::puts("needs two GPUs"), 0;
  const int n = 1 << 20;
  Measurer measurer(0, n);
  Generator generator(1, n);
  for (int sweep = 0; sweep < 200; ++sweep) {
    Measurer::Slot& slot = measurer.slot(sweep);
    measurer.measure(slot, generator.produce(sweep, slot, measurer.device()));
  }
  std::printf("%f\n", measurer.total());
  return 0;
}
