// Beamforming server for a towed sonar array.  Worker threads use their own per-thread default stream and
// share one cache of device scratch blocks.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#define GPU(call)                                                                   \
  do {                                                                              \
    cudaError_t gpu_rc = (call);                                                    \
    if (gpu_rc != cudaSuccess) {                                                    \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(gpu_rc)); \
      std::abort();                                                                 \
    }                                                                               \
  } while (0)

constexpr int kHydrophones = 256;
constexpr int kSamples = 8192;
constexpr int kBeams = 128;

__global__ void delay_and_sum(const float* signals, float* beams, int first_sample) {
  int s = blockIdx.x * blockDim.x + threadIdx.x;
  int beam = blockIdx.y;
  if (s >= kSamples) return;
  float sum = 0.f;
  for (int h = 0; h < kHydrophones; ++h) {
    int t = s + first_sample + (h * (beam - kBeams / 2)) / 64;
    t = t < 0 ? 0 : (t >= kSamples ? kSamples - 1 : t);
    sum += signals[h * kSamples + t];
  }
  beams[beam * kSamples + s] = sum / kHydrophones;
}

__global__ void energy(const float* beams, float* power) {
  __shared__ float part[256];
  float acc = 0.f;
  for (int s = threadIdx.x; s < kSamples; s += blockDim.x) {
    float v = beams[blockIdx.x * kSamples + s];
    acc += v * v;
  }
  part[threadIdx.x] = acc;
  __syncthreads();
  for (int w = 128; w > 0; w /= 2) {
    if (threadIdx.x < w) part[threadIdx.x] += part[threadIdx.x + w];
    __syncthreads();
  }
  if (threadIdx.x == 0) power[blockIdx.x] = part[0];
}

// Blocks return to the list of the stream they were used on; stream order then makes it safe to hand them out
// again while the previous user is still running.
class ScratchCache {
 public:
  struct Block {
    void* ptr = nullptr;
    std::size_t bytes = 0;
  };

  ScratchCache() = default;
  ScratchCache(const ScratchCache&) = delete;
  ScratchCache& operator=(const ScratchCache&) = delete;
  ~ScratchCache() {
    GPU(cudaDeviceSynchronize());
    for (auto& list : free_)
      for (Block& b : list.second) GPU(cudaFree(b.ptr));
  }

  Block acquire(std::size_t bytes, cudaStream_t stream) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      auto& list = free_[Key(std::this_thread::get_id(), stream)];
      for (std::size_t i = 0; i < list.size(); ++i) {
        if (list[i].bytes < bytes) continue;
        Block hit = list[i];
        list[i] = list.back();
        list.pop_back();
        return hit;
      }
    }
    Block fresh;
    GPU(cudaMalloc(&fresh.ptr, bytes));
    fresh.bytes = bytes;
    return fresh;
  }

  void release(Block block, cudaStream_t stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    free_[Key(std::this_thread::get_id(), stream)].push_back(block);
  }

 private:
  // The per-thread handle has the same value in every thread, so the handle alone does not name a stream.
  using Key = std::pair<std::thread::id, cudaStream_t>;

  std::mutex mutex_;
  std::map<Key, std::vector<Block>> free_;
};

class ScratchLease {
 public:
  ScratchLease(ScratchCache& cache, std::size_t bytes, cudaStream_t stream)
      : cache_(cache), stream_(stream), block_(cache.acquire(bytes, stream)) {}
  ~ScratchLease() { cache_.release(block_, stream_); }
  ScratchLease(const ScratchLease&) = delete;
  ScratchLease& operator=(const ScratchLease&) = delete;
  float* as_floats() const { return static_cast<float*>(block_.ptr); }

 private:
  ScratchCache& cache_;
  cudaStream_t stream_;
  ScratchCache::Block block_;
};

void process_ping(ScratchCache& cache, const float* device_signals, float* device_power, int first_sample) {
  cudaStream_t stream = cudaStreamPerThread;
  ScratchLease beams(cache, sizeof(float) * kBeams * kSamples, stream);
  dim3 grid((kSamples + 255) / 256, kBeams);
  delay_and_sum<<<grid, 256, 0, stream>>>(device_signals, beams.as_floats(), first_sample);
  energy<<<kBeams, 256, 0, stream>>>(beams.as_floats(), device_power);
  GPU(cudaGetLastError());
}

void worker(ScratchCache& cache, const float* device_signals, int pings, int id, std::vector<float>& totals) {
  float* power = nullptr;
  float* host = nullptr;
  GPU(cudaMalloc(&power, sizeof(float) * kBeams));
  GPU(cudaMallocHost(&host, sizeof(float) * kBeams * pings));
  for (int p = 0; p < pings; ++p) {
    process_ping(cache, device_signals, power, 16 * p + id);
    GPU(cudaMemcpyAsync(host + p * kBeams, power, sizeof(float) * kBeams, cudaMemcpyDeviceToHost, cudaStreamPerThread));
  }
  GPU(cudaStreamSynchronize(cudaStreamPerThread));
  for (int i = 0; i < kBeams * pings; ++i) totals[id] += host[i];
  GPU(cudaFreeHost(host));
  GPU(cudaFree(power));
}

int main() {
  constexpr int kWorkers = 4;
  std::vector<float> recording(std::size_t(kHydrophones) * kSamples);
  for (std::size_t i = 0; i < recording.size(); ++i) recording[i] = ((i * 2654435761u) >> 16 & 0xff) / 255.f;
  float* signals = nullptr;
  GPU(cudaMalloc(&signals, recording.size() * sizeof(float)));
  GPU(cudaMemcpy(signals, recording.data(), recording.size() * sizeof(float), cudaMemcpyHostToDevice));
  GPU(cudaDeviceSynchronize());

  std::vector<float> totals(kWorkers, 0.f);
  {
    ScratchCache cache;
    std::vector<std::thread> threads;
    for (int id = 0; id < kWorkers; ++id)
      threads.emplace_back(worker, std::ref(cache), signals, 50, id, std::ref(totals));
    for (auto& t : threads) t.join();
  }
  for (int id = 0; id < kWorkers; ++id) std::printf("worker %d: %g\n", id, totals[id]);
  GPU(cudaFree(signals));
  return 0;
}
