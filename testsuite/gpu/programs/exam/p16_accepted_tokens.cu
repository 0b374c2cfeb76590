// Speculative decoding: the number of accepted tokens comes back through a pinned mirror.
// Modelled on vllm-project/vllm#36013.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#define CHECK(x)                                                                        \
  do {                                                                                  \
    if (cudaError_t e_ = (x)) {                                                         \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));   \
      std::exit(1);                                                                     \
    }                                                                                   \
  } while (0)

constexpr int kReqs = 1024, kDraft = 4;

__global__ void draft_and_verify(const int* prev, int* accepted, int n, int step, int depth) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = float(i + step + prev[i]);
  for (int d = 0; d < depth; ++d) s = fmaf(s, 0.9999f, 0.37f);
  accepted[i] = 1 + (int(s) + i) % kDraft;
}

template <typename T>
struct CpuGpuBuffer {
  T *cpu{}, *gpu{};
  size_t bytes;
  explicit CpuGpuBuffer(int n) : bytes(n * sizeof(T)) {
    CHECK(cudaMallocHost(&cpu, bytes));
    CHECK(cudaMalloc(&gpu, bytes));
    std::fill(cpu, cpu + n, T(0));
  }
  ~CpuGpuBuffer() { cudaFreeHost(cpu), cudaFree(gpu); }
};

class GPUModelRunner {
 public:
  GPUModelRunner() : num_accepted_(kReqs), last_(kReqs), seq_lens_(kReqs, 16) {
    CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&accepted_event_, cudaEventDisableTiming));
    CHECK(cudaMemsetAsync(last_.gpu, 0, last_.bytes, stream_));
    CHECK(cudaStreamSynchronize(stream_));
  }
  ~GPUModelRunner() {
    cudaStreamSynchronize(stream_);
    cudaEventDestroy(accepted_event_);
    cudaStreamDestroy(stream_);
  }

  // The batch of step k is prepared while the GPU is still busy with step k-1.
  void execute(int step) {
    if (step > 0) update_states();
    draft_and_verify<<<kReqs / 128, 128, 0, stream_>>>(last_.gpu, num_accepted_.gpu, kReqs, step, 300000);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(last_.gpu, num_accepted_.gpu, last_.bytes, cudaMemcpyDeviceToDevice, stream_));
    CHECK(cudaMemcpyAsync(num_accepted_.cpu, num_accepted_.gpu, num_accepted_.bytes, cudaMemcpyDeviceToHost, stream_));
#ifdef FIXED
    CHECK(cudaEventRecord(accepted_event_, stream_));
#endif
  }
  long total() const { return std::accumulate(seq_lens_.begin(), seq_lens_.end(), 0L); }

 private:
  void update_states() {
#ifdef FIXED
    CHECK(cudaEventSynchronize(accepted_event_));
#endif
    for (int r = 0; r < kReqs; ++r) {
      seq_lens_[r] += num_accepted_.cpu[r];
    }
  }
  CpuGpuBuffer<int> num_accepted_, last_;
  std::vector<int> seq_lens_;
  cudaStream_t stream_{};
  cudaEvent_t accepted_event_{};
};

int main() {
  GPUModelRunner runner;
  for (int step = 0; step < 6; ++step) runner.execute(step);
  std::printf("tokens so far %ld\n", runner.total());
  CHECK(cudaDeviceSynchronize());
  return 0;
}
