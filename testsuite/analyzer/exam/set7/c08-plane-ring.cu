// Heat equation on a ring of GPUs: each device sends its last plane to the next one, device to device.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define CU(x)                                                                \
  do {                                                                       \
    cudaError_t e_ = (x);                                                    \
    if (e_ != cudaSuccess) {                                                 \
      std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e_));          \
      std::exit(1);                                                          \
    }                                                                        \
  } while (0)

constexpr int kPlane = 256 * 256;
constexpr int kPlanes = 16;

__global__ void fillSlab(float* slab, int n, float value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) slab[i] = value;
}

__global__ void diffuse(const float* from, float* to) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kPlane) return;
  for (int p = 1; p < kPlanes; ++p)
    to[p * kPlane + i] = 0.5f * (from[p * kPlane + i] + from[(p - 1) * kPlane + i]);
  to[i] = from[i];
}

__global__ void applyInflow(float* slab, const float* inbox) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kPlane) slab[i] = 0.5f * (slab[i] + inbox[i]);
}

struct Node {
  int device = 0;
  cudaStream_t stream = nullptr;
  float* now = nullptr;
  float* next = nullptr;
  float* inbox = nullptr;
  cudaEvent_t sent = nullptr;      // this node's plane has left
  cudaEvent_t consumed = nullptr;  // this node's inbox has been read

  float* lastPlane() { return now + static_cast<size_t>(kPlanes - 1) * kPlane; }
};

class HeatRing {
 public:
  explicit HeatRing(int devices) : nodes_(devices) {
    for (int d = 0; d < devices; ++d) {
      Node& n = nodes_[d];
      n.device = d;
      CU(cudaSetDevice(d));
      CU(cudaStreamCreateWithFlags(&n.stream, cudaStreamNonBlocking));
      CU(cudaMalloc(&n.now, sizeof(float) * kPlane * kPlanes));
      CU(cudaMalloc(&n.next, sizeof(float) * kPlane * kPlanes));
      CU(cudaMalloc(&n.inbox, sizeof(float) * kPlane));
      CU(cudaEventCreateWithFlags(&n.sent, cudaEventDisableTiming));
      CU(cudaEventCreateWithFlags(&n.consumed, cudaEventDisableTiming));
      const int cells = kPlane * kPlanes;
      fillSlab<<<(cells + 255) / 256, 256, 0, n.stream>>>(n.now, cells, static_cast<float>(d + 1));
      CU(cudaGetLastError());
    }
  }

  ~HeatRing() {
    for (Node& n : nodes_) {
      CU(cudaSetDevice(n.device));
      CU(cudaStreamSynchronize(n.stream));
    }
    for (Node& n : nodes_) {
      CU(cudaSetDevice(n.device));
      CU(cudaFree(n.now));
      CU(cudaFree(n.next));
      CU(cudaFree(n.inbox));
      CU(cudaEventDestroy(n.sent));
      CU(cudaEventDestroy(n.consumed));
      CU(cudaStreamDestroy(n.stream));
    }
  }
  HeatRing(const HeatRing&) = delete;
  HeatRing& operator=(const HeatRing&) = delete;

  void step() {
    for (Node& n : nodes_) sendPlane(n);
    for (Node& n : nodes_) advance(n);
  }

  double mean() {
    std::vector<float> host(static_cast<size_t>(kPlane) * kPlanes);
    double sum = 0;
    for (Node& n : nodes_) {
      CU(cudaSetDevice(n.device));
      CU(cudaMemcpyAsync(host.data(), n.now, host.size() * sizeof(float), cudaMemcpyDeviceToHost, n.stream));
      CU(cudaStreamSynchronize(n.stream));
      for (float v : host) sum += v;
    }
    return sum / (static_cast<double>(host.size()) * nodes_.size());
  }

 private:
  Node& following(const Node& n) { return nodes_[(n.device + 1) % nodes_.size()]; }
  Node& preceding(const Node& n) { return nodes_[(n.device + nodes_.size() - 1) % nodes_.size()]; }

  // The copy runs in the sender's stream; the receiver's inbox must be free.
  void sendPlane(Node& n) {
    Node& to = following(n);
    CU(cudaSetDevice(n.device));
    CU(cudaStreamWaitEvent(n.stream, to.consumed, 0));
    CU(cudaMemcpyPeerAsync(to.inbox, to.device, n.lastPlane(), n.device, sizeof(float) * kPlane, n.stream));
    CU(cudaEventRecord(n.sent, n.stream));
  }

  void advance(Node& n) {
    CU(cudaSetDevice(n.device));
    diffuse<<<(kPlane + 255) / 256, 256, 0, n.stream>>>(n.now, n.next);
    CU(cudaGetLastError());
    CU(cudaStreamWaitEvent(n.stream, preceding(n).sent, 0));
    applyInflow<<<(kPlane + 255) / 256, 256, 0, n.stream>>>(n.next, n.inbox);
    CU(cudaGetLastError());
    CU(cudaEventRecord(n.consumed, n.stream));
    std::swap(n.now, n.next);
  }

  std::vector<Node> nodes_;
};

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 100;
  int devices = 0;
  CU(cudaGetDeviceCount(&devices));
  if (devices == 0) return 0;
  HeatRing ring(devices);
  for (int s = 0; s < steps; ++s) ring.step();
  std::printf("%d devices, mean %.6f\n", devices, ring.mean());
  return 0;
}
