#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

// Contingency screening of a power grid: the Jacobi sweep is captured once for every network
// size; a larger network moves the scratch memory.

static void ck(cudaError_t e, int line) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e));
  std::exit(1);
}
#define CK(x) ck((x), __LINE__)

__global__ void sweep_kernel(const float* v, const float* load, float* next, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float l = v[i > 0 ? i - 1 : i], r = v[i + 1 < n ? i + 1 : i];
  next[i] = 0.5f * (l + r) - 0.1f * load[i];
}

__global__ void commit_kernel(const float* next, float* v, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) v[i] = next[i];
}

class Scratch {
 public:
  explicit Scratch(cudaStream_t stream) : stream_(stream) {}
  ~Scratch() { drop(); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  bool grow(int buses) {
    if (buses <= capacity_) return false;
    drop();
    for (float** p : {&v, &load, &next}) CK(cudaMalloc(p, buses * sizeof(float)));
    capacity_ = buses;
    return true;
  }

  float* v = nullptr;
  float* load = nullptr;
  float* next = nullptr;

 private:
  void drop() {
    if (!capacity_) return;
    CK(cudaStreamSynchronize(stream_));
    for (float* p : {v, load, next}) CK(cudaFree(p));
    capacity_ = 0;
  }

  cudaStream_t stream_;
  int capacity_ = 0;
};

class GraphExec {
 public:
  explicit GraphExec(cudaGraph_t graph) { CK(cudaGraphInstantiate(&exec_, graph, 0)); }
  ~GraphExec() { cudaGraphExecDestroy(exec_); }
  GraphExec(const GraphExec&) = delete;
  GraphExec& operator=(const GraphExec&) = delete;
  void launch(cudaStream_t s) const { CK(cudaGraphLaunch(exec_, s)); }

 private:
  cudaGraphExec_t exec_ = nullptr;
};

class ContingencyScreen {
 public:
  ContingencyScreen() : scratch_(make_stream(&stream_)) {}
  ~ContingencyScreen() {
    CK(cudaStreamSynchronize(stream_));
    graphs_.clear();
  }
  ContingencyScreen(const ContingencyScreen&) = delete;
  ContingencyScreen& operator=(const ContingencyScreen&) = delete;

  float solve(const std::vector<float>& load, int sweeps) {
    const int n = static_cast<int>(load.size());
    if (scratch_.grow(n)) graphs_.clear();
    CK(cudaMemcpyAsync(scratch_.load, load.data(), n * sizeof(float), cudaMemcpyHostToDevice, stream_));
    CK(cudaMemsetAsync(scratch_.v, 0, n * sizeof(float), stream_));
    const GraphExec& sweep = graph_for(n);
    for (int s = 0; s < sweeps; ++s) sweep.launch(stream_);
    std::vector<float> v(n);
    CK(cudaMemcpyAsync(v.data(), scratch_.v, n * sizeof(float), cudaMemcpyDeviceToHost, stream_));
    CK(cudaStreamSynchronize(stream_));
    float lowest = v[0];
    for (float x : v) lowest = x < lowest ? x : lowest;
    return lowest;
  }

 private:
  static cudaStream_t make_stream(cudaStream_t* s) {
    CK(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
    return *s;
  }

  const GraphExec& graph_for(int n) {
    auto it = graphs_.find(n);
    if (it == graphs_.end()) it = graphs_.emplace(n, capture(n)).first;
    return *it->second;
  }

  std::unique_ptr<GraphExec> capture(int n) {
    const unsigned blocks = (n + 255) / 256;
    cudaGraph_t graph = nullptr;
    CK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    sweep_kernel<<<blocks, 256, 0, stream_>>>(scratch_.v, scratch_.load, scratch_.next, n);
    commit_kernel<<<blocks, 256, 0, stream_>>>(scratch_.next, scratch_.v, n);
    CK(cudaStreamEndCapture(stream_, &graph));
    auto exec = std::make_unique<GraphExec>(graph);
    CK(cudaGraphDestroy(graph));
    return exec;
  }

  cudaStream_t stream_;
  Scratch scratch_;
  std::map<int, std::unique_ptr<GraphExec>> graphs_;
};

int main() {
  ContingencyScreen screen;
  for (int buses : {2000, 500, 2000, 16000, 2000}) {
    const std::vector<float> load(buses, 0.01f);
    std::printf("%d buses: lowest voltage deviation %f\n", buses, screen.solve(load, 30));
  }
  return 0;
}
