// Two-stage pipeline over two GPUs: features on the first device, scores on the
// second one, with a double buffer on either side of the peer copy.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define P2P_OK(x)                                                        \
  do {                                                                   \
    cudaError_t e_ = (x);                                                \
    if (e_ != cudaSuccess) {                                             \
      std::fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e_));      \
      std::abort();                                                      \
    }                                                                    \
  } while (0)

__global__ void features(float* out, int n, int item) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = cosf(0.01f * i + item);
}

__global__ void scores(const float* in, float* total, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) total[i] += in[i] * in[i];
}

class OnDevice {
 public:
  explicit OnDevice(int d) {
    P2P_OK(cudaGetDevice(&before_));
    P2P_OK(cudaSetDevice(d));
  }
  ~OnDevice() { cudaSetDevice(before_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = 0;
};

// An event together with the question whether it was recorded at all.
struct Mark {
  cudaEvent_t event = nullptr;
  bool set = false;
  void create() { P2P_OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming)); }
  void record(cudaStream_t s) {
    P2P_OK(cudaEventRecord(event, s));
    set = true;
  }
  void gate(cudaStream_t s) const {
    if (set) P2P_OK(cudaStreamWaitEvent(s, event, 0));
  }
};

class PeerPipeline {
 public:
  PeerPipeline(int first, int second, int n) : first_(first), second_(second), n_(n) {
    {
      OnDevice d(first_);
      P2P_OK(cudaStreamCreateWithFlags(&make_, cudaStreamNonBlocking));
      P2P_OK(cudaStreamCreateWithFlags(&ship_, cudaStreamNonBlocking));
      for (Lane& l : lane_) {
        P2P_OK(cudaMalloc(&l.source, bytes()));
        l.made.create();
        l.shipped.create();
      }
    }
    OnDevice d(second_);
    P2P_OK(cudaStreamCreateWithFlags(&score_, cudaStreamNonBlocking));
    for (Lane& l : lane_) {
      P2P_OK(cudaMalloc(&l.target, bytes()));
      l.scored.create();
    }
    P2P_OK(cudaMalloc(&total_, bytes()));
    P2P_OK(cudaMemsetAsync(total_, 0, bytes(), score_));
  }

  ~PeerPipeline() {
    for (cudaStream_t s : {make_, ship_, score_}) cudaStreamSynchronize(s);
    for (Lane& l : lane_) {
      for (Mark* m : {&l.made, &l.shipped, &l.scored}) cudaEventDestroy(m->event);
      cudaFree(l.source);
      cudaFree(l.target);
    }
    cudaFree(total_);
    for (cudaStream_t s : {make_, ship_, score_}) cudaStreamDestroy(s);
  }
  PeerPipeline(const PeerPipeline&) = delete;
  PeerPipeline& operator=(const PeerPipeline&) = delete;

  void feed(int item) {
    Lane& l = lane_[item % 2];
    make(l, item);
    ship(l);
    score(l);
  }

  std::vector<float> totals() {
    OnDevice d(second_);
    std::vector<float> host(n_);
    P2P_OK(cudaStreamSynchronize(score_));
    P2P_OK(cudaMemcpy(host.data(), total_, bytes(), cudaMemcpyDeviceToHost));
    return host;
  }

 private:
  struct Lane {
    float *source = nullptr, *target = nullptr;
    Mark made, shipped, scored;
  };
  size_t bytes() const { return sizeof(float) * n_; }
  int grid() const { return (n_ + 255) / 256; }

  void make(Lane& l, int item) {
    OnDevice d(first_);
    l.shipped.gate(make_);
    features<<<grid(), 256, 0, make_>>>(l.source, n_, item);
    P2P_OK(cudaGetLastError());
    l.made.record(make_);
  }

  void ship(Lane& l) {
    OnDevice d(first_);
    l.made.gate(ship_);
    l.scored.gate(ship_);
    P2P_OK(cudaMemcpyPeerAsync(l.target, second_, l.source, first_, bytes(), ship_));
    l.shipped.record(ship_);
  }

  void score(Lane& l) {
    OnDevice d(second_);
    l.shipped.gate(score_);
    scores<<<grid(), 256, 0, score_>>>(l.target, total_, n_);
    P2P_OK(cudaGetLastError());
    l.scored.record(score_);
  }

  int first_, second_, n_;
  cudaStream_t make_ = nullptr, ship_ = nullptr, score_ = nullptr;
  Lane lane_[2];
  float* total_ = nullptr;
};
