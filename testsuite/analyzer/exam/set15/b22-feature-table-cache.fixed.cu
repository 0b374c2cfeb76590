// Feature tables for the product ranking service. Tables are uploaded lazily, by whichever request worker needs them first; the
// other workers share the device copy.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#define RANK_CHECK(expr)                                                                                \
  do {                                                                                                  \
    const cudaError_t err__ = (expr);                                                                   \
    if (err__ != cudaSuccess) {                                                                         \
      std::fprintf(stderr, "%s:%d %s: %s\n", __FILE__, __LINE__, #expr, cudaGetErrorString(err__));     \
      std::abort();                                                                                     \
    }                                                                                                   \
  } while (0)

namespace ranking {

__global__ void score_products(const float* table, const int* product_ids, float* scores, int n, int dim) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float acc = 0.f;
  for (int d = 0; d < dim; ++d) acc += table[product_ids[i] * dim + d] * (1.f + 0.01f * d);
  scores[i] = acc;
}

class DeviceTable {
 public:
  explicit DeviceTable(const std::vector<float>& values) : count_(values.size()) {
    RANK_CHECK(cudaMallocHost(&staging_, count_ * sizeof(float)));
    std::copy(values.begin(), values.end(), staging_);
    RANK_CHECK(cudaMalloc(&device_, count_ * sizeof(float)));
    RANK_CHECK(cudaEventCreateWithFlags(&uploaded_, cudaEventDisableTiming));
  }
  ~DeviceTable() {
    cudaDeviceSynchronize();
    cudaEventDestroy(uploaded_);
    cudaFree(device_);
    cudaFreeHost(staging_);
  }
  DeviceTable(const DeviceTable&) = delete;
  DeviceTable& operator=(const DeviceTable&) = delete;

  const float* acquire(cudaStream_t stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!requested_) {
      upload(stream);
      requested_ = true;
    } else {
      RANK_CHECK(cudaStreamWaitEvent(stream, uploaded_, 0));
    }
    return device_;
  }

 private:
  void upload(cudaStream_t stream) {
    RANK_CHECK(cudaMemcpyAsync(device_, staging_, count_ * sizeof(float), cudaMemcpyHostToDevice, stream));
    RANK_CHECK(cudaEventRecord(uploaded_, stream));
  }

  std::mutex mutex_;
  bool requested_ = false;
  std::size_t count_;
  float* staging_ = nullptr;
  float* device_ = nullptr;
  cudaEvent_t uploaded_ = nullptr;
};

class TableRegistry {
 public:
  void add(const std::string& name, const std::vector<float>& values) {
    tables_[name] = std::make_unique<DeviceTable>(values);
  }
  DeviceTable& at(const std::string& name) { return *tables_.at(name); }

 private:
  std::map<std::string, std::unique_ptr<DeviceTable>> tables_;
};

// One worker per request lane; each lane owns its stream and its scratch.
class Worker {
 public:
  Worker(int max_products, int dim) : capacity_(max_products), dim_(dim) {
    RANK_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    RANK_CHECK(cudaMalloc(&ids_, capacity_ * sizeof(int)));
    RANK_CHECK(cudaMalloc(&scores_, capacity_ * sizeof(float)));
    RANK_CHECK(cudaMemsetAsync(ids_, 0, capacity_ * sizeof(int), stream_));
    RANK_CHECK(cudaMallocHost(&result_, capacity_ * sizeof(float)));
  }
  ~Worker() {
    cudaStreamSynchronize(stream_);
    cudaFreeHost(result_);
    cudaFree(scores_);
    cudaFree(ids_);
    cudaStreamDestroy(stream_);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void submit(DeviceTable& table, int n) {
    const float* features = table.acquire(stream_);
    score_products<<<(n + 127) / 128, 128, 0, stream_>>>(features, ids_, scores_, n, dim_);
    RANK_CHECK(cudaGetLastError());
    RANK_CHECK(cudaMemcpyAsync(result_, scores_, n * sizeof(float), cudaMemcpyDeviceToHost, stream_));
  }

  const float* finish() {
    RANK_CHECK(cudaStreamSynchronize(stream_));
    return result_;
  }

 private:
  int capacity_;
  int dim_;
  cudaStream_t stream_ = nullptr;
  int* ids_ = nullptr;
  float* scores_ = nullptr;
  float* result_ = nullptr;
};

}  // namespace ranking

int main() {
  constexpr int kDim = 64;
  constexpr int kProducts = 1 << 16;
  ranking::TableRegistry registry;
  registry.add("price", std::vector<float>(kProducts * kDim, 0.5f));

  ranking::Worker first(1024, kDim);
  ranking::Worker second(1024, kDim);
  first.submit(registry.at("price"), 1024);
  second.submit(registry.at("price"), 1024);

  const float a = first.finish()[0];
  const float b = second.finish()[0];
  std::printf("lane 0: %f, lane 1: %f\n", a, b);
  return a == b ? 0 : 1;
}
