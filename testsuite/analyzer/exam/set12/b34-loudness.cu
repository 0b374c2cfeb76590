// Loudness statistics of a broadcast archive: one level histogram per programme.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

#define DIE_ON(x)                                                                  \
  do {                                                                             \
    cudaError_t e = (x);                                                           \
    if (e != cudaSuccess) {                                                        \
      std::fprintf(stderr, "%d: %s: %s\n", __LINE__, #x, cudaGetErrorString(e));   \
      std::exit(2);                                                                \
    }                                                                              \
  } while (0)

constexpr int kLevels = 512;
constexpr int kBlock = 4800;  // 100 ms at 48 kHz

__global__ void block_levels(const float* pcm, unsigned* histogram, int blocks) {
  int b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b >= blocks) return;
  float sum = 0.f;
  for (int i = 0; i < kBlock; ++i) sum += pcm[b * kBlock + i] * pcm[b * kBlock + i];
  int level = static_cast<int>(sum / kBlock * kLevels);
  atomicAdd(histogram + (level >= kLevels ? kLevels - 1 : level), 1u);
}

template <typename T>
class Pinned {
 public:
  explicit Pinned(std::size_t n) : n_(n) { DIE_ON(cudaMallocHost(&p_, n * sizeof(T))); }
  ~Pinned() { cudaFreeHost(p_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  T* get() { return p_; }
  T& operator[](std::size_t i) { return p_[i]; }
  std::size_t size() const { return n_; }

 private:
  T* p_ = nullptr;
  std::size_t n_;
};

// Decoding, upload and statistics each get a stream from here; none of them may stall on the default stream.
cudaStream_t make_worker_stream() {
  cudaStream_t s = nullptr;
  int least = 0, greatest = 0;
  DIE_ON(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  DIE_ON(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, least));
  return s;
}

class LoudnessMeter {
 public:
  explicit LoudnessMeter(int max_blocks) : max_blocks_(max_blocks), stream_(make_worker_stream()), result_(kLevels) {
    DIE_ON(cudaMalloc(&pcm_, sizeof(float) * max_blocks * kBlock));
    DIE_ON(cudaMalloc(&histogram_, sizeof(unsigned) * kLevels));
  }
  ~LoudnessMeter() {
    DIE_ON(cudaStreamSynchronize(stream_));
    cudaFree(histogram_);
    cudaFree(pcm_);
    cudaStreamDestroy(stream_);
  }
  LoudnessMeter(const LoudnessMeter&) = delete;
  LoudnessMeter& operator=(const LoudnessMeter&) = delete;

  void begin_programme() { DIE_ON(cudaMemset(histogram_, 0, sizeof(unsigned) * kLevels)); }

  void add(const float* pinned_pcm, int blocks) {
    DIE_ON(cudaMemcpyAsync(pcm_, pinned_pcm, sizeof(float) * blocks * kBlock, cudaMemcpyHostToDevice, stream_));
    block_levels<<<(blocks + 63) / 64, 64, 0, stream_>>>(pcm_, histogram_, blocks);
    DIE_ON(cudaGetLastError());
  }

  std::vector<unsigned> end_programme() {
    DIE_ON(cudaMemcpyAsync(result_.get(), histogram_, sizeof(unsigned) * kLevels, cudaMemcpyDeviceToHost, stream_));
    DIE_ON(cudaStreamSynchronize(stream_));
    return std::vector<unsigned>(result_.get(), result_.get() + kLevels);
  }

 private:
  int max_blocks_;
  cudaStream_t stream_;
  Pinned<unsigned> result_;
  float* pcm_ = nullptr;
  unsigned* histogram_ = nullptr;
};

float percentile(const std::vector<unsigned>& histogram, float q) {
  unsigned long total = 0;
  for (unsigned c : histogram) total += c;
  unsigned long seen = 0;
  for (std::size_t i = 0; i < histogram.size(); ++i) {
    seen += histogram[i];
    if (seen >= q * total) return 10.f * std::log10((i + 0.5f) / kLevels);
  }
  return 0.f;
}

void synthesise(Pinned<float>& pcm, int programme) {
  for (std::size_t i = 0; i < pcm.size(); ++i) pcm[i] = 0.5f * std::sin(0.01f * i * (programme + 1));
}

}  // namespace

int main() {
  constexpr int kBlocks = 600;
  Pinned<float> pcm(std::size_t(kBlocks) * kBlock);
  LoudnessMeter meter(kBlocks);
  for (int programme = 0; programme < 8; ++programme) {
    synthesise(pcm, programme);
    meter.begin_programme();
    for (int hour = 0; hour < 2; ++hour) meter.add(pcm.get(), kBlocks);
    std::vector<unsigned> histogram = meter.end_programme();
    std::printf("programme %d: LRA %.1f dB\n", programme, percentile(histogram, 0.95f) - percentile(histogram, 0.10f));
  }
  return 0;
}
