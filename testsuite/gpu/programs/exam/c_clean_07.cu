// Stream-ordered allocation, used on two other streams, freed on a fourth one behind both uses; the address comes
// back at once for the next round.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

#define CK(x)                                                                            \
  do {                                                                                   \
    cudaError_t status_ = (x);                                                              \
    if (status_ != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(status_));    \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

constexpr int kN = 1 << 16;

__global__ void fill(float* p, int n, float v) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = v + float(i & 7);
}
__global__ void use(const float* p, float* out, int n, int work) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = p[i];
  for (int k = 0; k < work; ++k) v = fmaf(v, 0.9999f, 1e-4f);
  out[i] += v;
}

class Lane {
 public:
  Lane() {
    CK(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking));
    CK(cudaEventCreateWithFlags(&e_, cudaEventDisableTiming));
  }
  ~Lane() { cudaEventDestroy(e_), cudaStreamDestroy(s_); }
  void after(std::initializer_list<Lane*> others) {
    for (Lane* o : others) {
      CK(cudaEventRecord(o->e_, o->s_));
      CK(cudaStreamWaitEvent(s_, o->e_, 0));
    }
  }
  operator cudaStream_t() const { return s_; }

 private:
  cudaStream_t s_{};
  cudaEvent_t e_{};
};

int main() {
  cudaMemPool_t pool;
  uint64_t keep = UINT64_MAX;
  CK(cudaDeviceGetDefaultMemPool(&pool, 0));
  CK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
  Lane alloc, left, right, reaper;
  float *out_l, *out_r, *h;
  CK(cudaMallocAsync(&out_l, kN * sizeof(float), left));
  CK(cudaMallocAsync(&out_r, kN * sizeof(float), right));
  CK(cudaMemsetAsync(out_l, 0, kN * sizeof(float), left));
  CK(cudaMemsetAsync(out_r, 0, kN * sizeof(float), right));
  CK(cudaMallocHost(&h, 2 * sizeof(float)));
  for (int round = 0; round < 5; ++round) {
    float* tmp;
    CK(cudaMallocAsync(&tmp, kN * sizeof(float), alloc));
    fill<<<kN / 256, 256, 0, alloc>>>(tmp, kN, float(round));
    left.after({&alloc});
    right.after({&alloc});
    use<<<kN / 256, 256, 0, left>>>(tmp, out_l, kN, 100000);
    use<<<kN / 256, 256, 0, right>>>(tmp, out_r, kN, 30000);
    CK(cudaGetLastError());
    reaper.after({&left, &right});
    CK(cudaFreeAsync(tmp, reaper));
    if (round % 2) alloc.after({&reaper});
  }
  CK(cudaMemcpyAsync(&h[0], out_l + 5, sizeof(float), cudaMemcpyDeviceToHost, left));
  CK(cudaMemcpyAsync(&h[1], out_r + 5, sizeof(float), cudaMemcpyDeviceToHost, right));
  CK(cudaFreeAsync(out_l, left));
  CK(cudaFreeAsync(out_r, right));
  for (Lane* l : {&alloc, &left, &right, &reaper}) CK(cudaStreamSynchronize(*l));
  std::printf("%f %f\n", h[0], h[1]);
  CK(cudaFreeHost(h));
  return 0;
}
