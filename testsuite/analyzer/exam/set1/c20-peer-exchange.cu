// Ring shift between the GPUs of one process.
#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace ring {

#define RING_TRY(x)                                                                   \
  do {                                                                                \
    cudaError_t ring_e = (x);                                                         \
    if (ring_e != cudaSuccess)                                                        \
      throw std::runtime_error(std::string(#x ": ") + cudaGetErrorString(ring_e));    \
  } while (0)

class DeviceScope {
 public:
  explicit DeviceScope(int device) {
    RING_TRY(cudaGetDevice(&before_));
    RING_TRY(cudaSetDevice(device));
  }
  ~DeviceScope() { cudaSetDevice(before_); }
  DeviceScope(const DeviceScope&) = delete;

 private:
  int before_ = 0;
};

__global__ void accumulate(const float* in, float* acc, size_t n) {
  size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (i < n) acc[i] += in[i];
}

// One per GPU. `slot[turn & 1]` travels around the ring.
struct Node {
  int device;
  cudaStream_t stream = nullptr;
  float* slot[2] = {nullptr, nullptr};
  cudaEvent_t sent[2] = {nullptr, nullptr};  // the copy out of slot[i] is done
  cudaEvent_t used = nullptr;                // everything enqueued so far is done

  Node(int dev, size_t n) : device(dev) {
    DeviceScope scope(device);
    RING_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    RING_TRY(cudaEventCreateWithFlags(&used, cudaEventDisableTiming));
    for (int i = 0; i < 2; ++i) {
      RING_TRY(cudaMalloc(&slot[i], n * sizeof(float)));
      RING_TRY(cudaEventCreateWithFlags(&sent[i], cudaEventDisableTiming));
    }
  }
  ~Node() {
    cudaSetDevice(device);
    for (int i = 0; i < 2; ++i) {
      cudaEventDestroy(sent[i]);
      cudaFree(slot[i]);
    }
    cudaEventDestroy(used);
    cudaStreamDestroy(stream);
  }
  Node(const Node&) = delete;
};

class Ring {
 public:
  Ring(int devices, size_t n) : n_(n) {
    for (int d = 0; d < devices; ++d) nodes_.push_back(std::make_unique<Node>(d, n));
  }
  ~Ring() {
    // A stream writes to its neighbour's memory: drain all before any goes.
    for (auto& n : nodes_) cudaStreamSynchronize(n->stream);
  }

  // acc[d] += sum over all devices of input[d]; both complete on the device.
  void all_sum(const std::vector<const float*>& input, const std::vector<float*>& acc) {
    const int count = static_cast<int>(nodes_.size());
    for (int d = 0; d < count; ++d) {
      Node& nd = *nodes_[d];
      DeviceScope scope(nd.device);
      RING_TRY(cudaMemcpyAsync(nd.slot[0], input[d], bytes(), cudaMemcpyDeviceToDevice, nd.stream));
      add(nd, 0, acc[d]);
      RING_TRY(cudaEventRecord(nd.used, nd.stream));
    }
    for (int turn = 0; turn + 1 < count; ++turn) shift(turn & 1, acc);
    for (auto& nd : nodes_) RING_TRY(cudaStreamSynchronize(nd->stream));
  }

 private:
  size_t bytes() const { return n_ * sizeof(float); }

  void add(Node& nd, int from, float* acc) {
    accumulate<<<static_cast<unsigned>((n_ + 255) / 256), 256, 0, nd.stream>>>(nd.slot[from], acc, n_);
    RING_TRY(cudaGetLastError());
  }

  // slot[from] of each node goes to slot[!from] of its right neighbour.
  void shift(int from, const std::vector<float*>& acc) {
    const size_t count = nodes_.size();
    for (size_t d = 0; d < count; ++d) {
      Node& src = *nodes_[d];
      Node& dst = *nodes_[(d + 1) % count];
      DeviceScope scope(src.device);
      // The neighbour has to be through with the slot that we overwrite.
      RING_TRY(cudaStreamWaitEvent(src.stream, dst.used, 0));
      RING_TRY(cudaMemcpyPeerAsync(dst.slot[!from], dst.device, src.slot[from], src.device, bytes(), src.stream));
      RING_TRY(cudaEventRecord(src.sent[from], src.stream));
    }
    for (size_t d = 0; d < count; ++d) {
      Node& src = *nodes_[(d + count - 1) % count];
      Node& nd = *nodes_[d];
      DeviceScope scope(nd.device);
      RING_TRY(cudaStreamWaitEvent(nd.stream, src.sent[from], 0));
      add(nd, !from, acc[d]);
      RING_TRY(cudaEventRecord(nd.used, nd.stream));
    }
  }

  size_t n_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace ring
