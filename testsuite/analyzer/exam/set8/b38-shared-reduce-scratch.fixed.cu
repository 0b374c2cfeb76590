// Optical-flow quality monitor: several camera threads reduce the residuals of their own frames.
// Build with -DFRAMES=n for longer runs.
#include <cub/device/device_reduce.cuh>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#ifndef FRAMES
#define FRAMES 200
#endif

#define CK(x)                                                                             \
  do {                                                                                    \
    cudaError_t rc_ = (x);                                                                \
    if (rc_ != cudaSuccess) {                                                             \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(rc_));    \
      std::exit(1);                                                                       \
    }                                                                                     \
  } while (0)

namespace flow {

// Scratch memory of the reductions. Grows to the largest request.
class Scratch {
 public:
  ~Scratch() {
    if (temp_) cudaFree(temp_);
    if (squares_) cudaFree(squares_);
  }

  void reserve(size_t temp_bytes, size_t values) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (temp_bytes > temp_bytes_) {
      if (temp_) {
        CK(cudaDeviceSynchronize());
        CK(cudaFree(temp_));
      }
      CK(cudaMalloc(&temp_, temp_bytes));
      temp_bytes_ = temp_bytes;
    }
    if (values > values_) {
      if (squares_) {
        CK(cudaDeviceSynchronize());
        CK(cudaFree(squares_));
      }
      CK(cudaMalloc(&squares_, values * sizeof(float)));
      values_ = values;
    }
  }

  void* temp() const { return temp_; }
  float* squares() const { return squares_; }

 private:
  std::mutex mutex_;
  void* temp_ = nullptr;
  float* squares_ = nullptr;
  size_t temp_bytes_ = 0;
  size_t values_ = 0;
};

static Scratch& scratch() {
  thread_local Scratch instance;
  return instance;
}

__global__ void square_residuals(const float2* flow, const float2* truth, int n, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float dx = flow[i].x - truth[i].x, dy = flow[i].y - truth[i].y;
  out[i] = dx * dx + dy * dy;
}

// Mean squared end-point error of `flow`, written to *result (device memory). Asynchronous in `stream`.
void mean_error(const float2* flow, const float2* truth, int n, float* result, cudaStream_t stream) {
  size_t temp_bytes = 0;
  CK(cub::DeviceReduce::Sum(nullptr, temp_bytes, static_cast<float*>(nullptr), result, n, stream));
  Scratch& s = scratch();
  s.reserve(temp_bytes, n);
  square_residuals<<<(n + 255) / 256, 256, 0, stream>>>(flow, truth, n, s.squares());
  CK(cudaGetLastError());
  CK(cub::DeviceReduce::Sum(s.temp(), temp_bytes, s.squares(), result, n, stream));
}

}  // namespace flow

__global__ void fill_flow(float2* out, int n, float dx, float dy) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = make_float2(dx, dy);
}

// One camera; its flow deviates from the truth by `offset` pixels everywhere.
static void run_camera(int camera, float offset, int* bad) {
  const int n = 640 * 480;
  cudaStream_t stream;
  float2 *flow_field = nullptr, *truth = nullptr;
  float *sum = nullptr, *host_sum = nullptr;
  CK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CK(cudaMalloc(&flow_field, n * sizeof(float2)));
  CK(cudaMalloc(&truth, n * sizeof(float2)));
  CK(cudaMalloc(&sum, sizeof(float)));
  CK(cudaMallocHost(&host_sum, sizeof(float)));
  fill_flow<<<(n + 255) / 256, 256, 0, stream>>>(truth, n, 0.0f, 0.0f);
  fill_flow<<<(n + 255) / 256, 256, 0, stream>>>(flow_field, n, offset, 0.0f);
  CK(cudaGetLastError());
  for (int f = 0; f < FRAMES; ++f) {
    flow::mean_error(flow_field, truth, n, sum, stream);
    CK(cudaMemcpyAsync(host_sum, sum, sizeof(float), cudaMemcpyDeviceToHost, stream));
    CK(cudaStreamSynchronize(stream));
    float mse = *host_sum / n;
    if (std::fabs(mse - offset * offset) > 1e-3f * offset * offset) ++*bad;
  }
  std::printf("camera %d: %d bad frames\n", camera, *bad);
  CK(cudaFreeHost(host_sum));
  CK(cudaFree(sum));
  CK(cudaFree(truth));
  CK(cudaFree(flow_field));
  CK(cudaStreamDestroy(stream));
}

int main() {
  const int cameras = 4;
  int bad[cameras] = {};
  std::vector<std::thread> threads;
  for (int c = 0; c < cameras; ++c) threads.emplace_back(run_camera, c, 1.0f + c, &bad[c]);
  for (auto& t : threads) t.join();
  int total = 0;
  for (int b : bad) total += b;
  return total == 0 ? 0 : 1;
}
