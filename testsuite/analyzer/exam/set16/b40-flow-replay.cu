// Optical-flow engine: the kernels of each image size are captured once and replayed for every frame.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

#define FLOW_CHECK(e)                                                                       \
  do {                                                                                      \
    cudaError_t rc = (e);                                                                   \
    if (rc != cudaSuccess) {                                                                \
      std::fprintf(stderr, "flow %s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(rc));  \
      std::abort();                                                                         \
    }                                                                                       \
  } while (0)

namespace flow {

struct Size {
  int w, h;
  bool operator<(const Size& o) const { return w != o.w ? w < o.w : h < o.h; }
  size_t pixels() const { return size_t(w) * h; }
};

__global__ void derivatives(const float* prev, const float* next, float* ix, float* it, int w, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  ix[i] = (i % w == 0) ? 0.f : prev[i] - prev[i - 1];
  it[i] = next[i] - prev[i];
}

__global__ void relax(const float* ix, const float* it, float* flow, int n, float alpha) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float u = flow[i];
  flow[i] = u - ix[i] * (ix[i] * u + it[i]) / (alpha + ix[i] * ix[i]);
}

/// Grows on demand; the content is not kept.
class Workspace {
 public:
  explicit Workspace(cudaStream_t stream) : stream_(stream) {}
  ~Workspace() {
    cudaStreamSynchronize(stream_);
    cudaFree(data_);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  /// Returns true if the storage moved.
  bool reserve(size_t bytes) {
    if (bytes <= capacity_) return false;
    FLOW_CHECK(cudaStreamSynchronize(stream_));
    FLOW_CHECK(cudaFree(data_));
    FLOW_CHECK(cudaMalloc(&data_, bytes));
    capacity_ = bytes;
    return true;
  }
  float* floats() const { return static_cast<float*>(data_); }

 private:
  cudaStream_t stream_;
  void* data_ = nullptr;
  size_t capacity_ = 0;
};

class GraphCache {
 public:
  GraphCache() = default;
  GraphCache(const GraphCache&) = delete;
  GraphCache& operator=(const GraphCache&) = delete;
  ~GraphCache() { clear(); }

  cudaGraphExec_t find(Size size) const {
    auto it = execs_.find(size);
    return it == execs_.end() ? nullptr : it->second;
  }
  void insert(Size size, cudaGraphExec_t exec) { execs_[size] = exec; }
  void clear() {
    for (auto& [size, exec] : execs_) cudaGraphExecDestroy(exec);
    execs_.clear();
  }

 private:
  std::map<Size, cudaGraphExec_t> execs_;
};

struct Frames {
  explicit Frames(Size s) : size(s) {
    for (float** p : {&prev, &next, &flow}) {
      FLOW_CHECK(cudaMalloc(p, s.pixels() * sizeof(float)));
      FLOW_CHECK(cudaMemset(*p, 0, s.pixels() * sizeof(float)));
    }
    FLOW_CHECK(cudaDeviceSynchronize());
  }
  ~Frames() {
    for (float* p : {prev, next, flow}) cudaFree(p);
  }
  Frames(const Frames&) = delete;
  Size size;
  float *prev = nullptr, *next = nullptr, *flow = nullptr;
};

class FlowEngine {
 public:
  explicit FlowEngine(cudaStream_t stream) : stream_(stream), workspace_(stream) {}

  /// A given size must always come with the same frames: their addresses are part of the graph.
  void process(const Frames& frames) {
    cudaGraphExec_t exec = graphs_.find(frames.size);
    if (!exec) {
      prepare(frames.size);
      exec = capture(frames);
      graphs_.insert(frames.size, exec);
    }
    FLOW_CHECK(cudaGraphLaunch(exec, stream_));
  }

 private:
  void prepare(Size size) { workspace_.reserve(2 * size.pixels() * sizeof(float)); }

  cudaGraphExec_t capture(const Frames& f) {
    const int n = static_cast<int>(f.size.pixels());
    float* ix = workspace_.floats();
    float* it = ix + n;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    FLOW_CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    derivatives<<<(n + 255) / 256, 256, 0, stream_>>>(f.prev, f.next, ix, it, f.size.w, n);
    relax<<<(n + 255) / 256, 256, 0, stream_>>>(ix, it, f.flow, n, 0.1f);
    FLOW_CHECK(cudaStreamEndCapture(stream_, &graph));
    FLOW_CHECK(cudaGraphInstantiate(&exec, graph, 0));
    FLOW_CHECK(cudaGraphDestroy(graph));
    return exec;
  }

  cudaStream_t stream_;
  Workspace workspace_;
  GraphCache graphs_;
};

}  // namespace flow

int main() {
  cudaStream_t stream;
  FLOW_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  {
    flow::Frames preview(flow::Size{320, 240}), full(flow::Size{3840, 2160});
    flow::FlowEngine engine(stream);
    for (int i = 0; i < 8; ++i) engine.process(preview);
    engine.process(full);
    for (int i = 0; i < 8; ++i) engine.process(preview);
    FLOW_CHECK(cudaStreamSynchronize(stream));
  }
  FLOW_CHECK(cudaStreamDestroy(stream));
  return 0;
}
