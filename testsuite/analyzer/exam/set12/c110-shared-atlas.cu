// Registers brain scans against a shared atlas, one worker thread per scanner.
//
// The atlas is uploaded by the first worker that needs it.  Scratch memory is
// kept per worker, since every worker has a stream of its own.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#define ATLAS_CUDA(x)                                                                                          \
  do {                                                                                                         \
    const cudaError_t rc_ = (x);                                                                               \
    if (rc_ != cudaSuccess) throw std::runtime_error(std::string(#x) + ": " + cudaGetErrorString(rc_)); \
  } while (false)

constexpr int kVoxels = 1 << 20;

class Atlas {
 public:
  explicit Atlas(const std::vector<float>& reference) {
    ATLAS_CUDA(cudaMallocHost(reinterpret_cast<void**>(&staged_), kVoxels * sizeof(float)));
    for (int i = 0; i < kVoxels; ++i) staged_[i] = reference[i];
    ATLAS_CUDA(cudaEventCreateWithFlags(&uploaded_, cudaEventDisableTiming));
  }
  ~Atlas() {
    cudaDeviceSynchronize();
    cudaEventDestroy(uploaded_);
    cudaFree(device_);
    cudaFreeHost(staged_);
  }
  Atlas(const Atlas&) = delete;
  Atlas& operator=(const Atlas&) = delete;

  // Voxels for work queued on `stream` from now on.
  const float* acquire(cudaStream_t stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (device_ == nullptr) {
      ATLAS_CUDA(cudaMalloc(reinterpret_cast<void**>(&device_), kVoxels * sizeof(float)));
      ATLAS_CUDA(cudaMemcpyAsync(device_, staged_, kVoxels * sizeof(float), cudaMemcpyHostToDevice, stream));
      ATLAS_CUDA(cudaEventRecord(uploaded_, stream));
    } else {
      ATLAS_CUDA(cudaStreamWaitEvent(stream, uploaded_, 0));
    }
    return device_;
  }

 private:
  std::mutex mutex_;
  float* staged_ = nullptr;
  float* device_ = nullptr;
  cudaEvent_t uploaded_ = nullptr;
};

// Scratch blocks by size; owned by one worker and used on its stream only.
class Scratch {
 public:
  ~Scratch() {
    for (auto& b : blocks_) cudaFree(b.second);
  }
  float* get(size_t floats) {
    float*& p = blocks_[floats];
    if (p == nullptr) ATLAS_CUDA(cudaMalloc(reinterpret_cast<void**>(&p), floats * sizeof(float)));
    return p;
  }

 private:
  std::map<size_t, float*> blocks_;
};

__global__ void residual(const float* scan, const float* atlas, float* out, int shift) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kVoxels) {
    const float d = scan[i] - atlas[(i + shift) % kVoxels];
    out[i] = d * d;
  }
}

__global__ void sum_up(const float* values, double* cost) {
  double s = 0.0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < kVoxels; i += gridDim.x * blockDim.x) s += values[i];
  atomicAdd(cost, s);
}

class Worker {
 public:
  explicit Worker(Atlas& atlas) : atlas_(atlas) {
    ATLAS_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    ATLAS_CUDA(cudaMalloc(reinterpret_cast<void**>(&scan_), kVoxels * sizeof(float)));
    ATLAS_CUDA(cudaMalloc(reinterpret_cast<void**>(&cost_), sizeof(double)));
  }
  ~Worker() {
    cudaStreamSynchronize(stream_);
    cudaFree(scan_);
    cudaFree(cost_);
    cudaStreamDestroy(stream_);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Shift with the smallest squared distance to the atlas.
  int align(const std::vector<float>& scan, int max_shift) {
    ATLAS_CUDA(cudaMemcpyAsync(scan_, scan.data(), kVoxels * sizeof(float), cudaMemcpyHostToDevice, stream_));
    const float* atlas = atlas_.acquire(stream_);
    float* scratch = scratch_.get(kVoxels);
    int best = 0;
    double best_cost = 0.0;
    for (int shift = 0; shift < max_shift; ++shift) {
      ATLAS_CUDA(cudaMemsetAsync(cost_, 0, sizeof(double), stream_));
      residual<<<kVoxels / 256, 256, 0, stream_>>>(scan_, atlas, scratch, shift);
      sum_up<<<64, 256, 0, stream_>>>(scratch, cost_);
      ATLAS_CUDA(cudaGetLastError());
      double cost = 0.0;
      ATLAS_CUDA(cudaMemcpyAsync(&cost, cost_, sizeof(double), cudaMemcpyDeviceToHost, stream_));
      ATLAS_CUDA(cudaStreamSynchronize(stream_));
      if (shift == 0 || cost < best_cost) {
        best = shift;
        best_cost = cost;
      }
    }
    return best;
  }

 private:
  Atlas& atlas_;
  Scratch scratch_;
  cudaStream_t stream_ = nullptr;
  float* scan_ = nullptr;
  double* cost_ = nullptr;
};

int main() {
  std::vector<float> reference(kVoxels);
  for (int i = 0; i < kVoxels; ++i) reference[i] = static_cast<float>((i * 16807u) % 255);
  Atlas atlas(reference);

  std::vector<int> shifts(4, -1);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::vector<float> scan(kVoxels);
      for (int i = 0; i < kVoxels; ++i) scan[i] = reference[(i + 3 * t) % kVoxels];
      Worker worker(atlas);
      shifts[t] = worker.align(scan, 16);
    });
  for (std::thread& t : threads) t.join();
  for (int t = 0; t < 4; ++t) std::printf("scanner %d: shift %d\n", t, shifts[t]);
  return 0;
}
