// Scores candidate routes of a delivery fleet in batches.  Each batch gathers rows of the
// travel-time matrix through an index list that the planner makes on the host.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

static void verify(cudaError_t rc, const char* file, int line) {
  if (rc == cudaSuccess) return;
  std::fprintf(stderr, "%s:%d: %s\n", file, line, cudaGetErrorString(rc));
  std::abort();
}
#define VERIFY(x) verify((x), __FILE__, __LINE__)

__global__ void initTimes(float* times, int nodes) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < nodes * nodes) times[i] = static_cast<float>((i * 2654435761u) >> 20) * 0.01f;
}

__global__ void scoreRoutes(const float* times, int nodes, const int* stops, int routes, int length,
                            float* score) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= routes) return;
  const int* route = stops + r * length;
  float sum = 0.0f;
  for (int i = 1; i < length; ++i) sum += times[route[i - 1] * nodes + route[i]];
  score[r] = sum;
}

// Carries index lists to the device.
class IndexStager {
 public:
  IndexStager(std::size_t capacity, cudaStream_t stream) : capacity_(capacity), stream_(stream) {
    VERIFY(cudaHostAlloc(reinterpret_cast<void**>(&host_), capacity_ * sizeof(int), cudaHostAllocDefault));
    VERIFY(cudaMalloc(reinterpret_cast<void**>(&device_), capacity_ * sizeof(int)));
    VERIFY(cudaEventCreateWithFlags(&sent_, cudaEventDisableTiming));
  }
  ~IndexStager() {
    cudaStreamSynchronize(stream_);
    cudaEventDestroy(sent_);
    cudaFree(device_);
    cudaFreeHost(host_);
  }
  IndexStager(const IndexStager&) = delete;
  IndexStager& operator=(const IndexStager&) = delete;

  const int* stage(const std::vector<int>& indices) {
    if (indices.size() > capacity_) std::abort();
    pack(indices);
    send(indices.size());
    return device_;
  }

 private:
  void pack(const std::vector<int>& indices) {
    std::copy(indices.begin(), indices.end(), host_);
  }

  void send(std::size_t count) {
    VERIFY(cudaMemcpyAsync(device_, host_, count * sizeof(int), cudaMemcpyHostToDevice, stream_));
    VERIFY(cudaEventRecord(sent_, stream_));
  }

  std::size_t capacity_;
  cudaStream_t stream_;
  cudaEvent_t sent_ = nullptr;
  int* host_ = nullptr;
  int* device_ = nullptr;
};

class Scorer {
 public:
  Scorer(int nodes, int routes, int length, int batches)
      : nodes_(nodes), routes_(routes), length_(length), batches_(batches) {
    VERIFY(cudaStreamCreate(&stream_));
    VERIFY(cudaMalloc(reinterpret_cast<void**>(&times_), sizeof(float) * nodes_ * nodes_));
    VERIFY(cudaMalloc(reinterpret_cast<void**>(&scores_), sizeof(float) * routes_ * batches_));
    initTimes<<<(nodes_ * nodes_ + 255) / 256, 256, 0, stream_>>>(times_, nodes_);
    VERIFY(cudaGetLastError());
  }
  ~Scorer() {
    cudaStreamSynchronize(stream_);
    cudaFree(scores_);
    cudaFree(times_);
    cudaStreamDestroy(stream_);
  }

  std::vector<float> run(unsigned seed) {
    IndexStager stager(static_cast<std::size_t>(routes_) * length_, stream_);
    std::mt19937 rng(seed);
    std::uniform_int_distribution<int> pick(0, nodes_ - 1);
    std::vector<int> stops(static_cast<std::size_t>(routes_) * length_);
    for (int b = 0; b < batches_; ++b) {
      for (int& s : stops) s = pick(rng);
      const int* device = stager.stage(stops);
      scoreRoutes<<<(routes_ + 127) / 128, 128, 0, stream_>>>(times_, nodes_, device, routes_, length_,
                                                              scores_ + b * routes_);
      VERIFY(cudaGetLastError());
    }
    std::vector<float> host(static_cast<std::size_t>(routes_) * batches_);
    VERIFY(cudaMemcpyAsync(host.data(), scores_, host.size() * sizeof(float), cudaMemcpyDeviceToHost,
                           stream_));
    VERIFY(cudaStreamSynchronize(stream_));
    return host;
  }

 private:
  int nodes_, routes_, length_, batches_;
  cudaStream_t stream_ = nullptr;
  float *times_ = nullptr, *scores_ = nullptr;
};

int main() {
  Scorer scorer(512, 4096, 24, 64);
  const std::vector<float> scores = scorer.run(7);
  std::printf("best %f\n", *std::min_element(scores.begin(), scores.end()));
  return 0;
}
