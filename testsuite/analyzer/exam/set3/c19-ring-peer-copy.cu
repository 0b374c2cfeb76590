// Pipeline-parallel stage hand-over between two GPUs with peer copies and double-buffered activations.
#include <cuda_runtime.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#define CUDA_OK(x)                                                        \
  do {                                                                    \
    if (const auto e__ = (x); e__ != cudaSuccess) {                       \
      std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e__));      \
      std::abort();                                                       \
    }                                                                     \
  } while (0)

namespace pp {

constexpr int kSlots = 2;

template <int N>
__global__ void layer(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = in ? in[i] : float(i);
#pragma unroll
    for (int k = 0; k < N; ++k) v = v * 0.5f + 1.0f;
    out[i] = v;
  }
}

struct OnDevice {
  explicit OnDevice(int d) { CUDA_OK(cudaGetDevice(&saved)); CUDA_OK(cudaSetDevice(d)); }
  ~OnDevice() { cudaSetDevice(saved); }
  int saved;
};

// Everything that lives on one GPU.
struct Stage {
  Stage(int dev, int n) : device(dev) {
    OnDevice on(dev);
    CUDA_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (auto& a : act) CUDA_OK(cudaMalloc(&a, n * sizeof(float)));
    for (auto& e : ready) CUDA_OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    for (auto& e : released) CUDA_OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    CUDA_OK(cudaMalloc(&out, n * sizeof(float)));
  }
  ~Stage() {
    OnDevice on(device);
    cudaStreamSynchronize(stream);
    for (auto a : act) cudaFree(a);
    cudaFree(out);
    for (auto e : ready) cudaEventDestroy(e);
    for (auto e : released) cudaEventDestroy(e);
    cudaStreamDestroy(stream);
  }
  Stage(const Stage&) = delete;
  int device;
  cudaStream_t stream{};
  std::array<float*, kSlots> act{};
  float* out{};
  std::array<cudaEvent_t, kSlots> ready{}, released{};
};

class Link {
 public:
  Link(Stage& from, Stage& to, int n) : from_(from), to_(to), n_(n) {
    OnDevice on(from.device);
    CUDA_OK(cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking));
    CUDA_OK(cudaEventCreateWithFlags(&arrived_, cudaEventDisableTiming));
  }
  ~Link() {
    OnDevice on(from_.device);
    cudaStreamSynchronize(copy_);
    cudaEventDestroy(arrived_);
    cudaStreamDestroy(copy_);
  }
  // Sends slot `s`; from_.act[s] is free again once from_.released[s] has fired.
  void send(int s) {
    CUDA_OK(cudaStreamWaitEvent(copy_, from_.ready[s], 0));
    CUDA_OK(cudaStreamWaitEvent(copy_, to_.released[s], 0));
    CUDA_OK(cudaMemcpyPeerAsync(to_.act[s], to_.device, from_.act[s], from_.device, n_ * sizeof(float), copy_));
    CUDA_OK(cudaEventRecord(from_.released[s], copy_));
    CUDA_OK(cudaEventRecord(arrived_, copy_));
    CUDA_OK(cudaStreamWaitEvent(to_.stream, arrived_, 0));
  }

 private:
  Stage &from_, &to_;
  int n_;
  cudaStream_t copy_{};
  cudaEvent_t arrived_{};
};

void produce(Stage& st, int s, int n) {
  OnDevice on(st.device);
  CUDA_OK(cudaStreamWaitEvent(st.stream, st.released[s], 0));
  layer<4><<<(n + 255) / 256, 256, 0, st.stream>>>(nullptr, st.act[s], n);
  CUDA_OK(cudaGetLastError());
  CUDA_OK(cudaEventRecord(st.ready[s], st.stream));
}

void consume(Stage& st, int s, int n) {
  OnDevice on(st.device);
  layer<2><<<(n + 255) / 256, 256, 0, st.stream>>>(st.act[s], st.out, n);
  CUDA_OK(cudaGetLastError());
  CUDA_OK(cudaEventRecord(st.released[s], st.stream));
}

}  // namespace pp

int main() {
  const int n = 1 << 18;
  float last = 0;
  pp::Stage first(0, n), second(1, n);
  pp::Link link(first, second, n);
  for (int mb = 0; mb < 32; ++mb) {
    const int s = mb % pp::kSlots;
    pp::produce(first, s, n);
    link.send(s);
    pp::consume(second, s, n);
  }
  CUDA_OK(cudaStreamSynchronize(second.stream));
  CUDA_OK(cudaMemcpy(&last, second.out + n - 1, sizeof last, cudaMemcpyDeviceToHost));
  std::printf("%f\n", last);
  return 0;
}
