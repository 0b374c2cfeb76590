// Hierarchical KV cache: device pool -> pinned host pool, written through on a side stream.
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <vector>

#define HC_CHECK(x)                                                              \
  do {                                                                           \
    cudaError_t _e = (x);                                                        \
    if (_e != cudaSuccess) {                                                     \
      std::fprintf(stderr, "[hicache] %s: %s\n", #x, cudaGetErrorString(_e));    \
      std::exit(1);                                                              \
    }                                                                            \
  } while (0)

namespace hicache {

struct PoolConfig {
  int num_layers = 4;
  int page_size = 64;
  int num_pages = 128;
  int head_dim = 128;
  size_t layer_elems() const { return size_t(page_size) * num_pages * head_dim; }
  size_t page_elems() const { return size_t(page_size) * head_dim; }
};

__global__ void fa3_write_kv(float* kv, const int* page_ids, int page_elems, float token_bias) {
  float* page = kv + size_t(page_ids[blockIdx.x]) * page_elems;
  for (int i = threadIdx.x; i < page_elems; i += blockDim.x) page[i] = token_bias + i;
}

class DeviceKVPool {
 public:
  explicit DeviceKVPool(const PoolConfig& c) : cfg(c), layers(c.num_layers) {
    for (auto& l : layers) HC_CHECK(cudaMalloc(&l, c.layer_elems() * sizeof(float)));
    HC_CHECK(cudaMalloc(&page_ids, c.num_pages * sizeof(int)));
    std::vector<int> ids(c.num_pages);
    for (int i = 0; i < c.num_pages; ++i) ids[i] = i;
    HC_CHECK(cudaMemcpy(page_ids, ids.data(), ids.size() * sizeof(int), cudaMemcpyHostToDevice));
    HC_CHECK(cudaStreamSynchronize(cudaStreamLegacy));
  }
  ~DeviceKVPool() {
    for (auto l : layers) cudaFree(l);
    cudaFree(page_ids);
  }
  PoolConfig cfg;
  std::vector<float*> layers;
  int* page_ids = nullptr;
};

class HostKVPool {
 public:
  explicit HostKVPool(const PoolConfig& c) : layers(c.num_layers) {
    for (auto& l : layers) HC_CHECK(cudaHostAlloc(&l, c.layer_elems() * sizeof(float), cudaHostAllocDefault));
  }
  ~HostKVPool() {
    for (auto l : layers) cudaFreeHost(l);
  }
  std::vector<float*> layers;
};

class CacheController {
 public:
  CacheController(DeviceKVPool& d, HostKVPool& h) : dev_(d), host_(h) {
    HC_CHECK(cudaStreamCreateWithFlags(&write_stream_, cudaStreamNonBlocking));
    HC_CHECK(cudaEventCreateWithFlags(&start_event_, cudaEventDisableTiming));
    HC_CHECK(cudaEventCreateWithFlags(&last_write_finish_event_, cudaEventDisableTiming));
  }
  ~CacheController() {
    cudaStreamSynchronize(write_stream_);
    cudaEventDestroy(start_event_);
    cudaEventDestroy(last_write_finish_event_);
    cudaStreamDestroy(write_stream_);
  }

  // Back up all layers; called after the forward pass has been enqueued.
  void write_through(cudaStream_t forward_stream) {
    HC_CHECK(cudaEventRecord(start_event_, forward_stream));
    HC_CHECK(cudaStreamWaitEvent(write_stream_, start_event_, 0));
    for (size_t l = 0; l < dev_.layers.size(); ++l) {
      HC_CHECK(cudaMemcpyAsync(host_.layers[l], dev_.layers[l], dev_.cfg.layer_elems() * sizeof(float),
                               cudaMemcpyDeviceToHost, write_stream_));
    }
    HC_CHECK(cudaEventRecord(last_write_finish_event_, write_stream_));
    ++writes_in_flight_;
  }

  cudaEvent_t last_write_finish_event() const { return last_write_finish_event_; }
  int writes_in_flight() const { return writes_in_flight_; }
  void drain() {
    HC_CHECK(cudaEventSynchronize(last_write_finish_event_));
    writes_in_flight_ = 0;
  }

 private:
  DeviceKVPool& dev_;
  HostKVPool& host_;
  cudaStream_t write_stream_ = nullptr;
  cudaEvent_t start_event_ = nullptr, last_write_finish_event_ = nullptr;
  int writes_in_flight_ = 0;
};

class ModelRunner {
 public:
  ModelRunner(DeviceKVPool& pool, CacheController& ctl) : pool_(pool), ctl_(ctl) {
    HC_CHECK(cudaStreamCreateWithFlags(&forward_stream_, cudaStreamNonBlocking));
  }
  ~ModelRunner() {
    cudaStreamSynchronize(forward_stream_);
    cudaStreamDestroy(forward_stream_);
  }
  void forward(int step) {
    HC_CHECK(cudaStreamWaitEvent(forward_stream_, ctl_.last_write_finish_event(), 0));
    for (float* layer : pool_.layers) {
      fa3_write_kv<<<pool_.cfg.num_pages, 128, 0, forward_stream_>>>(
          layer, pool_.page_ids, int(pool_.cfg.page_elems()), float(step));
      HC_CHECK(cudaGetLastError());
    }
    ctl_.write_through(forward_stream_);
  }

 private:
  DeviceKVPool& pool_;
  CacheController& ctl_;
  cudaStream_t forward_stream_ = nullptr;
};

}  // namespace hicache

int main() {
  hicache::PoolConfig cfg;
  hicache::DeviceKVPool dev(cfg);
  hicache::HostKVPool host(cfg);
  hicache::CacheController controller(dev, host);
  hicache::ModelRunner runner(dev, controller);
  for (int step = 0; step < 8; ++step) runner.forward(step);
  controller.drain();
  std::printf("%f after %d writes\n", host.layers[0][0], controller.writes_in_flight());
  return 0;
}
