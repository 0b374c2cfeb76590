// Detector correction: worker threads share one flat-field table per device, loaded on first use.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#define REQUIRE(x)                                                                 \
  do {                                                                             \
    cudaError_t rc_ = (x);                                                         \
    if (rc_ != cudaSuccess) {                                                      \
      std::fprintf(stderr, "%d: %s\n", __LINE__, cudaGetErrorString(rc_));         \
      std::abort();                                                                \
    }                                                                              \
  } while (0)

__global__ void exposeKernel(float* frame, int n, int seed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) frame[i] = static_cast<float>((i * 31 + seed) & 1023);
}

__global__ void correctKernel(float* frame, const float* flat, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) frame[i] /= flat[i];
}

class FlatField {
 public:
  explicit FlatField(int pixels) : pixels_(pixels) {
    REQUIRE(cudaMallocHost(&host_, sizeof(float) * pixels));
    for (int i = 0; i < pixels; ++i) host_[i] = 1.f + 0.25f * static_cast<float>(i % 7);
    REQUIRE(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming));
  }
  ~FlatField() {
    if (device_) REQUIRE(cudaFree(device_));
    REQUIRE(cudaEventDestroy(ready_));
    REQUIRE(cudaFreeHost(host_));
  }
  FlatField(const FlatField&) = delete;
  FlatField& operator=(const FlatField&) = delete;

  // The table, usable by work that is queued in `stream` after this call.
  const float* table(cudaStream_t stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!device_) {
      load(stream);
    } else {
      REQUIRE(cudaStreamWaitEvent(stream, ready_, 0));
    }
    return device_;
  }

 private:
  void load(cudaStream_t stream) {
    REQUIRE(cudaMalloc(&device_, sizeof(float) * pixels_));
    REQUIRE(cudaMemcpyAsync(device_, host_, sizeof(float) * pixels_, cudaMemcpyHostToDevice, stream));
    REQUIRE(cudaEventRecord(ready_, stream));
  }

  int pixels_;
  float* host_ = nullptr;
  float* device_ = nullptr;
  cudaEvent_t ready_ = nullptr;
  std::mutex mutex_;
};

struct Job {
  int worker = 0;
  int frames = 0;
  double mean = 0.0;
};

static void correctFrames(FlatField& flat, int pixels, Job& job) {
  cudaStream_t stream;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  float* frame = nullptr;
  REQUIRE(cudaMalloc(&frame, sizeof(float) * pixels));
  std::vector<float> host(pixels);

  double total = 0.0;
  for (int f = 0; f < job.frames; ++f) {
    exposeKernel<<<(pixels + 255) / 256, 256, 0, stream>>>(frame, pixels, job.worker * 1000 + f);
    REQUIRE(cudaGetLastError());
    const float* table = flat.table(stream);
    correctKernel<<<(pixels + 255) / 256, 256, 0, stream>>>(frame, table, pixels);
    REQUIRE(cudaGetLastError());
    REQUIRE(cudaMemcpyAsync(host.data(), frame, sizeof(float) * pixels, cudaMemcpyDeviceToHost, stream));
    REQUIRE(cudaStreamSynchronize(stream));
    for (float v : host) total += v;
  }
  job.mean = total / (static_cast<double>(pixels) * job.frames);

  REQUIRE(cudaFree(frame));
  REQUIRE(cudaStreamDestroy(stream));
}

int main(int argc, char** argv) {
  const int pixels = 1 << 20;
  const int workers = argc > 1 ? std::atoi(argv[1]) : 4;

  FlatField flat(pixels);
  std::vector<Job> jobs(workers);
  std::vector<std::thread> threads;
  for (int w = 0; w < workers; ++w) {
    jobs[w].worker = w;
    jobs[w].frames = 16;
    threads.emplace_back(correctFrames, std::ref(flat), pixels, std::ref(jobs[w]));
  }
  for (std::thread& t : threads) t.join();

  for (const Job& j : jobs) std::printf("worker %d: mean %.4f\n", j.worker, j.mean);
  return 0;
}
