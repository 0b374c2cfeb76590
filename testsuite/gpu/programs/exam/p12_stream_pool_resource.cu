// Stream-ordered suballocator with a free list per stream; lists of other streams are merged when one's own
// list has run dry.  Modelled on rapidsai/rmm#2490.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#define RMM_CUDA_TRY(x)                                                                   \
  do {                                                                                    \
    cudaError_t const e_ = (x);                                                           \
    if (e_ != cudaSuccess) {                                                              \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));     \
      std::exit(1);                                                                       \
    }                                                                                     \
  } while (0)

class stream_ordered_resource {
 public:
  stream_ordered_resource(std::size_t block_bytes, int blocks) {
    RMM_CUDA_TRY(cudaMalloc(&slab_, block_bytes * blocks));
    for (int i = blocks - 1; i >= 0; --i) untouched_.push_back(static_cast<char*>(slab_) + i * block_bytes);
  }
  ~stream_ordered_resource() {
    for (auto& [s, st] : state_) cudaEventDestroy(st.event);
    cudaFree(slab_);
  }
  void* allocate(cudaStream_t stream) {
    std::lock_guard<std::mutex> lock(mtx_);
    auto& mine = get_state(stream);
    if (mine.blocks.empty()) {
      if (!untouched_.empty()) {
        void* p = untouched_.back();
        untouched_.pop_back();
        return p;
      }
      for (auto& [other, theirs] : state_) {
        if (other == stream || theirs.blocks.empty()) continue;
        merge_lists(stream, mine, theirs);
        break;
      }
    }
    if (mine.blocks.empty()) {
      std::fprintf(stderr, "out of memory\n");
      std::exit(1);
    }
    void* p = mine.blocks.back();
    mine.blocks.pop_back();
    return p;
  }
  void deallocate(void* p, cudaStream_t stream) {
    std::lock_guard<std::mutex> lock(mtx_);
    auto& mine = get_state(stream);
    RMM_CUDA_TRY(cudaEventRecord(mine.event, stream));
    mine.blocks.push_back(p);
  }

 private:
  struct per_stream {
    cudaEvent_t event{};
    std::vector<void*> blocks;
  };
  per_stream& get_state(cudaStream_t s) {
    auto it = state_.find(s);
    if (it == state_.end()) {
      it = state_.emplace(s, per_stream{}).first;
      RMM_CUDA_TRY(cudaEventCreateWithFlags(&it->second.event, cudaEventDisableTiming));
    }
    return it->second;
  }
  void merge_lists(cudaStream_t stream, per_stream& mine, per_stream& theirs) {
    RMM_CUDA_TRY(cudaStreamWaitEvent(stream, theirs.event, 0));
    mine.blocks.insert(mine.blocks.end(), theirs.blocks.begin(), theirs.blocks.end());
    theirs.blocks.clear();
#ifdef FIXED
    RMM_CUDA_TRY(cudaEventRecord(mine.event, stream));
#endif
  }
  std::mutex mtx_;
  void* slab_{};
  std::vector<void*> untouched_;
  std::map<cudaStream_t, per_stream> state_;
};

__global__ void hash_partition(float* p, int n, int rounds, float seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = seed + i;
  for (int r = 0; r < rounds; ++r) v = fmaf(v, 0.99991f, 0.5f);
  p[i] = v;
}

int main() {
  constexpr int n = 1 << 16;
  cudaStream_t a, b, c;
  for (auto* s : {&a, &b, &c}) RMM_CUDA_TRY(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
  auto run = [&](void* p, cudaStream_t s, int rounds) {
    hash_partition<<<n / 256, 256, 0, s>>>(static_cast<float*>(p), n, rounds, 1.0f);
    RMM_CUDA_TRY(cudaGetLastError());
  };
  for (int query = 0; query < 2; ++query) {
    stream_ordered_resource mr(n * sizeof(float), 3);
    void* tmp = mr.allocate(a);
    run(tmp, a, 100);
    mr.deallocate(tmp, a);
    void* keep_a = mr.allocate(a);
    run(keep_a, a, 100);
    void* x = mr.allocate(b);
    void* y = mr.allocate(b);
    run(y, b, 100000);
    hash_partition<<<n / 256, 256, 0, b>>>(static_cast<float*>(x), n, 300000, 2.0f);
    mr.deallocate(x, b);
    mr.deallocate(y, b);
    void* z = mr.allocate(a);  // own list empty: takes over b's list
    run(z, a, 100);
    void* w = mr.allocate(c);  // takes over a's list
    hash_partition<<<n / 256, 256, 0, c>>>(static_cast<float*>(w), n, 100, 3.0f);
    RMM_CUDA_TRY(cudaGetLastError());
    mr.deallocate(w, c), mr.deallocate(z, a), mr.deallocate(keep_a, a);
    RMM_CUDA_TRY(cudaDeviceSynchronize());
    float h;
    RMM_CUDA_TRY(cudaMemcpy(&h, w, sizeof h, cudaMemcpyDeviceToHost));
    std::printf("query %d: %f\n", query, h);
  }
  for (auto s : {a, b, c}) cudaStreamDestroy(s);
  return 0;
}
