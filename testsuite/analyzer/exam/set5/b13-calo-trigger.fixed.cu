// Calorimeter level-1 trigger: tower energies -> cluster sums -> accept bits.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define CK(x)                                                                       \
  do {                                                                              \
    cudaError_t rc = (x);                                                           \
    if (rc != cudaSuccess) {                                                        \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(rc)); \
      std::exit(1);                                                                 \
    }                                                                               \
  } while (0)

namespace l1 {

constexpr int kEta = 64, kPhi = 72, kTowers = kEta * kPhi;

__global__ void cluster_sums(const uint16_t* adc, const float* gain, float* cluster, int events) {
  cudaTriggerProgrammaticLaunchCompletion();
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  int ev = blockIdx.y;
  if (t >= kTowers || ev >= events) return;
  int eta = t / kPhi, phi = t % kPhi;
  float e = 0.f;
  for (int de = -1; de <= 1; ++de) {
    int ee = eta + de;
    if (ee < 0 || ee >= kEta) continue;
    for (int dp = -1; dp <= 1; ++dp) {
      int pp = (phi + dp + kPhi) % kPhi;
      int k = ee * kPhi + pp;
      e += adc[ev * kTowers + k] * gain[k];
    }
  }
  cluster[ev * kTowers + t] = e;
}

__global__ void accept_bits(const float* cluster, float cut, uint8_t* accept) {
  __shared__ float peak[256];
  cudaGridDependencySynchronize();
  float m = 0.f;
  const float* mine = cluster + blockIdx.x * kTowers;
  for (int t = threadIdx.x; t < kTowers; t += blockDim.x) m = fmaxf(m, mine[t]);
  peak[threadIdx.x] = m;
  __syncthreads();
  for (int w = 128; w > 0; w >>= 1) {
    if (threadIdx.x < w) peak[threadIdx.x] = fmaxf(peak[threadIdx.x], peak[threadIdx.x + w]);
    __syncthreads();
  }
  if (threadIdx.x == 0) accept[blockIdx.x] = peak[0] > cut;
}

template <typename... P, typename... A>
void launch_overlapped(void (*kernel)(P...), dim3 grid, dim3 block, cudaStream_t s, A&&... args) {
  cudaLaunchAttribute attr{};
  attr.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attr.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t cfg{};
  cfg.gridDim = grid;
  cfg.blockDim = block;
  cfg.stream = s;
  cfg.attrs = &attr;
  cfg.numAttrs = 1;
  CK(cudaLaunchKernelEx(&cfg, kernel, std::forward<A>(args)...));
}

class TriggerChain {
 public:
  TriggerChain(int batch, float cut) : batch_(batch), cut_(cut) {
    CK(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking));
    CK(cudaMalloc(&adc_, sizeof(uint16_t) * kTowers * batch));
    CK(cudaMalloc(&cluster_, sizeof(float) * kTowers * batch));
    CK(cudaMalloc(&gain_, sizeof(float) * kTowers));
    CK(cudaMalloc(&accept_, batch));
    std::vector<float> g(kTowers, 0.025f);
    CK(cudaMemcpyAsync(gain_, g.data(), g.size() * sizeof(float), cudaMemcpyHostToDevice, s_));
    CK(cudaStreamSynchronize(s_));
  }
  ~TriggerChain() {
    cudaStreamSynchronize(s_);
    for (void* p : {(void*)adc_, (void*)cluster_, (void*)gain_, (void*)accept_}) cudaFree(p);
    cudaStreamDestroy(s_);
  }

  std::vector<uint8_t> process(const uint16_t* adc_pinned) {
    CK(cudaMemcpyAsync(adc_, adc_pinned, sizeof(uint16_t) * kTowers * batch_, cudaMemcpyHostToDevice, s_));
    cluster_sums<<<dim3((kTowers + 255) / 256, batch_), 256, 0, s_>>>(adc_, gain_, cluster_, batch_);
    CK(cudaGetLastError());
    decide();
    std::vector<uint8_t> bits(batch_);
    CK(cudaMemcpyAsync(bits.data(), accept_, batch_, cudaMemcpyDeviceToHost, s_));
    CK(cudaStreamSynchronize(s_));
    return bits;
  }

 private:
  void decide() { launch_overlapped(accept_bits, dim3(batch_), dim3(256), s_, cluster_, cut_, accept_); }

  int batch_;
  float cut_;
  cudaStream_t s_{};
  uint16_t* adc_ = nullptr;
  float *cluster_ = nullptr, *gain_ = nullptr;
  uint8_t* accept_ = nullptr;
};

}  // namespace l1

int main() {
  const int batch = 128;
  uint16_t* adc = nullptr;
  CK(cudaMallocHost(&adc, sizeof(uint16_t) * l1::kTowers * batch));
  l1::TriggerChain chain(batch, 40.f);
  size_t kept = 0;
  for (int b = 0; b < 100; ++b) {
    for (int i = 0; i < l1::kTowers * batch; ++i) adc[i] = static_cast<uint16_t>((i * 2654435761u + b) >> 22);
    for (uint8_t bit : chain.process(adc)) kept += bit;
  }
  std::printf("accepted %zu of %d\n", kept, 100 * batch);
  CK(cudaFreeHost(adc));
}
