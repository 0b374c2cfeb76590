// Distributed autograd: gradients arrive from the wire and are accumulated by the local engine.
#include <cuda_runtime.h>

#include <array>
#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace dist_autograd {

inline void check(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}

__global__ void dequantizeGrad(const signed char* wire, float* out, float scale, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = wire[i] * scale;
}

__global__ void accumulateGrad(float* acc, const float* g, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) acc[i] += g[i];
}

struct Stream {
  Stream() { check(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "stream"); }
  ~Stream() { cudaStreamDestroy(s); }
  Stream(const Stream&) = delete;
  cudaStream_t s{};
};

// A gradient as delivered by the transport. `ready` is recorded behind the decode kernel.
struct GradMessage {
  float* data = nullptr;
  int numel = 0;
  cudaEvent_t ready = nullptr;
};

class Transport {
 public:
  using Callback = std::function<void(GradMessage)>;
  void onMessage(Callback cb) { callback_ = std::move(cb); }

  // `wire` is registered device memory owned by the channel.
  void deliver(const signed char* wire, int n, float scale) {
    cudaStream_t s = pool_[next_++ % pool_.size()].s;
    GradMessage msg;
    msg.numel = n;
    check(cudaMallocAsync(reinterpret_cast<void**>(&msg.data), n * sizeof(float), s), "alloc");
    dequantizeGrad<<<(n + 255) / 256, 256, 0, s>>>(wire, msg.data, scale, n);
    check(cudaGetLastError(), "dequantizeGrad");
    check(cudaEventCreateWithFlags(&msg.ready, cudaEventDisableTiming), "event");
    check(cudaEventRecord(msg.ready, s), "record");
    callback_(msg);
  }
  void drain() {
    for (auto& s : pool_) check(cudaStreamSynchronize(s.s), "drain");
  }

 private:
  std::array<Stream, 4> pool_;
  size_t next_ = 0;
  Callback callback_;
};

struct Node {
  virtual ~Node() = default;
  virtual void apply(const GradMessage& g, cudaStream_t stream) = 0;
};

class SendRpcBackward final : public Node {
 public:
  explicit SendRpcBackward(int n) : numel_(n) {
    check(cudaMalloc(reinterpret_cast<void**>(&grad_), n * sizeof(float)), "grad");
  }
  ~SendRpcBackward() override { cudaFree(grad_); }
  void zero(cudaStream_t stream) { check(cudaMemsetAsync(grad_, 0, numel_ * sizeof(float), stream), "zero"); }
  void apply(const GradMessage& g, cudaStream_t stream) override {
    accumulateGrad<<<(g.numel + 255) / 256, 256, 0, stream>>>(grad_, g.data, g.numel);
    check(cudaGetLastError(), "accumulateGrad");
  }
  const float* grad() const { return grad_; }

 private:
  float* grad_ = nullptr;
  int numel_;
};

class DistEngine {
 public:
  void attach(Transport& t, Node& node) {
    t.onMessage([this, &node](GradMessage m) { execute(node, m); });
  }
  cudaStream_t stream() const { return compute_.s; }
  void finalize() { check(cudaStreamSynchronize(compute_.s), "finalize"); }

 private:
  void execute(Node& node, GradMessage& m) {
    check(cudaStreamWaitEvent(compute_.s, m.ready, 0), "wait");
    node.apply(m, compute_.s);
    check(cudaFreeAsync(m.data, compute_.s), "free");
    check(cudaEventDestroy(m.ready), "event destroy");
  }
  Stream compute_;
};

}  // namespace dist_autograd

void backwardPass(const std::vector<const signed char*>& wires, int n, float* hostGrad) {
  using namespace dist_autograd;
  Transport transport;
  DistEngine engine;
  SendRpcBackward node(n);
  node.zero(engine.stream());
  engine.attach(transport, node);
  for (auto* w : wires) transport.deliver(w, n, 1.f / 127.f);
  engine.finalize();
  transport.drain();
  check(cudaMemcpy(hostGrad, node.grad(), n * sizeof(float), cudaMemcpyDeviceToHost), "result");
}
