// Parallel map over per-thread default streams; the merge runs on the main thread's own default stream behind one
// event per worker.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <future>
#include <thread>
#include <vector>

#define CK(x)                                                                            \
  do {                                                                                   \
    cudaError_t status_ = (x);                                                              \
    if (status_ != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(status_));    \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

constexpr int kWorkers = 4, kChunk = 1 << 14;

__global__ void map_chunk(const float* in, float* out, int n, int work) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = in[i];
  for (int k = 0; k < work; ++k) v = fmaf(v, 0.9999f, 1e-3f);
  out[i] = v;
}
__global__ void merge(const float* parts, float* out, int chunk, int parts_n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= chunk) return;
  float s = 0;
  for (int p = 0; p < parts_n; ++p) s += parts[p * chunk + i];
  out[i] = s;
}

int main() {
  float *in, *parts, *out, *host;
  CK(cudaMalloc(&in, kWorkers * kChunk * sizeof(float)));
  CK(cudaMalloc(&parts, kWorkers * kChunk * sizeof(float)));
  CK(cudaMalloc(&out, kChunk * sizeof(float)));
  CK(cudaMallocHost(&host, kWorkers * kChunk * sizeof(float)));
  std::vector<cudaEvent_t> done(kWorkers);
  for (auto& e : done) CK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  cudaEvent_t input_ready, merged;
  CK(cudaEventCreateWithFlags(&input_ready, cudaEventDisableTiming));
  CK(cudaEventCreateWithFlags(&merged, cudaEventDisableTiming));
  float last = 0;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kWorkers * kChunk; ++i) host[i] = float(i % 17 + round);
    CK(cudaMemcpyAsync(in, host, kWorkers * kChunk * sizeof(float), cudaMemcpyHostToDevice));
    CK(cudaEventRecord(input_ready));
    std::promise<void> over;
    auto round_over = over.get_future().share();
    std::vector<std::promise<void>> recorded(kWorkers);
    std::vector<std::thread> pool;
    for (int w = 0; w < kWorkers; ++w)
      pool.emplace_back([&, w, round_over] {
        CK(cudaStreamWaitEvent(cudaStreamPerThread, input_ready, 0));  // also behind the merge of the last round
        map_chunk<<<kChunk / 128, 128>>>(in + w * kChunk, parts + w * kChunk, kChunk, 100000 + 20000 * w);
        CK(cudaGetLastError());
        CK(cudaEventRecord(done[w]));
        recorded[w].set_value();
        round_over.wait();  // the thread, and with it its stream, outlives the round
      });
    for (auto& r : recorded) r.get_future().wait();
    for (auto e : done) CK(cudaStreamWaitEvent(cudaStreamPerThread, e, 0));
    merge<<<kChunk / 128, 128>>>(parts, out, kChunk, kWorkers);
    CK(cudaGetLastError());
    CK(cudaMemcpyAsync(host, out, sizeof(float), cudaMemcpyDeviceToHost));
    CK(cudaEventRecord(merged));
    CK(cudaEventSynchronize(merged));
    over.set_value();
    for (auto& t : pool) t.join();
    last = host[0];
    std::printf("round %d: %f\n", round, last);
  }
  CK(cudaDeviceSynchronize());
  for (auto e : done) CK(cudaEventDestroy(e));
  CK(cudaEventDestroy(input_ready));
  CK(cudaEventDestroy(merged));
  CK(cudaFree(in));
  CK(cudaFree(parts));
  CK(cudaFree(out));
  CK(cudaFreeHost(host));
  return 0;
}
