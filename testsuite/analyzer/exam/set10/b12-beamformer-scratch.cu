// Delay-and-sum beamforming of microphone arrays. Each array runs on its own stream.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#define CU(x)                                                        \
  do {                                                               \
    if ((x) != cudaSuccess) {                                        \
      std::fprintf(stderr, "CUDA call failed: %s\n", #x);            \
      std::exit(1);                                                  \
    }                                                                \
  } while (0)
#define BLAS(x)                                                      \
  do {                                                               \
    if ((x) != CUBLAS_STATUS_SUCCESS) {                              \
      std::fprintf(stderr, "cuBLAS call failed: %s\n", #x);          \
      std::exit(1);                                                  \
    }                                                                \
  } while (0)

constexpr int kMics = 64;
constexpr int kSamples = 4096;
constexpr int kBeams = 181;

__global__ void apply_delays(const float* signal, const int* delay, float* aligned) {
  int s = blockIdx.x * blockDim.x + threadIdx.x;
  int m = blockIdx.y;
  if (s >= kSamples) return;
  int src = s - delay[m];
  aligned[m * kSamples + s] = src >= 0 ? signal[m * kSamples + src] : 0.f;
}

// Scratch memory that lives as long as the process; avoids cudaMalloc in the audio path.
class ScratchCache {
 public:
  ~ScratchCache() {
    cudaDeviceSynchronize();
    for (auto& entry : buffers_) cudaFree(entry.second);
  }

  float* get(size_t floats, cudaStream_t stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    float*& p = buffers_[floats];
    if (!p) {
      CU(cudaMalloc(&p, floats * sizeof(float)));
      CU(cudaMemsetAsync(p, 0, floats * sizeof(float), stream));
    }
    return p;
  }

 private:
  std::mutex mutex_;
  std::map<size_t, float*> buffers_;
};

class Beamformer {
 public:
  Beamformer(ScratchCache& scratch, float spacing) : scratch_(scratch) {
    CU(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    BLAS(cublasCreate(&blas_));
    BLAS(cublasSetStream(blas_, stream_));
    CU(cudaMalloc(&signal_, kMics * kSamples * sizeof(float)));
    CU(cudaMalloc(&weights_, kMics * kBeams * sizeof(float)));
    CU(cudaMalloc(&beams_, kBeams * kSamples * sizeof(float)));
    CU(cudaMalloc(&delay_, kMics * sizeof(int)));

    std::vector<float> w(kMics * kBeams, 1.f / kMics);
    std::vector<int> d(kMics);
    for (int m = 0; m < kMics; ++m) d[m] = int(spacing * m);
    CU(cudaMemcpyAsync(weights_, w.data(), w.size() * sizeof(float), cudaMemcpyHostToDevice, stream_));
    CU(cudaMemcpyAsync(delay_, d.data(), d.size() * sizeof(int), cudaMemcpyHostToDevice, stream_));
    CU(cudaMemsetAsync(signal_, 0, kMics * kSamples * sizeof(float), stream_));
    CU(cudaStreamSynchronize(stream_));
  }
  ~Beamformer() {
    cudaStreamSynchronize(stream_);
    cublasDestroy(blas_);
    for (void* p : {static_cast<void*>(signal_), static_cast<void*>(weights_), static_cast<void*>(beams_),
                    static_cast<void*>(delay_)})
      cudaFree(p);
    cudaStreamDestroy(stream_);
  }
  Beamformer(const Beamformer&) = delete;
  Beamformer& operator=(const Beamformer&) = delete;

  // Pushes one block of samples through the array; asynchronous.
  void push(float level) {
    CU(cudaMemsetAsync(signal_, level > 0.5f ? 0x3c : 0x3b, kMics * kSamples * sizeof(float), stream_));
    float* aligned = scratch_.get(size_t(kMics) * kSamples, stream_);
    align(aligned);
    project(aligned);
  }

  float first_sample() {
    float v = 0;
    CU(cudaMemcpyAsync(&v, beams_, sizeof v, cudaMemcpyDeviceToHost, stream_));
    CU(cudaStreamSynchronize(stream_));
    return v;
  }

 private:
  void align(float* aligned) {
    dim3 grid(kSamples / 256, kMics);
    apply_delays<<<grid, 256, 0, stream_>>>(signal_, delay_, aligned);
    CU(cudaGetLastError());
  }

  void project(const float* aligned) {
    const float one = 1.f, zero = 0.f;
    BLAS(cublasSgemm(blas_, CUBLAS_OP_N, CUBLAS_OP_T, kSamples, kBeams, kMics, &one, aligned, kSamples, weights_,
                     kBeams, &zero, beams_, kSamples));
  }

  ScratchCache& scratch_;
  cudaStream_t stream_ = nullptr;
  cublasHandle_t blas_ = nullptr;
  float *signal_ = nullptr, *weights_ = nullptr, *beams_ = nullptr;
  int* delay_ = nullptr;
};

int main() {
  ScratchCache scratch;
  Beamformer front(scratch, 1.5f), rear(scratch, 2.25f);
  for (int block = 0; block < 500; ++block) {
    front.push(block % 2 ? 0.8f : 0.2f);
    rear.push(block % 3 ? 0.8f : 0.2f);
  }
  std::printf("%g %g\n", front.first_sample(), rear.first_sample());
  return 0;
}
