// Document scoring service: one worker thread per shard, each on its own per-thread stream.
#include <cuda_runtime.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace scoring {

struct CudaError : std::runtime_error {
  CudaError(cudaError_t e, const char* file, int line)
      : std::runtime_error(std::string(file) + ":" + std::to_string(line) + " " + cudaGetErrorString(e)) {}
};
#define SC_TRY(e) do { cudaError_t err = (e); if (err) throw ::scoring::CudaError(err, __FILE__, __LINE__); } while (0)

__global__ void build_weights(float* w, int dim) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < dim) w[i] = 1.0f / (1 + i);
}

__global__ void score(const float* docs, const float* w, float* out, int n, int dim) {
  int d = blockIdx.x * blockDim.x + threadIdx.x;
  if (d >= n) return;
  float s = 0;
  for (int k = 0; k < dim; ++k) s += docs[d * dim + k] * w[k];
  out[d] = s;
}

class SharedWeights {
 public:
  explicit SharedWeights(int dim) : dim_(dim) {
    SC_TRY(cudaMalloc(&w_, dim * sizeof(float)));
    build_weights<<<(dim + 63) / 64, 64, 0, cudaStreamPerThread>>>(w_, dim);
    SC_TRY(cudaGetLastError());
    // workers run on other streams
    SC_TRY(cudaStreamSynchronize(cudaStreamPerThread));
  }
  ~SharedWeights() { cudaFree(w_); }
  SharedWeights(const SharedWeights&) = delete;
  const float* get() const { return w_; }
  int dim() const { return dim_; }

 private:
  float* w_ = nullptr;
  int dim_;
};

class ShardWorker {
 public:
  ShardWorker(const SharedWeights& w, int max_docs) : w_(w), max_docs_(max_docs) {
    SC_TRY(cudaMalloc(&docs_, sizeof(float) * max_docs * w.dim()));
    SC_TRY(cudaMalloc(&out_, sizeof(float) * max_docs));
    SC_TRY(cudaMallocHost(&host_out_, sizeof(float) * max_docs));
  }
  ~ShardWorker() {
    cudaFree(docs_);
    cudaFree(out_);
    cudaFreeHost(host_out_);
  }
  ShardWorker(const ShardWorker&) = delete;

  float best(const std::vector<float>& docs) {
    const int n = static_cast<int>(docs.size()) / w_.dim();
    if (n > max_docs_) throw std::length_error("shard too large");
    const cudaStream_t s = cudaStreamPerThread;
    SC_TRY(cudaMemcpyAsync(docs_, docs.data(), docs.size() * sizeof(float), cudaMemcpyHostToDevice, s));
    score<<<(n + 127) / 128, 128, 0, s>>>(docs_, w_.get(), out_, n, w_.dim());
    SC_TRY(cudaGetLastError());
    SC_TRY(cudaMemcpyAsync(host_out_, out_, n * sizeof(float), cudaMemcpyDeviceToHost, s));
    SC_TRY(cudaStreamSynchronize(s));
    float b = host_out_[0];
    for (int i = 1; i < n; ++i) b = host_out_[i] > b ? host_out_[i] : b;
    return b;
  }

 private:
  const SharedWeights& w_;
  int max_docs_;
  float *docs_ = nullptr, *out_ = nullptr, *host_out_ = nullptr;
};

}  // namespace scoring

std::vector<float> score_shards(const std::vector<std::vector<float>>& shards, int dim) {
  scoring::SharedWeights weights(dim);
  std::vector<float> best(shards.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < shards.size(); ++i) {
    threads.emplace_back([&, i] {
      scoring::ShardWorker worker(weights, static_cast<int>(shards[i].size()) / dim);
      best[i] = worker.best(shards[i]);
    });
  }
  for (auto& t : threads) t.join();
  return best;
}
