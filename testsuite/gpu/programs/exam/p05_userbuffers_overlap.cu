// Ring-exchange overlap of communication and GEMM: one send, one receive and two compute streams.
// Modelled on NVIDIA/TransformerEngine#1067.
#include <cuda_runtime.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#define NVTE_CHECK_CUDA(x)                                                                    \
  do {                                                                                        \
    cudaError_t e_ = (x);                                                                     \
    if (e_ != cudaSuccess) {                                                                  \
      std::fprintf(stderr, "%s:%d in %s: %s\n", __FILE__, __LINE__, __func__, cudaGetErrorString(e_)); \
      std::exit(1);                                                                           \
    }                                                                                         \
  } while (0)

constexpr int kChunk = 1 << 15, kRanks = 4;

__global__ void gemm_chunk(const float* in, float* out, int n, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float acc = in[i];
  for (int j = 0; j < k; ++j) acc = fmaf(acc, 0.9999f, 0.001f);
  out[i] = acc;
}
// Emulates the peer's chunk arriving: written by a copy kernel on the receive stream.
__global__ void userbuffers_recv(float* dst, const float* peer, int n, int hops) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = peer[i];
  for (int h = 0; h < hops; ++h) v = fmaf(v, 1.0001f, -0.0001f);
  dst[i] = v;
}
__global__ void userbuffers_send(const float* src, float* wire, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) wire[i] = src[i];
}
__global__ void reduce_chunks(const float* gemm, const float* recv, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = 0;
  for (int r = 0; r < kRanks; ++r) s += gemm[r * n + i] + recv[r * n + i];
  out[i] = s;
}
__global__ void fill(float* p, int n, float v) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = v + (i & 7);
}

class CommOverlapP2P {
 public:
  CommOverlapP2P() {
    for (auto* s : {&send_, &recv_, &compute_[0], &compute_[1]})
      NVTE_CHECK_CUDA(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
    for (auto* e : {&start_, &stop_send_, &stop_recv_, &stop_compute_[0], &stop_compute_[1]})
      NVTE_CHECK_CUDA(cudaEventCreateWithFlags(e, cudaEventDisableTiming));
    for (auto** p : {&ubuf_, &wire_, &gemm_, &recvbuf_}) NVTE_CHECK_CUDA(cudaMalloc(p, sizeof(float) * kChunk * kRanks));
    fill<<<kChunk * kRanks / 256, 256>>>(ubuf_, kChunk * kRanks, 1.f);
    NVTE_CHECK_CUDA(cudaDeviceSynchronize());
  }
  ~CommOverlapP2P() {
    cudaDeviceSynchronize();
    for (auto* p : {ubuf_, wire_, gemm_, recvbuf_}) cudaFree(p);
    for (auto s : {send_, recv_, compute_[0], compute_[1]}) cudaStreamDestroy(s);
    for (auto e : {start_, stop_send_, stop_recv_, stop_compute_[0], stop_compute_[1]}) cudaEventDestroy(e);
  }

  void split_overlap_rs(float* out, cudaStream_t main) {
    NVTE_CHECK_CUDA(cudaEventRecord(start_, main));
    for (auto s : {send_, recv_, compute_[0], compute_[1]}) NVTE_CHECK_CUDA(cudaStreamWaitEvent(s, start_, 0));
    const int grid = kChunk / 256;
    for (int r = 0; r < kRanks; ++r) {
      float* in = ubuf_ + r * kChunk;
      gemm_chunk<<<grid, 256, 0, compute_[r & 1]>>>(in, gemm_ + r * kChunk, kChunk, 20000);
      userbuffers_send<<<grid, 256, 0, send_>>>(in, wire_ + r * kChunk, kChunk);
      userbuffers_recv<<<grid, 256, 0, recv_>>>(recvbuf_ + r * kChunk, in, kChunk, 200000);
    }
    for (int c = 0; c < 2; ++c) {
      NVTE_CHECK_CUDA(cudaEventRecord(stop_compute_[c], compute_[c]));
      NVTE_CHECK_CUDA(cudaStreamWaitEvent(main, stop_compute_[c], 0));
    }
    NVTE_CHECK_CUDA(cudaEventRecord(stop_send_, send_));
    NVTE_CHECK_CUDA(cudaStreamWaitEvent(main, stop_send_, 0));
#ifdef FIXED
    NVTE_CHECK_CUDA(cudaEventRecord(stop_recv_, recv_));
    NVTE_CHECK_CUDA(cudaStreamWaitEvent(main, stop_recv_, 0));
#endif
    reduce_chunks<<<grid, 256, 0, main>>>(gemm_, recvbuf_, out, kChunk);
    NVTE_CHECK_CUDA(cudaGetLastError());
  }

 private:
  cudaStream_t send_{}, recv_{}, compute_[2]{};
  cudaEvent_t start_{}, stop_send_{}, stop_recv_{}, stop_compute_[2]{};
  float *ubuf_{}, *wire_{}, *gemm_{}, *recvbuf_{};
};

int main() {
  cudaStream_t main;
  NVTE_CHECK_CUDA(cudaStreamCreateWithFlags(&main, cudaStreamNonBlocking));
  float *out, *h;
  NVTE_CHECK_CUDA(cudaMalloc(&out, sizeof(float) * kChunk));
  NVTE_CHECK_CUDA(cudaMallocHost(&h, sizeof(float) * kChunk));
  {
    CommOverlapP2P ub;
    for (int it = 0; it < 4; ++it) ub.split_overlap_rs(out, main);
    NVTE_CHECK_CUDA(cudaMemcpyAsync(h, out, sizeof(float) * kChunk, cudaMemcpyDeviceToHost, main));
    NVTE_CHECK_CUDA(cudaStreamSynchronize(main));
  }
  std::printf("%f %f\n", h[0], h[kChunk - 1]);
  cudaFree(out), cudaFreeHost(h), cudaStreamDestroy(main);
  return 0;
}
