// Batched scoring of sequencing reads against a profile HMM.
//
// Reads have different lengths.  plan() lays the batch out for the kernel: it computes offsets and a
// longest-first order on the host and uploads both in one go.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace hmm {

inline void throw_on_error(cudaError_t rc, const char* file, int line) {
  if (rc == cudaSuccess) return;
  std::ostringstream os;
  os << file << ':' << line << ": " << cudaGetErrorName(rc);
  throw std::runtime_error(os.str());
}
#define HMM_CUDA(x) ::hmm::throw_on_error((x), __FILE__, __LINE__)

struct Workspace {
  explicit Workspace(std::size_t entries) : entries(entries) {
    HMM_CUDA(cudaMalloc(&device, entries * sizeof(std::int32_t)));
    HMM_CUDA(cudaHostAlloc(&host, entries * sizeof(std::int32_t), cudaHostAllocDefault));
  }
  ~Workspace() {
    cudaFreeHost(host);
    cudaFree(device);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  std::int32_t* device = nullptr;
  std::int32_t* host = nullptr;
  std::size_t entries;
};

struct PackedReads {
  const std::uint8_t* device_bases;
  std::vector<std::int32_t> lengths;
};

__global__ void forward_scores(const std::uint8_t* bases, const std::int32_t* offsets, const std::int32_t* order,
                               const float* emission, float* scores, int reads) {
  int slot = blockIdx.x * blockDim.x + threadIdx.x;
  if (slot >= reads) return;
  int r = order[slot];
  float score = 0.f;
  for (int i = offsets[r]; i < offsets[r + 1]; ++i) score += emission[4 * ((i - offsets[r]) & 63) + (bases[i] & 3)];
  scores[r] = score;
}

class BatchScorer {
 public:
  BatchScorer(std::size_t max_reads, const std::vector<float>& emission) : plan_(2 * max_reads + 1), max_reads_(max_reads) {
    HMM_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    HMM_CUDA(cudaEventCreateWithFlags(&uploaded_, cudaEventDisableTiming));
    HMM_CUDA(cudaMalloc(&emission_, emission.size() * sizeof(float)));
    HMM_CUDA(cudaMemcpyAsync(emission_, emission.data(), emission.size() * sizeof(float), cudaMemcpyHostToDevice, stream_));
    HMM_CUDA(cudaStreamSynchronize(stream_));
  }
  ~BatchScorer() {
    cudaStreamSynchronize(stream_);
    cudaFree(emission_);
    cudaEventDestroy(uploaded_);
    cudaStreamDestroy(stream_);
  }
  BatchScorer(const BatchScorer&) = delete;
  BatchScorer& operator=(const BatchScorer&) = delete;

  void plan(const std::vector<std::int32_t>& lengths) {
    if (lengths.size() > max_reads_) throw std::length_error("batch too large");
    const std::size_t n = lengths.size();
    std::int32_t* offsets = plan_.host;
    std::int32_t* order = plan_.host + n + 1;
    offsets[0] = 0;
    std::partial_sum(lengths.begin(), lengths.end(), offsets + 1);
    std::iota(order, order + n, 0);
    std::stable_sort(order, order + n, [&](std::int32_t a, std::int32_t b) { return lengths[a] > lengths[b]; });
    HMM_CUDA(cudaMemcpyAsync(plan_.device, plan_.host, (2 * n + 1) * sizeof(std::int32_t), cudaMemcpyHostToDevice, stream_));
    HMM_CUDA(cudaEventRecord(uploaded_, stream_));
    planned_ = static_cast<int>(n);
  }

  void run(const std::uint8_t* device_bases, float* device_scores) {
    const std::int32_t* offsets = plan_.device;
    const std::int32_t* order = plan_.device + planned_ + 1;
    forward_scores<<<(planned_ + 127) / 128, 128, 0, stream_>>>(device_bases, offsets, order, emission_, device_scores, planned_);
    HMM_CUDA(cudaGetLastError());
  }

  void wait() { HMM_CUDA(cudaStreamSynchronize(stream_)); }

 private:
  Workspace plan_;
  std::size_t max_reads_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t uploaded_ = nullptr;
  float* emission_ = nullptr;
  int planned_ = 0;
};

// `scores` holds one device array per batch.
void score_all(const std::vector<PackedReads>& batches, const std::vector<float*>& scores, const std::vector<float>& emission) {
  std::size_t largest = 0;
  for (const auto& b : batches) largest = std::max(largest, b.lengths.size());
  BatchScorer scorer(largest, emission);
  for (std::size_t i = 0; i < batches.size(); ++i) {
    scorer.plan(batches[i].lengths);
    scorer.run(batches[i].device_bases, scores[i]);
  }
  scorer.wait();
}

}  // namespace hmm
