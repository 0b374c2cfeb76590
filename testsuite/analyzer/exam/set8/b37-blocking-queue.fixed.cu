// Command queue of the portable kernels layer, CUDA back end, with its self test. A queue owns a stream; launches are
// asynchronous, reads and writes of buffers block the caller.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

namespace pk {

inline void check(cudaError_t rc, const char* expr) {
  if (rc == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", expr, cudaGetErrorString(rc));
  std::abort();
}
#define PK_CHECK(x) ::pk::check((x), #x)

template <typename T>
class Buffer {
 public:
  explicit Buffer(size_t count) : count_(count) { PK_CHECK(cudaMalloc(&data_, count * sizeof(T))); }
  ~Buffer() { cudaFree(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  T* data() const { return data_; }
  size_t size() const { return count_; }

 private:
  size_t count_;
  T* data_ = nullptr;
};

class Queue {
 public:
  virtual ~Queue() = default;
  virtual void write_bytes(void* dst, const void* src, size_t bytes) = 0;
  virtual void read_bytes(void* dst, const void* src, size_t bytes) = 0;
  virtual void finish() = 0;
  virtual cudaStream_t native() const = 0;

  template <typename T>
  void write(Buffer<T>& dst, const std::vector<T>& src) {
    write_bytes(dst.data(), src.data(), src.size() * sizeof(T));
  }
  template <typename T>
  void read(std::vector<T>& dst, const Buffer<T>& src) {
    dst.resize(src.size());
    read_bytes(dst.data(), src.data(), src.size() * sizeof(T));
  }
};

class CudaQueue final : public Queue {
 public:
  CudaQueue() { PK_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~CudaQueue() override {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }

  void write_bytes(void* dst, const void* src, size_t bytes) override {
    PK_CHECK(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyHostToDevice, stream_));
    PK_CHECK(cudaStreamSynchronize(stream_));
  }

  void read_bytes(void* dst, const void* src, size_t bytes) override {
    PK_CHECK(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToHost, stream_));
    PK_CHECK(cudaStreamSynchronize(stream_));
  }

  void finish() override { PK_CHECK(cudaStreamSynchronize(stream_)); }
  cudaStream_t native() const override { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

std::unique_ptr<Queue> make_queue() { return std::make_unique<CudaQueue>(); }

// ---- kernels of the self test ----

__global__ void collatz_kernel(const unsigned* start, unsigned* length, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long v = start[i];
  unsigned steps = 0;
  while (v > 1) {
    v = v % 2 ? 3 * v + 1 : v / 2;
    ++steps;
  }
  length[i] = steps;
}

void collatz(Queue& q, const Buffer<unsigned>& start, Buffer<unsigned>& length) {
  int n = static_cast<int>(start.size());
  collatz_kernel<<<(n + 255) / 256, 256, 0, q.native()>>>(start.data(), length.data(), n);
  PK_CHECK(cudaGetLastError());
}

}  // namespace pk

static unsigned reference(unsigned long long v) {
  unsigned steps = 0;
  for (; v > 1; ++steps) v = v % 2 ? 3 * v + 1 : v / 2;
  return steps;
}

static int test_collatz(pk::Queue& queue, unsigned base) {
  const size_t n = 1 << 20;
  pk::Buffer<unsigned> start(n), length(n);
  std::vector<unsigned> values(n), result;
  for (size_t i = 0; i < n; ++i) values[i] = base + static_cast<unsigned>(i);
  queue.write(start, values);
  pk::collatz(queue, start, length);
  queue.read(result, length);
  int bad = 0;
  for (size_t i = 0; i < n; ++i) bad += result[i] != reference(values[i]);
  queue.finish();
  return bad;
}

int main() {
  std::unique_ptr<pk::Queue> queue = pk::make_queue();
  int bad = 0;
  for (unsigned base = 1; base < 4000000; base += 1000000) bad += test_collatz(*queue, base);
  std::printf("collatz: %d mismatches\n", bad);
  return bad != 0;
}
