// Template-matching correlator for continuous seismic data.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

static void die(cudaError_t e, int line) {
  std::fprintf(stderr, "cuda error %s, line %d\n", cudaGetErrorString(e), line);
  std::abort();
}
#define TRY(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) die(e_, __LINE__); } while (0)

__global__ void energy_kernel(const float* trace, int n, int win, float* energy) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float e = 0.f;
  for (int k = 0; k < win; ++k) e += trace[i + k] * trace[i + k];
  energy[i] = e;
}

__global__ void correlate_kernel(const float* trace, const float* tmpl, int n, int win, const float* energy, float* cc) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = 0.f;
  for (int k = 0; k < win; ++k) s += trace[i + k] * tmpl[k];
  cc[i] = s * rsqrtf(energy[i] + 1e-20f);
}

class Workspace {
 public:
  explicit Workspace(cudaStream_t s) : stream_(s) {}
  ~Workspace() {
    if (p_) cudaFreeAsync(p_, stream_);
  }
  Workspace(const Workspace&) = delete;

  void reserve(size_t bytes) {
    if (bytes <= capacity_) return;
    if (p_) TRY(cudaFreeAsync(p_, stream_));
    TRY(cudaMallocAsync(&p_, bytes, stream_));
    capacity_ = bytes;
  }
  template <class T> T* as() const { return static_cast<T*>(p_); }
  size_t capacity() const { return capacity_; }

 private:
  cudaStream_t stream_;
  void* p_ = nullptr;
  size_t capacity_ = 0;
};

class Correlator {
 public:
  Correlator(cudaStream_t s, const float* tmpl, int win, int packet) : s_(s), ws_(s), tmpl_(tmpl), win_(win), packet_(packet) {
    TRY(cudaMalloc(&live_, sizeof(float) * (packet + win)));
    TRY(cudaMalloc(&live_cc_, sizeof(float) * packet));
  }
  ~Correlator() {
    drop_graph();
    cudaFree(live_);
    cudaFree(live_cc_);
  }

  // Real-time path: fixed packet length.
  const float* packet(const float* trace) {
    TRY(cudaMemcpyAsync(live_, trace, sizeof(float) * (packet_ + win_), cudaMemcpyDeviceToDevice, s_));
    if (!exec_) record_graph();
    TRY(cudaGraphLaunch(exec_, s_));
    return live_cc_;
  }

  // Operator request: re-run an archived stretch of any length.
  void rescan(const float* trace, int n, float* cc) {
    if (sizeof(float) * n > ws_.capacity()) drop_graph();
    ws_.reserve(sizeof(float) * n);
    enqueue(trace, n, cc);
    TRY(cudaGetLastError());
  }

 private:
  void enqueue(const float* trace, int n, float* cc) {
    const int b = (n + 255) / 256;
    energy_kernel<<<b, 256, 0, s_>>>(trace, n, win_, ws_.as<float>());
    correlate_kernel<<<b, 256, 0, s_>>>(trace, tmpl_, n, win_, ws_.as<float>(), cc);
  }
  void record_graph() {
    ws_.reserve(sizeof(float) * packet_);
    cudaGraph_t g = nullptr;
    TRY(cudaStreamBeginCapture(s_, cudaStreamCaptureModeThreadLocal));
    enqueue(live_, packet_, live_cc_);
    TRY(cudaStreamEndCapture(s_, &g));
    TRY(cudaGraphInstantiate(&exec_, g, 0));
    TRY(cudaGraphDestroy(g));
  }
  void drop_graph() {
    TRY(cudaStreamSynchronize(s_));
    if (exec_) TRY(cudaGraphExecDestroy(exec_));
    exec_ = nullptr;
  }

  cudaStream_t s_;
  Workspace ws_;
  const float* tmpl_;
  int win_, packet_;
  float *live_ = nullptr, *live_cc_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

int main() {
  const int win = 400, packet = 6000, archive = 3600 * 100, packets = 50;
  cudaStream_t s;
  float *trace = nullptr, *tmpl = nullptr, *cc = nullptr;
  TRY(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  TRY(cudaMalloc(&trace, sizeof(float) * (archive + win)));
  TRY(cudaMalloc(&tmpl, sizeof(float) * win));
  TRY(cudaMalloc(&cc, sizeof(float) * archive));
  TRY(cudaMemsetAsync(trace, 0x3b, sizeof(float) * (archive + win), s));
  TRY(cudaMemsetAsync(tmpl, 0x3c, sizeof(float) * win, s));
  float last = 0.f;
  {
    Correlator c(s, tmpl, win, packet);
    for (int k = 0; k < packets; ++k) {
      const float* r = c.packet(trace + k * packet);
      TRY(cudaMemcpyAsync(&last, r + packet - 1, sizeof(float), cudaMemcpyDeviceToHost, s));
      if (k % 10 == 4) c.rescan(trace, packet * (k + 1), cc);
    }
    TRY(cudaStreamSynchronize(s));
  }
  std::printf("last coefficient %f\n", last);
  TRY(cudaStreamSynchronize(s));
  cudaFree(cc); cudaFree(tmpl); cudaFree(trace);
  cudaStreamDestroy(s);
}
