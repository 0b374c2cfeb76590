// Overnight revaluation of a book of path-dependent options.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CUDA_OK(expr)                                                                          \
  do {                                                                                         \
    cudaError_t status_ = (expr);                                                              \
    if (status_ != cudaSuccess) {                                                              \
      std::fprintf(stderr, "%s(%d): %s\n", __FILE__, __LINE__, cudaGetErrorString(status_));   \
      std::abort();                                                                            \
    }                                                                                          \
  } while (0)

struct Contract {
  float spot;
  float strike;
  float vol;
  float rate;
  float years;
};

constexpr int kPaths = 1 << 16;
constexpr int kFixings = 64;

__device__ inline unsigned mix(unsigned h) {
  h ^= h >> 16;
  h *= 0x7feb352du;
  h ^= h >> 15;
  h *= 0x846ca68bu;
  return h ^ (h >> 16);
}

__global__ void simulate(const Contract* book, int contract, float* paths) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= kPaths) return;
  Contract c = book[contract];
  float s = c.spot;
  float dt = c.years / kFixings;
  for (int t = 0; t < kFixings; ++t) {
    float u = (mix(p * kFixings + t) & 0xffff) / 32768.f - 1.f;
    s += s * (c.rate * dt + c.vol * u * dt);
    paths[t * kPaths + p] = s;
  }
}

__global__ void average_payoff(const Contract* book, int contract, const float* paths, float* value) {
  __shared__ float sums[256];
  float acc = 0.f;
  for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < kPaths; p += gridDim.x * blockDim.x) {
    float mean = 0.f;
    for (int t = 0; t < kFixings; ++t) mean += paths[t * kPaths + p];
    mean /= kFixings;
    acc += mean > book[contract].strike ? mean - book[contract].strike : 0.f;
  }
  sums[threadIdx.x] = acc;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) sums[threadIdx.x] += sums[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(value + contract, sums[0] / kPaths);
}

class BookPricer {
 public:
  explicit BookPricer(int contracts) : contracts_(contracts) {
    CUDA_OK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CUDA_OK(cudaMalloc(&book_, sizeof(Contract) * contracts));
    CUDA_OK(cudaMalloc(&values_, sizeof(float) * contracts));
  }
  ~BookPricer() {
    CUDA_OK(cudaStreamSynchronize(stream_));
    if (exec_) CUDA_OK(cudaGraphExecDestroy(exec_));
    if (paths_) CUDA_OK(cudaFree(paths_));
    CUDA_OK(cudaFree(values_));
    CUDA_OK(cudaFree(book_));
    CUDA_OK(cudaStreamDestroy(stream_));
  }
  BookPricer(const BookPricer&) = delete;
  BookPricer& operator=(const BookPricer&) = delete;

  void load(const Contract* pinned_book) {
    CUDA_OK(cudaMemcpyAsync(book_, pinned_book, sizeof(Contract) * contracts_, cudaMemcpyHostToDevice, stream_));
  }

  // The path cube lives as long as the recorded graph that works on it.
  void revalue(float* pinned_values) {
    if (!exec_) {
      CUDA_OK(cudaMallocAsync(&paths_, sizeof(float) * kPaths * kFixings, stream_));
      record(paths_);
    }
    CUDA_OK(cudaMemsetAsync(values_, 0, sizeof(float) * contracts_, stream_));
    CUDA_OK(cudaGraphLaunch(exec_, stream_));
    CUDA_OK(cudaMemcpyAsync(pinned_values, values_, sizeof(float) * contracts_, cudaMemcpyDeviceToHost, stream_));
  }

  void wait() { CUDA_OK(cudaStreamSynchronize(stream_)); }

 private:
  void record(float* paths) {
    cudaGraph_t graph = nullptr;
    CUDA_OK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    for (int c = 0; c < contracts_; ++c) {
      simulate<<<kPaths / 256, 256, 0, stream_>>>(book_, c, paths);
      average_payoff<<<64, 256, 0, stream_>>>(book_, c, paths, values_);
    }
    CUDA_OK(cudaStreamEndCapture(stream_, &graph));
    CUDA_OK(cudaGraphInstantiate(&exec_, graph, 0));
    CUDA_OK(cudaGraphDestroy(graph));
  }

  int contracts_;
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  Contract* book_ = nullptr;
  float* values_ = nullptr;
  float* paths_ = nullptr;
};

int main() {
  constexpr int kContracts = 24;
  Contract* book = nullptr;
  float* values = nullptr;
  CUDA_OK(cudaMallocHost(&book, sizeof(Contract) * kContracts));
  CUDA_OK(cudaMallocHost(&values, sizeof(float) * kContracts));
  {
    BookPricer pricer(kContracts);
    for (int day = 0; day < 5; ++day) {
      for (int c = 0; c < kContracts; ++c) book[c] = {100.f + c, 100.f, 0.2f + 0.01f * day, 0.03f, 1.f};
      pricer.load(book);
      pricer.revalue(values);
      pricer.wait();
      double total = 0;
      for (int c = 0; c < kContracts; ++c) total += values[c];
      std::printf("day %d: %.2f\n", day, total);
    }
  }
  CUDA_OK(cudaFreeHost(values));
  CUDA_OK(cudaFreeHost(book));
  return 0;
}
