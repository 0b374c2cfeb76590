// Multi-GPU tomography: every device back-projects its share of the views into a partial
// volume, then sums the partial volumes of all devices through peer access.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define TOMO_CHECK(x)                                                              \
  do {                                                                             \
    cudaError_t tomo_rc = (x);                                                     \
    if (tomo_rc != cudaSuccess) {                                                  \
      std::fprintf(stderr, "%s (%s:%d)\n", cudaGetErrorString(tomo_rc), __FILE__, __LINE__); \
      std::exit(2);                                                                \
    }                                                                              \
  } while (0)

namespace tomo {

constexpr int kMaxDevices = 8;
constexpr int kSide = 256;
constexpr int kVoxels = kSide * kSide * kSide;

struct Peers {
  const float* partial[kMaxDevices];
  int count;
};

__global__ void back_project(float* __restrict__ partial, int first_view, int views) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < kVoxels; i += gridDim.x * blockDim.x) {
    const int x = i % kSide - kSide / 2;
    const int y = i / kSide % kSide - kSide / 2;
    float sum = 0.f;
    for (int v = first_view; v < first_view + views; ++v) {
      float s, c;
      sincospif(v / 180.f, &s, &c);
      sum += __expf(-fabsf(x * c + y * s) / kSide);
    }
    partial[i] = sum;
  }
}

__global__ void sum_partials(Peers peers, float* __restrict__ volume, float relaxation) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < kVoxels; i += gridDim.x * blockDim.x) {
    float sum = 0.f;
    for (int p = 0; p < peers.count; ++p) sum += peers.partial[p][i];
    volume[i] += relaxation * sum;
  }
}

class Node {
 public:
  explicit Node(int device) : device_(device) {
    activate();
    TOMO_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    TOMO_CHECK(cudaEventCreateWithFlags(&projected_, cudaEventDisableTiming));
    TOMO_CHECK(cudaEventCreateWithFlags(&summed_, cudaEventDisableTiming));
    TOMO_CHECK(cudaMalloc(&partial_, kVoxels * sizeof(float)));
    TOMO_CHECK(cudaMalloc(&volume_, kVoxels * sizeof(float)));
    TOMO_CHECK(cudaMemsetAsync(volume_, 0, kVoxels * sizeof(float), stream_));
  }
  ~Node() {
    activate();
    cudaFree(volume_);
    cudaFree(partial_);
    cudaEventDestroy(summed_);
    cudaEventDestroy(projected_);
    cudaStreamDestroy(stream_);
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  void enable_peer(const Node& other) {
    activate();
    int possible = 0;
    TOMO_CHECK(cudaDeviceCanAccessPeer(&possible, device_, other.device_));
    if (!possible) {
      std::fprintf(stderr, "device %d cannot read device %d\n", device_, other.device_);
      std::exit(2);
    }
    TOMO_CHECK(cudaDeviceEnablePeerAccess(other.device_, 0));
  }

  void project(int first_view, int views) {
    activate();
    back_project<<<1024, 256, 0, stream_>>>(partial_, first_view, views);
    TOMO_CHECK(cudaGetLastError());
    TOMO_CHECK(cudaEventRecord(projected_, stream_));
  }

  void reduce(const std::vector<std::unique_ptr<Node>>& nodes, float relaxation) {
    activate();
    Peers peers{};
    for (const auto& n : nodes) {
      TOMO_CHECK(cudaStreamWaitEvent(stream_, n->projected_, 0));
      peers.partial[peers.count++] = n->partial_;
    }
    sum_partials<<<1024, 256, 0, stream_>>>(peers, volume_, relaxation);
    TOMO_CHECK(cudaGetLastError());
    TOMO_CHECK(cudaEventRecord(summed_, stream_));
  }

  // Lets later work of this node start only when `other` has summed.
  void follow(const Node& other) {
    activate();
    TOMO_CHECK(cudaStreamWaitEvent(stream_, other.summed_, 0));
  }

  void synchronize() const { TOMO_CHECK(cudaStreamSynchronize(stream_)); }

  float centre() const {
    activate();
    float v = 0.f;
    const int middle = kVoxels / 2 + kSide / 2;
    TOMO_CHECK(cudaMemcpyAsync(&v, volume_ + middle, sizeof v, cudaMemcpyDeviceToHost, stream_));
    TOMO_CHECK(cudaStreamSynchronize(stream_));
    return v;
  }

 private:
  void activate() const { TOMO_CHECK(cudaSetDevice(device_)); }

  int device_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t projected_ = nullptr;
  cudaEvent_t summed_ = nullptr;
  float* partial_ = nullptr;
  float* volume_ = nullptr;
};

class Reconstruction {
 public:
  explicit Reconstruction(int devices) {
    for (int d = 0; d < devices; ++d) nodes_.push_back(std::make_unique<Node>(d));
    for (auto& a : nodes_)
      for (auto& b : nodes_)
        if (a != b) a->enable_peer(*b);
  }
  ~Reconstruction() { finish(); }

  void iterate(int subset, int views_per_node, float relaxation) {
    const int views = views_per_node * static_cast<int>(nodes_.size());
    for (std::size_t d = 0; d < nodes_.size(); ++d)
      nodes_[d]->project(subset * views + static_cast<int>(d) * views_per_node, views_per_node);
    for (auto& n : nodes_) n->reduce(nodes_, relaxation);
    for (auto& a : nodes_)
      for (auto& b : nodes_)
        if (a != b) a->follow(*b);
  }

  void finish() const {
    for (const auto& n : nodes_) n->synchronize();
  }
  float centre(std::size_t d) const { return nodes_.at(d)->centre(); }
  std::size_t size() const { return nodes_.size(); }

 private:
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace tomo

int main() {
  int devices = 0;
  TOMO_CHECK(cudaGetDeviceCount(&devices));
  if (devices < 2) {
    std::puts("needs two devices");
    return 0;
  }
  tomo::Reconstruction rec(devices < tomo::kMaxDevices ? devices : tomo::kMaxDevices);
  for (int subset = 0; subset < 12; ++subset) rec.iterate(subset, 15, 0.05f);
  rec.finish();
  for (std::size_t d = 0; d < rec.size(); ++d) std::printf("device %zu: %.5f\n", d, rec.centre(d));
}
