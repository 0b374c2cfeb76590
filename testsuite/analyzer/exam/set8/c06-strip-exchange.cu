// Heat equation on strips, one strip per GPU. Halo rows travel on a copy stream of the sending device
// into the neighbour's next buffer, the stencil runs on the compute stream.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#define CU(x)                                                                          \
  do {                                                                                 \
    cudaError_t e_ = (x);                                                              \
    if (e_ != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));  \
      std::exit(1);                                                                    \
    }                                                                                  \
  } while (0)

constexpr int kWidth = 2048;
constexpr size_t kRow = kWidth * sizeof(float);

// Row 0 and row `rows + 1` are halos.
__global__ void diffuse(const float* cur, float* nxt, int rows) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y + 1;
  if (x >= kWidth || y > rows) return;
  const float* c = cur + static_cast<size_t>(y) * kWidth;
  float l = c[x > 0 ? x - 1 : x], r = c[x + 1 < kWidth ? x + 1 : x];
  nxt[static_cast<size_t>(y) * kWidth + x] = 0.25f * (l + r + c[x - kWidth] + c[x + kWidth]);
}

class Strip {
 public:
  Strip(int device, int rows, float edge) : device_(device), rows_(rows) {
    CU(cudaSetDevice(device));
    CU(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
    CU(cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking));
    CU(cudaEventCreateWithFlags(&computed_, cudaEventDisableTiming));
    CU(cudaEventCreateWithFlags(&sent_, cudaEventDisableTiming));
    const size_t bytes = kRow * (rows + 2);
    for (float** b : {&cur_, &nxt_}) {
      CU(cudaMalloc(b, bytes));
      CU(cudaMemsetAsync(*b, 0, bytes, compute_));
    }
    std::vector<float> hot(kWidth, edge);
    CU(cudaMemcpyAsync(cur_, hot.data(), kRow, cudaMemcpyHostToDevice, compute_));
    CU(cudaMemcpyAsync(nxt_, hot.data(), kRow, cudaMemcpyHostToDevice, compute_));
    CU(cudaStreamSynchronize(compute_));
  }
  ~Strip() {
    cudaSetDevice(device_);
    cudaStreamSynchronize(compute_);
    cudaStreamSynchronize(copy_);
    cudaFree(cur_);
    cudaFree(nxt_);
    cudaEventDestroy(computed_);
    cudaEventDestroy(sent_);
    cudaStreamDestroy(compute_);
    cudaStreamDestroy(copy_);
  }
  Strip(const Strip&) = delete;
  Strip& operator=(const Strip&) = delete;

  // The halos of the current buffer come from the neighbours' last send; our own last send has to
  // have read its rows before they are written again one step later.
  void compute(const Strip* up, const Strip* down) {
    CU(cudaSetDevice(device_));
    if (up) CU(cudaStreamWaitEvent(compute_, up->sent_, 0));
    if (down) CU(cudaStreamWaitEvent(compute_, down->sent_, 0));
    CU(cudaStreamWaitEvent(compute_, sent_, 0));
    diffuse<<<dim3(kWidth / 256, rows_), 256, 0, compute_>>>(cur_, nxt_, rows_);
    CU(cudaEventRecord(computed_, compute_));
  }

  // The neighbours have read the halos of their next buffer one step ago; waiting for their stencil of
  // this step covers that.
  void send(Strip* up, Strip* down) {
    CU(cudaSetDevice(device_));
    CU(cudaStreamWaitEvent(copy_, computed_, 0));
    if (up) {
      CU(cudaStreamWaitEvent(copy_, up->computed_, 0));
      CU(cudaMemcpyPeerAsync(up->row(up->rows_ + 1), up->device_, row(1), device_, kRow, copy_));
    }
    if (down) {
      CU(cudaStreamWaitEvent(copy_, down->computed_, 0));
      CU(cudaMemcpyPeerAsync(down->row(0), down->device_, row(rows_), device_, kRow, copy_));
    }
    CU(cudaEventRecord(sent_, copy_));
  }

  void flip() { std::swap(cur_, nxt_); }

  void finish() {
    CU(cudaSetDevice(device_));
    CU(cudaStreamSynchronize(compute_));
    CU(cudaStreamSynchronize(copy_));
  }

  float sample(int y) {
    float v = 0.f;
    CU(cudaSetDevice(device_));
    CU(cudaMemcpy(&v, cur_ + static_cast<size_t>(y) * kWidth + kWidth / 2, sizeof(v), cudaMemcpyDeviceToHost));
    return v;
  }

 private:
  float* row(int y) { return nxt_ + static_cast<size_t>(y) * kWidth; }

  int device_, rows_;
  cudaStream_t compute_ = nullptr, copy_ = nullptr;
  cudaEvent_t computed_ = nullptr, sent_ = nullptr;
  float *cur_ = nullptr, *nxt_ = nullptr;
};

int main() {
  int devices = 0;
  CU(cudaGetDeviceCount(&devices));
  std::vector<std::unique_ptr<Strip>> strips;
  for (int d = 0; d < devices; ++d) strips.push_back(std::make_unique<Strip>(d, 1024, d == 0 ? 100.f : 0.f));
  auto at = [&](int d) { return d >= 0 && d < devices ? strips[static_cast<size_t>(d)].get() : nullptr; };

  for (int step = 0; step < 1000; ++step) {
    for (int d = 0; d < devices; ++d) strips[d]->compute(at(d - 1), at(d + 1));
    for (int d = 0; d < devices; ++d) strips[d]->send(at(d - 1), at(d + 1));
    for (auto& s : strips) s->flip();
  }
  for (auto& s : strips) s->finish();
  for (int d = 0; d < devices; ++d) std::printf("gpu %d: %g\n", d, strips[d]->sample(1));
  return 0;
}
