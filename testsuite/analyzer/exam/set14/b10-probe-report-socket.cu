// Network probe: packet statistics are computed on the device and exported as
// datagrams by a sender that knows nothing of CUDA.
#include <cuda_runtime.h>

#include <sys/socket.h>
#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#define PROBE_CUDA(expr)                                                   \
  do {                                                                     \
    if (cudaError_t e_ = (expr); e_ != cudaSuccess)                        \
      throw std::runtime_error(std::string("probe: ") + cudaGetErrorString(e_)); \
  } while (false)

namespace probe {

struct FlowRecord {
  uint32_t src;
  uint32_t dst;
  uint32_t packets;
  uint32_t bytes;
};

__global__ void countFlows(const uint4* headers, FlowRecord* flows, int packets, int nFlows) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= packets) return;
  uint4 h = headers[i];
  FlowRecord& f = flows[(h.x ^ h.y) % nFlows];
  atomicAdd(&f.packets, 1u);
  atomicAdd(&f.bytes, h.z);
}

class Exporter {
 public:
  explicit Exporter(int fd) : fd_(fd) {}
  size_t operator()(const void* data, size_t bytes) const {
    const auto* p = static_cast<const uint8_t*>(data);
    size_t sent = 0;
    while (sent < bytes) {
      ssize_t k = ::send(fd_, p + sent, std::min<size_t>(bytes - sent, 1400), 0);
      if (k <= 0) break;
      sent += static_cast<size_t>(k);
    }
    return sent;
  }

 private:
  int fd_;
};

class FlowTable {
 public:
  FlowTable(int nFlows, Exporter sink) : nFlows_(nFlows), sink_(sink) {
    const size_t bytes = nFlows * sizeof(FlowRecord);
    PROBE_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    PROBE_CUDA(cudaMalloc(reinterpret_cast<void**>(&flows_), bytes));
    PROBE_CUDA(cudaMallocHost(reinterpret_cast<void**>(&report_), bytes));
    PROBE_CUDA(cudaMemsetAsync(flows_, 0, bytes, stream_));
  }
  ~FlowTable() {
    cudaStreamSynchronize(stream_);
    cudaFree(flows_);
    cudaFreeHost(report_);
    cudaStreamDestroy(stream_);
  }
  FlowTable(const FlowTable&) = delete;
  FlowTable& operator=(const FlowTable&) = delete;

  void ingest(const uint4* headers, int packets, cudaEvent_t captured) {
    PROBE_CUDA(cudaStreamWaitEvent(stream_, captured, 0));
    countFlows<<<(packets + 255) / 256, 256, 0, stream_>>>(headers, flows_, packets, nFlows_);
    PROBE_CUDA(cudaGetLastError());
    pending_ += packets;
  }

  // Sends the table and starts a new interval.
  size_t flush() {
    if (pending_ == 0) return 0;
    fetch();
    const size_t sent = deliver();
    pending_ = 0;
    return sent;
  }

 private:
  size_t bytes() const { return nFlows_ * sizeof(FlowRecord); }

  void fetch() {
    PROBE_CUDA(cudaMemcpyAsync(report_, flows_, bytes(), cudaMemcpyDeviceToHost, stream_));
    PROBE_CUDA(cudaMemsetAsync(flows_, 0, bytes(), stream_));
  }

  size_t deliver() { return sink_(report_, bytes()); }

  int nFlows_;
  Exporter sink_;
  cudaStream_t stream_ = nullptr;
  FlowRecord* flows_ = nullptr;
  FlowRecord* report_ = nullptr;
  long pending_ = 0;
};

// Called by the capture loop for every burst of the network card.
void onBurst(FlowTable& table, const uint4* headers, int packets, cudaEvent_t captured,
             int& bursts) {
  table.ingest(headers, packets, captured);
  if (++bursts % 64 == 0) table.flush();
}

}  // namespace probe
