// dose-gather: spreads the beams of a treatment plan over all GPUs and sums
// the partial dose grids on GPU 0.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#define DG(call)                                                                          \
  do {                                                                                    \
    const cudaError_t rc_ = (call);                                                       \
    if (rc_ != cudaSuccess) {                                                             \
      std::fprintf(stderr, "dose-gather: %s (line %d)\n", cudaGetErrorString(rc_), __LINE__); \
      std::exit(1);                                                                       \
    }                                                                                     \
  } while (0)

constexpr int kEdge = 192;
constexpr std::size_t kVoxels = static_cast<std::size_t>(kEdge) * kEdge * kEdge;
constexpr std::size_t kGridBytes = kVoxels * sizeof(float);

struct Beam {
  float x, y, weight;
};

__global__ void deposit(Beam beam, float* dose) {
  const std::size_t v = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (v >= kVoxels) return;
  const float x = static_cast<float>(v % kEdge);
  const float y = static_cast<float>(v / kEdge % kEdge);
  const float z = static_cast<float>(v / kEdge / kEdge);
  const float dx = x - beam.x, dy = y - beam.y;
  dose[v] += beam.weight * expf(-0.01f * (dx * dx + dy * dy) - 0.02f * z);
}

__global__ void add_grids(const float* const* parts, int count, float* total) {
  const std::size_t v = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (v >= kVoxels) return;
  float acc = 0.f;
  for (int i = 0; i < count; ++i) acc += parts[i][v];
  total[v] = acc;
}

constexpr unsigned kBlocks = static_cast<unsigned>((kVoxels + 255) / 256);

class Worker {
 public:
  Worker(int device, float* gather) : device_(device), gather_(gather) {
    DG(cudaSetDevice(device_));
    DG(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    DG(cudaEventCreateWithFlags(&done_, cudaEventDisableTiming));
    DG(cudaMalloc(&dose_, kGridBytes));
  }
  ~Worker() {
    DG(cudaSetDevice(device_));
    DG(cudaStreamSynchronize(stream_));
    DG(cudaFree(dose_));
    DG(cudaEventDestroy(done_));
    DG(cudaStreamDestroy(stream_));
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void run(const std::vector<Beam>& beams) {
    DG(cudaSetDevice(device_));
    compute(beams);
    ship();
  }
  cudaEvent_t done() const { return done_; }

 private:
  void compute(const std::vector<Beam>& beams) {
    DG(cudaMemsetAsync(dose_, 0, kGridBytes, stream_));
    for (const Beam& b : beams) deposit<<<kBlocks, 256, 0, stream_>>>(b, dose_);
    DG(cudaGetLastError());
  }
  void ship() {
    DG(cudaMemcpyPeerAsync(gather_, 0, dose_, device_, kGridBytes, stream_));
    DG(cudaEventRecord(done_, stream_));
  }

  int device_;
  float* gather_;
  float* dose_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t done_ = nullptr;
};

int main() {
  int gpus = 0;
  DG(cudaGetDeviceCount(&gpus));
  std::vector<std::vector<Beam>> plan(gpus);
  for (int i = 0; i < 64; ++i) plan[i % gpus].push_back({3.f * static_cast<float>(i), 96.f, 1.f});

  DG(cudaSetDevice(0));
  std::vector<float*> parts(gpus);
  for (float*& p : parts) DG(cudaMalloc(&p, kGridBytes));
  const float** parts_device = nullptr;
  float* total = nullptr;
  cudaStream_t sum_stream;
  DG(cudaMalloc(&parts_device, gpus * sizeof(float*)));
  DG(cudaMalloc(&total, kGridBytes));
  DG(cudaStreamCreateWithFlags(&sum_stream, cudaStreamNonBlocking));
  DG(cudaMemcpyAsync(parts_device, parts.data(), gpus * sizeof(float*), cudaMemcpyHostToDevice, sum_stream));

  std::vector<Worker*> workers;
  for (int d = 0; d < gpus; ++d) workers.push_back(new Worker(d, parts[d]));
  std::vector<std::thread> threads;
  for (int d = 0; d < gpus; ++d) threads.emplace_back([&, d] { workers[d]->run(plan[d]); });
  for (std::thread& t : threads) t.join();

  DG(cudaSetDevice(0));
  std::vector<float> host(kVoxels);
  for (Worker* w : workers) DG(cudaStreamWaitEvent(sum_stream, w->done(), 0));
  add_grids<<<kBlocks, 256, 0, sum_stream>>>(parts_device, gpus, total);
  DG(cudaGetLastError());
  DG(cudaMemcpyAsync(host.data(), total, kGridBytes, cudaMemcpyDeviceToHost, sum_stream));
  DG(cudaStreamSynchronize(sum_stream));

  double integral = 0.0;
  for (float v : host) integral += v;
  std::printf("%d GPUs, integral dose %.4e\n", gpus, integral);

  for (Worker* w : workers) delete w;
  DG(cudaSetDevice(0));
  for (float* p : parts) DG(cudaFree(p));
  DG(cudaFree(parts_device));
  DG(cudaFree(total));
  DG(cudaStreamDestroy(sum_stream));
  return 0;
}
