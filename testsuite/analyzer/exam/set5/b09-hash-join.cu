#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <utility>

namespace db {

inline void throw_on(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

template <typename T>
class device_buffer {
 public:
  device_buffer(size_t n, cudaStream_t s) : n_(n), stream_(s) {
    throw_on(cudaMallocAsync(reinterpret_cast<void**>(&p_), n * sizeof(T), s));
  }
  device_buffer(device_buffer&& o) noexcept : p_(std::exchange(o.p_, nullptr)), n_(o.n_), stream_(o.stream_) {}
  device_buffer(const device_buffer&) = delete;
  ~device_buffer() {
    if (p_) cudaFreeAsync(p_, stream_);
  }
  T* data() { return p_; }
  const T* data() const { return p_; }
  size_t size() const { return n_; }
  cudaStream_t stream() const { return stream_; }

 private:
  T* p_ = nullptr;
  size_t n_;
  cudaStream_t stream_;
};

struct Entry { uint32_t key; uint32_t row; };
constexpr uint32_t kEmpty = 0xffffffffu;

__global__ void build(const uint32_t* keys, int n, Entry* table, uint32_t mask) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint32_t h = (keys[i] * 2654435761u) & mask;
  while (atomicCAS(&table[h].key, kEmpty, keys[i]) != kEmpty) h = (h + 1) & mask;
  table[h].row = i;
}

__global__ void probe(const uint32_t* keys, int n, const Entry* table, uint32_t mask, unsigned long long* matches) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint32_t h = (keys[i] * 2654435761u) & mask;
  while (table[h].key != kEmpty) {
    if (table[h].key == keys[i]) { atomicAdd(matches, 1ull); return; }
    h = (h + 1) & mask;
  }
}

class JoinContext {
 public:
  JoinContext() {
    throw_on(cudaStreamCreateWithFlags(&build_, cudaStreamNonBlocking));
    throw_on(cudaStreamCreateWithFlags(&probe_, cudaStreamNonBlocking));
    throw_on(cudaEventCreateWithFlags(&built_, cudaEventDisableTiming));
    throw_on(cudaEventCreateWithFlags(&probed_, cudaEventDisableTiming));
  }
  ~JoinContext() {
    cudaDeviceSynchronize();
    cudaEventDestroy(probed_);
    cudaEventDestroy(built_);
    cudaStreamDestroy(probe_);
    cudaStreamDestroy(build_);
  }

  device_buffer<Entry> make_table(const uint32_t* keys, int n, uint32_t slots) {
    device_buffer<Entry> t(slots, build_);
    throw_on(cudaMemsetAsync(t.data(), 0xff, slots * sizeof(Entry), build_));
    build<<<(n + 255) / 256, 256, 0, build_>>>(keys, n, t.data(), slots - 1);
    throw_on(cudaEventRecord(built_, build_));
    return t;
  }

  void count_matches(const device_buffer<Entry>& t, const uint32_t* keys, int n, unsigned long long* out) {
    throw_on(cudaStreamWaitEvent(probe_, built_, 0));
    probe<<<(n + 255) / 256, 256, 0, probe_>>>(keys, n, t.data(), uint32_t(t.size() - 1), out);
    throw_on(cudaGetLastError());
    throw_on(cudaEventRecord(probed_, probe_));
  }

  void join_partition(const uint32_t* r, int nr, const uint32_t* s, int ns, unsigned long long* out) {
    auto table = make_table(r, nr, 1u << 21);
    count_matches(table, s, ns, out);
  }

  void wait() { throw_on(cudaStreamSynchronize(probe_)); }

 private:
  cudaStream_t build_{}, probe_{};
  cudaEvent_t built_{}, probed_{};
};

}  // namespace db

int main() {
  const int parts = 16, n = 1 << 20;
  uint32_t* keys = nullptr;
  unsigned long long* counts = nullptr;
  db::throw_on(cudaMalloc(&keys, sizeof(uint32_t) * n * parts));
  db::throw_on(cudaMallocManaged(&counts, sizeof(*counts) * parts));
  for (int i = 0; i < parts; ++i) counts[i] = 0;
  db::throw_on(cudaMemset(keys, 0x11, sizeof(uint32_t) * n * parts));
  db::throw_on(cudaDeviceSynchronize());
  {
    db::JoinContext ctx;
    for (int p = 0; p < parts; ++p) {
      const uint32_t* part = keys + size_t(p) * n;
      ctx.join_partition(part, 1024, part, n, counts + p);
    }
    ctx.wait();
  }
  for (int p = 0; p < parts; ++p) std::printf("partition %d: %llu\n", p, counts[p]);
  cudaFree(counts);
  cudaFree(keys);
}
