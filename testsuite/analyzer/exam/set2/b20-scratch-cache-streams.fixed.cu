// Split-K decode attention with cached partial buffers.
#include <cuda_runtime.h>
#include <map>
#include <stdexcept>
#include <tuple>
#include <vector>

static void ok(cudaError_t e) { if (e) throw std::runtime_error(cudaGetErrorName(e)); }

__global__ void partial_scores(const float* q, const float* k, float* partial, int dim, int len, int splits) {
  int s = blockIdx.x, h = blockIdx.y, per = (len + splits - 1) / splits;
  float best = -1e30f;
  for (int t = s * per + threadIdx.x; t < min(len, (s + 1) * per); t += blockDim.x) {
    float dot = 0;
    for (int d = 0; d < dim; ++d) dot += q[h * dim + d] * k[(t * gridDim.y + h) * dim + d];
    best = fmaxf(best, dot);
  }
  __shared__ float sh[32];
  sh[threadIdx.x] = best;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < 32; ++i) best = fmaxf(best, sh[i]);
    partial[h * splits + s] = best;
  }
}

__global__ void merge_scores(const float* partial, float* out, int splits) {
  float best = -1e30f;
  for (int s = 0; s < splits; ++s) best = fmaxf(best, partial[threadIdx.x * splits + s]);
  out[threadIdx.x] = best;
}

class ScratchCache {
public:
  ~ScratchCache() {
    cudaDeviceSynchronize();
    for (auto& kv : buffers) cudaFree(kv.second);
  }
  float* get(size_t floats, cudaStream_t stream) {
    auto it = buffers.find({floats, stream});
    if (it != buffers.end()) return it->second;
    float* p = nullptr;
    ok(cudaMalloc(&p, floats * sizeof(float)));
    buffers.emplace(std::make_pair(floats, stream), p);
    return p;
  }
private:
  std::map<std::pair<size_t, cudaStream_t>, float*> buffers;
};

struct Request {
  const float* q;
  const float* k;
  float* out;
  int len;
};

class DecodePlan {
public:
  DecodePlan(int heads, int dim, int splits, int lanes) : heads(heads), dim(dim), splits(splits), lanes(lanes) {
    for (auto& s : this->lanes) ok(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  }
  ~DecodePlan() {
    for (auto s : lanes) { cudaStreamSynchronize(s); cudaStreamDestroy(s); }
  }

  void split_attention(const Request& r, cudaStream_t stream) {
    float* partial = scratch.get(size_t(heads) * splits, stream);
    partial_scores<<<dim3(splits, heads), 32, 0, stream>>>(r.q, r.k, partial, dim, r.len, splits);
    merge_scores<<<1, heads, 0, stream>>>(partial, r.out, splits);
    ok(cudaGetLastError());
  }

  void run(const std::vector<Request>& batch) {
    for (size_t i = 0; i < batch.size(); ++i) split_attention(batch[i], lanes[i % lanes.size()]);
    for (auto s : lanes) ok(cudaStreamSynchronize(s));
  }

private:
  int heads, dim, splits;
  std::vector<cudaStream_t> lanes;
  ScratchCache scratch;
};
