// Runs a static list of image nodes on two lanes (streams). Values are written once per run; waits
// between lanes are skipped when an earlier wait already covers them.
#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace compositor {

inline void cu(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

constexpr int kLanes = 2;
using ValueId = int;

struct Node {
  int lane;
  std::vector<ValueId> inputs;
  ValueId output;
  std::function<void(cudaStream_t)> launch;
};

class LaneScheduler {
 public:
  explicit LaneScheduler(int values) : values_(values) {
    for (Lane& l : lanes_) {
      cu(cudaStreamCreateWithFlags(&l.stream, cudaStreamNonBlocking));
      cu(cudaEventCreateWithFlags(&l.end, cudaEventDisableTiming));
    }
    for (Value& v : values_) cu(cudaEventCreateWithFlags(&v.written, cudaEventDisableTiming));
    cu(cudaEventCreateWithFlags(&begin_, cudaEventDisableTiming));
  }
  ~LaneScheduler() {
    for (Lane& l : lanes_) cudaStreamSynchronize(l.stream);
    for (Lane& l : lanes_) {
      cudaEventDestroy(l.end);
      cudaStreamDestroy(l.stream);
    }
    for (Value& v : values_) cudaEventDestroy(v.written);
    cudaEventDestroy(begin_);
  }
  LaneScheduler(const LaneScheduler&) = delete;
  LaneScheduler& operator=(const LaneScheduler&) = delete;

  void add(Node n) { nodes_.push_back(std::move(n)); }

  // Everything is ordered after earlier and before later work of `caller`.
  void run(cudaStream_t caller) {
    cu(cudaEventRecord(begin_, caller));
    for (Lane& l : lanes_) {
      l.issued = 0;
      l.seen.fill(0);
      cu(cudaStreamWaitEvent(l.stream, begin_, 0));
    }
    for (const Node& n : nodes_) {
      prepare(n);
      n.launch(lanes_[n.lane].stream);
      publish(n);
    }
    for (Lane& l : lanes_) {
      cu(cudaEventRecord(l.end, l.stream));
      cu(cudaStreamWaitEvent(caller, l.end, 0));
    }
  }

 private:
  struct Lane {
    cudaStream_t stream = nullptr;
    cudaEvent_t end = nullptr;
    unsigned issued = 0;
    std::array<unsigned, kLanes> seen{};  // how much of every other lane is known to be done
  };
  struct Value {
    cudaEvent_t written = nullptr;
    int lane = 0;
    unsigned number = 0;
  };

  void prepare(const Node& n) {
    Lane& self = lanes_[n.lane];
    for (ValueId in : n.inputs) {
      const Value& v = values_[in];
      if (v.lane == n.lane || self.seen[v.lane] >= v.number) continue;
      cu(cudaStreamWaitEvent(self.stream, v.written, 0));
      self.seen[v.lane] = lanes_[v.lane].issued;
    }
  }

  void publish(const Node& n) {
    Lane& self = lanes_[n.lane];
    Value& v = values_[n.output];
    v.lane = n.lane;
    v.number = ++self.issued;
    cu(cudaEventRecord(v.written, self.stream));
  }

  std::array<Lane, kLanes> lanes_;
  std::vector<Value> values_;
  std::vector<Node> nodes_;
  cudaEvent_t begin_ = nullptr;
};

__global__ void tonemap(const float* hdr, float* ldr, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) ldr[i] = hdr[i] / (1.f + hdr[i]);
}

__global__ void softMask(const float* depth, float* mask, int n, float nearPlane) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) mask[i] = fminf(depth[i] / nearPlane, 1.f);
}

__global__ void glow(const float* ldr, float* halo, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) halo[i] = 0.5f * (ldr[i] + ldr[i > 0 ? i - 1 : 0]);
}

__global__ void composite(const float* halo, const float* mask, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = halo[i] * mask[i];
}

struct Buffers {
  const float *hdr, *depth;
  float *ldr, *mask, *halo, *out;
  int n;
};

// ldr(0) and mask(1) on lane 0, halo(2) and out(3) on lane 1.
void buildPreview(LaneScheduler& s, const Buffers& b) {
  const int grid = (b.n + 255) / 256;
  s.add({0, {}, 0, [b, grid](cudaStream_t st) { tonemap<<<grid, 256, 0, st>>>(b.hdr, b.ldr, b.n); }});
  s.add({0, {}, 1, [b, grid](cudaStream_t st) { softMask<<<grid, 256, 0, st>>>(b.depth, b.mask, b.n, 0.1f); }});
  s.add({1, {0}, 2, [b, grid](cudaStream_t st) { glow<<<grid, 256, 0, st>>>(b.ldr, b.halo, b.n); }});
  s.add({1, {2, 1}, 3, [b, grid](cudaStream_t st) { composite<<<grid, 256, 0, st>>>(b.halo, b.mask, b.out, b.n); }});
}

}  // namespace compositor
