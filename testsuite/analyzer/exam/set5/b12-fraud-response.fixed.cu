#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace serving {

#define SERVE_CUDA(x) \
  do { cudaError_t r = (x); if (r != cudaSuccess) throw std::runtime_error(std::string(#x ": ") + cudaGetErrorString(r)); } while (0)

struct Node { int feature; float threshold; int left, right; float leaf; };

__global__ void walk_forest(const Node* nodes, const int* roots, int trees, const float* rows, int features, int n, float* score) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= n) return;
  float sum = 0.f;
  for (int t = 0; t < trees; ++t) {
    int k = roots[t];
    while (nodes[k].feature >= 0) k = rows[r * features + nodes[k].feature] < nodes[k].threshold ? nodes[k].left : nodes[k].right;
    sum += nodes[k].leaf;
  }
  score[r] = 1.f / (1.f + expf(-sum));
}

struct Request {
  uint64_t id;
  const float* rows;  // pinned
  int n;
};

using Responder = std::function<void(uint64_t, const float*, int)>;

// Output of one batch: scored on the device, delivered from page-locked memory.
class OutputTensor {
 public:
  OutputTensor(int capacity, cudaStream_t s) : stream_(s) {
    SERVE_CUDA(cudaMalloc(&device_, capacity * sizeof(float)));
    SERVE_CUDA(cudaHostAlloc(&host_, capacity * sizeof(float), cudaHostAllocDefault));
  }
  ~OutputTensor() {
    cudaStreamSynchronize(stream_);
    cudaFreeHost(host_);
    cudaFree(device_);
  }
  float* device() { return device_; }
  const float* host() const { return host_; }
  void sync(int n) {
    SERVE_CUDA(cudaMemcpyAsync(host_, device_, n * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    SERVE_CUDA(cudaStreamSynchronize(stream_));
  }

 private:
  cudaStream_t stream_;
  float* device_ = nullptr;
  float* host_ = nullptr;
};

class ForestModel {
 public:
  ForestModel(const std::vector<Node>& nodes, const std::vector<int>& roots, int features, int max_batch)
      : trees_(int(roots.size())), features_(features) {
    SERVE_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    SERVE_CUDA(cudaMalloc(&nodes_, nodes.size() * sizeof(Node)));
    SERVE_CUDA(cudaMalloc(&roots_, roots.size() * sizeof(int)));
    SERVE_CUDA(cudaMalloc(&rows_, sizeof(float) * features * max_batch));
    SERVE_CUDA(cudaMemcpy(nodes_, nodes.data(), nodes.size() * sizeof(Node), cudaMemcpyHostToDevice));
    SERVE_CUDA(cudaMemcpy(roots_, roots.data(), roots.size() * sizeof(int), cudaMemcpyHostToDevice));
    SERVE_CUDA(cudaDeviceSynchronize());
    out_ = new OutputTensor(max_batch, stream_);
  }
  ~ForestModel() {
    delete out_;
    cudaFree(rows_); cudaFree(roots_); cudaFree(nodes_);
    cudaStreamDestroy(stream_);
  }

  void execute(const std::vector<Request>& batch, const Responder& respond) {
    int total = 0;
    for (const Request& q : batch) {
      SERVE_CUDA(cudaMemcpyAsync(rows_ + size_t(total) * features_, q.rows, sizeof(float) * features_ * q.n,
                                 cudaMemcpyHostToDevice, stream_));
      total += q.n;
    }
    walk_forest<<<(total + 127) / 128, 128, 0, stream_>>>(nodes_, roots_, trees_, rows_, features_, total, out_->device());
    SERVE_CUDA(cudaGetLastError());
    out_->sync(total);
    deliver(batch, respond);
  }

 private:
  void deliver(const std::vector<Request>& batch, const Responder& respond) {
    const float* p = out_->host();
    for (const Request& q : batch) {
      respond(q.id, p, q.n);
      p += q.n;
    }
  }

  int trees_, features_;
  cudaStream_t stream_{};
  Node* nodes_ = nullptr;
  int* roots_ = nullptr;
  float* rows_ = nullptr;
  OutputTensor* out_ = nullptr;
};

}  // namespace serving

int main() {
  using namespace serving;
  std::vector<Node> nodes = {{0, 0.5f, 1, 2, 0.f}, {-1, 0.f, 0, 0, -1.f}, {-1, 0.f, 0, 0, 2.f}};
  ForestModel model(nodes, std::vector<int>(200, 0), 32, 4096);
  float* rows = nullptr;
  SERVE_CUDA(cudaMallocHost(&rows, sizeof(float) * 32 * 4096));
  for (int i = 0; i < 32 * 4096; ++i) rows[i] = (i % 13) / 13.f;
  std::unordered_map<uint64_t, std::vector<float>> inbox;
  std::vector<Request> batch = {{11, rows, 1000}, {12, rows + 32 * 1000, 3000}};
  model.execute(batch, [&](uint64_t id, const float* s, int n) {
    auto& v = inbox[id];
    v.resize(n);
    std::memcpy(v.data(), s, n * sizeof(float));
  });
  SERVE_CUDA(cudaDeviceSynchronize());
  cudaFreeHost(rows);
  std::printf("%zu responses, first score %f\n", inbox.size(), inbox[11][0]);
}
