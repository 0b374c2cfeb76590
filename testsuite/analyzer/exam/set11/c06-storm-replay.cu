// Storm tracking: one tracking step is captured with an inner fork and
// replayed for every radar scan; tracks are archived on a second stream.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define TRY(c)                                                     \
  do {                                                             \
    if ((c) != cudaSuccess) {                                      \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #c); \
      std::abort();                                                \
    }                                                              \
  } while (0)

__global__ void threshold(const float* scan, float* mask, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) mask[i] = scan[i] > 35.f ? 1.f : 0.f;
}

__global__ void gradient(const float* scan, float* motion, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + 1 < n) motion[i] = scan[i + 1] - scan[i];
}

__global__ void combine(const float* mask, const float* motion, float* tracks, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) tracks[i] = mask[i] * motion[i];
}

class TrackingGraph {
 public:
  TrackingGraph(int n, cudaStream_t stream) : n_(n), stream_(stream) {
    TRY(cudaStreamCreateWithFlags(&branch_, cudaStreamNonBlocking));
    for (auto* e : {&forked_, &joined_, &done_}) TRY(cudaEventCreateWithFlags(e, cudaEventDisableTiming));
    for (auto* p : {&scan_, &mask_, &motion_, &tracks_}) {
      TRY(cudaMallocAsync(reinterpret_cast<void**>(p), bytes(), stream_));
      TRY(cudaMemsetAsync(*p, 0, bytes(), stream_));
    }
    capture();
  }
  ~TrackingGraph() {
    TRY(cudaStreamSynchronize(stream_));
    TRY(cudaGraphExecDestroy(exec_));
    for (auto* p : {scan_, mask_, motion_, tracks_}) TRY(cudaFreeAsync(p, stream_));
    for (auto e : {forked_, joined_, done_}) TRY(cudaEventDestroy(e));
    TRY(cudaStreamDestroy(branch_));
  }
  TrackingGraph(const TrackingGraph&) = delete;
  TrackingGraph& operator=(const TrackingGraph&) = delete;

  /// Processes one scan from pinned memory.
  void replay(const float* pinned_scan) {
    TRY(cudaMemcpyAsync(scan_, pinned_scan, bytes(), cudaMemcpyHostToDevice, stream_));
    TRY(cudaGraphLaunch(exec_, stream_));
    TRY(cudaEventRecord(done_, stream_));
  }

  const float* tracks() const { return tracks_; }
  cudaEvent_t done() const { return done_; }
  cudaStream_t stream() const { return stream_; }
  std::size_t bytes() const { return sizeof(float) * n_; }

 private:
  void capture() {
    const int blocks = (n_ + 255) / 256;
    cudaGraph_t graph = nullptr;
    TRY(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    TRY(cudaEventRecord(forked_, stream_));
    TRY(cudaStreamWaitEvent(branch_, forked_, 0));
    threshold<<<blocks, 256, 0, stream_>>>(scan_, mask_, n_);
    gradient<<<blocks, 256, 0, branch_>>>(scan_, motion_, n_);
    TRY(cudaEventRecord(joined_, branch_));
    TRY(cudaStreamWaitEvent(stream_, joined_, 0));
    combine<<<blocks, 256, 0, stream_>>>(mask_, motion_, tracks_, n_);
    TRY(cudaStreamEndCapture(stream_, &graph));
    TRY(cudaGraphInstantiate(&exec_, graph, 0));
    TRY(cudaGraphDestroy(graph));
  }

  int n_;
  cudaStream_t stream_;
  cudaStream_t branch_ = nullptr;
  cudaEvent_t forked_ = nullptr, joined_ = nullptr, done_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  float *scan_ = nullptr, *mask_ = nullptr, *motion_ = nullptr, *tracks_ = nullptr;
};

class TrackArchive {
 public:
  TrackArchive(std::size_t bytes, int slots) : slots_(slots) {
    TRY(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    TRY(cudaEventCreateWithFlags(&cloned_, cudaEventDisableTiming));
    for (auto& p : slots_) TRY(cudaMalloc(reinterpret_cast<void**>(&p), bytes));
  }
  ~TrackArchive() {
    TRY(cudaStreamSynchronize(stream_));
    for (auto* p : slots_) TRY(cudaFree(p));
    TRY(cudaEventDestroy(cloned_));
    TRY(cudaStreamDestroy(stream_));
  }
  TrackArchive(const TrackArchive&) = delete;
  TrackArchive& operator=(const TrackArchive&) = delete;

  void store(int slot, const TrackingGraph& graph) {
    TRY(cudaStreamWaitEvent(stream_, graph.done(), 0));
    TRY(cudaMemcpyAsync(slots_[slot], graph.tracks(), graph.bytes(), cudaMemcpyDeviceToDevice, stream_));
    TRY(cudaEventRecord(cloned_, stream_));
    TRY(cudaStreamWaitEvent(graph.stream(), cloned_, 0));
  }

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t cloned_ = nullptr;
  std::vector<float*> slots_;
};

int main() {
  constexpr int kCells = 1 << 20;
  constexpr int kScans = 12;
  cudaStream_t stream = nullptr;
  float* scans = nullptr;
  TRY(cudaMallocHost(reinterpret_cast<void**>(&scans), sizeof(float) * kCells * kScans));
  std::fill(scans, scans + static_cast<std::size_t>(kCells) * kScans, 40.f);
  TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  {
    TrackingGraph graph(kCells, stream);
    TrackArchive archive(graph.bytes(), kScans);
    for (int s = 0; s < kScans; ++s) {
      graph.replay(scans + static_cast<std::size_t>(s) * kCells);
      archive.store(s, graph);
    }
  }
  TRY(cudaStreamSynchronize(stream));
  TRY(cudaStreamDestroy(stream));
  TRY(cudaFreeHost(scans));
  return 0;
}
