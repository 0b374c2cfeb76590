// Acoustic wave propagation on two GPUs.  The model is cut in the middle; after every time step the two
// halves swap one row of ghost cells.
#include <cuda_runtime.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

static void fail(cudaError_t rc, const char* what, int line) {
  std::fprintf(stderr, "%s at line %d: %s\n", what, line, cudaGetErrorString(rc));
  std::exit(EXIT_FAILURE);
}
#define GUARD(call)                                       \
  if (cudaError_t rc = (call); rc != cudaSuccess) fail(rc, #call, __LINE__)

constexpr int kCols = 4096;
constexpr int kRows = 2048;  // per device, without the ghost row
constexpr std::size_t kRowBytes = kCols * sizeof(float);

__global__ void propagate(const float* p, const float* prev, float* next, const float* ghost, bool ghost_below, float c2) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y;
  if (x < 1 || x >= kCols - 1) return;
  int i = y * kCols + x;
  float up = y > 0 ? p[i - kCols] : (ghost_below ? 0.f : ghost[x]);
  float down = y + 1 < kRows ? p[i + kCols] : (ghost_below ? ghost[x] : 0.f);
  next[i] = 2.f * p[i] - prev[i] + c2 * (p[i - 1] + p[i + 1] + up + down - 4.f * p[i]);
}

__global__ void inject(float* p, int row, int col, float amplitude) { p[row * kCols + col] += amplitude; }

class Half {
 public:
  Half(int device, bool ghost_below) : device_(device), ghost_below_(ghost_below) {
    GUARD(cudaSetDevice(device_));
    GUARD(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    GUARD(cudaEventCreateWithFlags(&advanced_, cudaEventDisableTiming));
    GUARD(cudaEventCreateWithFlags(&sent_, cudaEventDisableTiming));
    for (float*& f : fields_) {
      GUARD(cudaMalloc(&f, kRows * kRowBytes));
      GUARD(cudaMemsetAsync(f, 0, kRows * kRowBytes, stream_));
    }
    GUARD(cudaMalloc(&ghost_, kRowBytes));
    GUARD(cudaMemsetAsync(ghost_, 0, kRowBytes, stream_));
    GUARD(cudaStreamSynchronize(stream_));
  }
  ~Half() {
    cudaSetDevice(device_);
    cudaStreamSynchronize(stream_);
    cudaFree(ghost_);
    for (float* f : fields_) cudaFree(f);
    cudaEventDestroy(sent_);
    cudaEventDestroy(advanced_);
    cudaStreamDestroy(stream_);
  }
  Half(const Half&) = delete;
  Half& operator=(const Half&) = delete;

  void advance(float c2) {
    GUARD(cudaSetDevice(device_));
    dim3 grid((kCols + 127) / 128, kRows);
    propagate<<<grid, 128, 0, stream_>>>(fields_[1], fields_[0], fields_[2], ghost_, ghost_below_, c2);
    GUARD(cudaGetLastError());
    std::swap(fields_[0], fields_[1]);
    std::swap(fields_[1], fields_[2]);
    GUARD(cudaEventRecord(advanced_, stream_));
  }

  void shoot(int row, int col, float amplitude) {
    GUARD(cudaSetDevice(device_));
    inject<<<1, 1, 0, stream_>>>(fields_[1], row, col, amplitude);
    GUARD(cudaGetLastError());
  }

  // Copies the row next to the cut into the neighbour's ghost row.
  void send_edge(Half& to) {
    GUARD(cudaSetDevice(device_));
    GUARD(cudaStreamWaitEvent(stream_, to.advanced_, 0));
    const float* edge = fields_[1] + (ghost_below_ ? std::size_t(kRows - 1) * kCols : 0);
    GUARD(cudaMemcpyPeerAsync(to.ghost_, to.device_, edge, device_, kRowBytes, stream_));
    GUARD(cudaEventRecord(sent_, stream_));
  }

  void await_edge(const Half& from) {
    GUARD(cudaSetDevice(device_));
    GUARD(cudaStreamWaitEvent(stream_, from.sent_, 0));
  }

  void fetch(float* pinned) {
    GUARD(cudaSetDevice(device_));
    GUARD(cudaMemcpyAsync(pinned, fields_[1], kRows * kRowBytes, cudaMemcpyDeviceToHost, stream_));
    GUARD(cudaStreamSynchronize(stream_));
  }

 private:
  int device_;
  bool ghost_below_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t advanced_ = nullptr;
  cudaEvent_t sent_ = nullptr;
  std::array<float*, 3> fields_{};
  float* ghost_ = nullptr;
};

class Model {
 public:
  Model() : upper_(0, true), lower_(1, false) {}
  ~Model() {
    for (int d : {0, 1}) {
      cudaSetDevice(d);
      cudaDeviceSynchronize();
    }
  }

  void step(float source) {
    upper_.shoot(kRows / 2, kCols / 2, source);
    upper_.advance(0.2f);
    lower_.advance(0.2f);
    upper_.send_edge(lower_);
    lower_.send_edge(upper_);
    upper_.await_edge(lower_);
    lower_.await_edge(upper_);
  }

  void fetch(float* pinned_upper, float* pinned_lower) {
    upper_.fetch(pinned_upper);
    lower_.fetch(pinned_lower);
  }

 private:
  Half upper_, lower_;
};

int main() {
  int devices = 0;
  GUARD(cudaGetDeviceCount(&devices));
  if (devices < 2) {
    std::fprintf(stderr, "needs two GPUs\n");
    return 0;
  }
  float* snapshot = nullptr;
  GUARD(cudaMallocHost(&snapshot, 2 * kRows * kRowBytes));
  {
    Model model;
    for (int t = 0; t < 400; ++t) model.step(t < 20 ? 1.f : 0.f);
    model.fetch(snapshot, snapshot + std::size_t(kRows) * kCols);
  }
  double energy = 0;
  for (std::size_t i = 0; i < 2 * std::size_t(kRows) * kCols; ++i) energy += double(snapshot[i]) * snapshot[i];
  std::printf("energy %.6e\n", energy);
  GUARD(cudaFreeHost(snapshot));
  return 0;
}
