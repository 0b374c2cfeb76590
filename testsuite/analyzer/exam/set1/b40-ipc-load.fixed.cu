// Cache server side: moves KV pages between the engine's memory (another
// process) and page-locked host memory.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

namespace kvserver {

void try_cuda(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

// What the engine sends with a request. `ready` was recorded behind all the
// engine's work on the pages.
struct Request {
  cudaIpcMemHandle_t pool;
  cudaIpcEventHandle_t ready;
  std::vector<uint32_t> pages;
};

class ImportedEvent {
 public:
  explicit ImportedEvent(const cudaIpcEventHandle_t& h) { try_cuda(cudaIpcOpenEventHandle(&event_, h)); }
  ~ImportedEvent() { cudaEventDestroy(event_); }
  ImportedEvent(const ImportedEvent&) = delete;
  void gate(cudaStream_t s) const { try_cuda(cudaStreamWaitEvent(s, event_, 0)); }

 private:
  cudaEvent_t event_ = nullptr;
};

class ImportedPool {
 public:
  explicit ImportedPool(const cudaIpcMemHandle_t& h) {
    try_cuda(cudaIpcOpenMemHandle(&base_, h, cudaIpcMemLazyEnablePeerAccess));
  }
  ~ImportedPool() { cudaIpcCloseMemHandle(base_); }
  ImportedPool(const ImportedPool&) = delete;
  std::byte* page(uint32_t i, size_t bytes) const { return static_cast<std::byte*>(base_) + i * bytes; }

 private:
  void* base_ = nullptr;
};

class Worker {
 public:
  explicit Worker(size_t page_bytes) : page_bytes_(page_bytes) {
    try_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~Worker() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
    for (auto& kv : host_) cudaFreeHost(kv.second);
  }
  Worker(const Worker&) = delete;

  // Engine -> host. The pages are in the cache when it returns.
  void store(const Request& rq, const std::vector<uint64_t>& keys) {
    transfer(rq, keys, cudaMemcpyDeviceToHost);
  }

  // Host -> engine: overwrites pages that the engine's older work may still read.
  void load(const Request& rq, const std::vector<uint64_t>& keys) {
    transfer(rq, keys, cudaMemcpyHostToDevice);
  }

 private:
  void transfer(const Request& rq, const std::vector<uint64_t>& keys, cudaMemcpyKind kind) {
    std::vector<void*> slots;
    for (uint64_t key : keys) slots.push_back(slot(key));

    ImportedPool pool(rq.pool);
    ImportedEvent ready(rq.ready);
    ready.gate(stream_);
    for (size_t i = 0; i < slots.size() && i < rq.pages.size(); ++i) {
      std::byte* device = pool.page(rq.pages[i], page_bytes_);
      void* host = slots[i];
      if (kind == cudaMemcpyDeviceToHost)
        try_cuda(cudaMemcpyAsync(host, device, page_bytes_, kind, stream_));
      else
        try_cuda(cudaMemcpyAsync(device, host, page_bytes_, kind, stream_));
    }
    try_cuda(cudaStreamSynchronize(stream_));  // the mappings go away
  }

  void* slot(uint64_t key) {
    void*& p = host_[key];
    if (p == nullptr) try_cuda(cudaMallocHost(&p, page_bytes_));
    return p;
  }

  size_t page_bytes_;
  cudaStream_t stream_ = nullptr;
  std::unordered_map<uint64_t, void*> host_;
};

}  // namespace kvserver
