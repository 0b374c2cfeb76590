// Ranking of documents: slices of one score array are filled side by side on
// several streams, then sorted as a whole on the main stream.
#include <cuda_runtime.h>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/sort.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define RANK_OK(x)                                                        \
  do {                                                                    \
    cudaError_t e_ = (x);                                                 \
    if (e_ != cudaSuccess) {                                              \
      std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e_));       \
      std::abort();                                                       \
    }                                                                     \
  } while (0)

struct Slice {
  int begin, end;
  int size() const { return end - begin; }
};

// Writes scores and ids of its slice only; query and documents are read by all.
__global__ void scoreSlice(const float* query, const float* docs, int dim, Slice s, float* score, int* id) {
  int i = s.begin + blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= s.end) return;
  float acc = 0.0f;
  for (int k = 0; k < dim; ++k) acc += query[k] * docs[size_t(i) * dim + k];
  score[i] = acc;
  id[i] = i;
}

class Ranker {
 public:
  // `docs` is device memory that is complete and constant.
  Ranker(const float* docs, int count, int dim, int lanes) : docs_(docs), count_(count), dim_(dim), lanes_(lanes) {
    RANK_OK(cudaStreamCreateWithFlags(&main_, cudaStreamNonBlocking));
    RANK_OK(cudaEventCreateWithFlags(&open_, cudaEventDisableTiming));
    for (Lane& l : lanes_) {
      RANK_OK(cudaStreamCreateWithFlags(&l.stream, cudaStreamNonBlocking));
      RANK_OK(cudaEventCreateWithFlags(&l.closed, cudaEventDisableTiming));
    }
    RANK_OK(cudaMalloc(&query_, sizeof(float) * dim_));
    RANK_OK(cudaMalloc(&score_, sizeof(float) * count_));
    RANK_OK(cudaMalloc(&id_, sizeof(int) * count_));
    RANK_OK(cudaMallocHost(&hostQuery_, sizeof(float) * dim_));
    RANK_OK(cudaMallocHost(&hostId_, sizeof(int) * count_));
  }
  ~Ranker() {
    for (Lane& l : lanes_) {
      cudaStreamSynchronize(l.stream);
      cudaEventDestroy(l.closed);
      cudaStreamDestroy(l.stream);
    }
    cudaStreamSynchronize(main_);
    cudaFreeHost(hostId_);
    cudaFreeHost(hostQuery_);
    cudaFree(id_);
    cudaFree(score_);
    cudaFree(query_);
    cudaEventDestroy(open_);
    cudaStreamDestroy(main_);
  }
  Ranker(const Ranker&) = delete;
  Ranker& operator=(const Ranker&) = delete;

  std::vector<int> best(const std::vector<float>& query, int top) {
    std::copy_n(query.begin(), dim_, hostQuery_);
    RANK_OK(cudaMemcpyAsync(query_, hostQuery_, sizeof(float) * dim_, cudaMemcpyHostToDevice, main_));
    spread();
    order();
    top = std::min(top, count_);
    RANK_OK(cudaMemcpyAsync(hostId_, id_, sizeof(int) * top, cudaMemcpyDeviceToHost, main_));
    RANK_OK(cudaStreamSynchronize(main_));
    return std::vector<int>(hostId_, hostId_ + top);
  }

 private:
  struct Lane {
    cudaStream_t stream = nullptr;
    cudaEvent_t closed = nullptr;
  };

  Slice slice(int k) const {
    const int parts = static_cast<int>(lanes_.size());
    return Slice{static_cast<int>(int64_t(count_) * k / parts), static_cast<int>(int64_t(count_) * (k + 1) / parts)};
  }

  void spread() {
    RANK_OK(cudaEventRecord(open_, main_));
    for (size_t k = 0; k < lanes_.size(); ++k) {
      Lane& l = lanes_[k];
      const Slice s = slice(static_cast<int>(k));
      if (s.size() == 0) continue;
      RANK_OK(cudaStreamWaitEvent(l.stream, open_, 0));
      scoreSlice<<<(s.size() + 127) / 128, 128, 0, l.stream>>>(query_, docs_, dim_, s, score_, id_);
      RANK_OK(cudaGetLastError());
      RANK_OK(cudaEventRecord(l.closed, l.stream));
      RANK_OK(cudaStreamWaitEvent(main_, l.closed, 0));
    }
  }

  void order() {
    thrust::device_ptr<float> keys(score_);
    thrust::device_ptr<int> values(id_);
    thrust::sort_by_key(thrust::cuda::par_nosync.on(main_), keys, keys + count_, values, thrust::greater<float>());
  }

  const float* docs_;
  int count_, dim_;
  std::vector<Lane> lanes_;
  cudaStream_t main_ = nullptr;
  cudaEvent_t open_ = nullptr;
  float *query_ = nullptr, *score_ = nullptr, *hostQuery_ = nullptr;
  int *id_ = nullptr, *hostId_ = nullptr;
};
