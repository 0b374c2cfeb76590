// Owning device buffers whose destructor frees in stream order.  Modelled on NVlabs/cuda-oxide#619.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

static void ok(cudaError_t e, int line) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e));
  std::exit(1);
}
#define OK(x) ok((x), __LINE__)

class Stream {
 public:
  Stream() { OK(cudaStreamCreateWithFlags(&raw_, cudaStreamNonBlocking)); }
  ~Stream() {
    cudaStreamSynchronize(raw_);
    cudaStreamDestroy(raw_);
  }
  Stream(const Stream&) = delete;
  cudaStream_t raw() const { return raw_; }
  // everything enqueued here later runs after everything enqueued so far in `other`
  void join(const Stream& other) const {
    cudaEvent_t e;
    OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    OK(cudaEventRecord(e, other.raw_));
    OK(cudaStreamWaitEvent(raw_, e, 0));
    OK(cudaEventDestroy(e));
  }
  void synchronize() const { OK(cudaStreamSynchronize(raw_)); }

 private:
  cudaStream_t raw_{};
};

template <typename T>
class DeviceBuffer {
 public:
  DeviceBuffer(std::shared_ptr<Stream> s, size_t len) : stream_(std::move(s)), len_(len) {
    OK(cudaMallocAsync(&ptr_, len * sizeof(T), stream_->raw()));
  }
  ~DeviceBuffer() {
    if (!ptr_) return;
#ifdef FIXED
    for (auto& s : users_) stream_->join(*s);
#endif
    OK(cudaFreeAsync(ptr_, stream_->raw()));
  }
  DeviceBuffer(DeviceBuffer&& o) noexcept
      : stream_(std::move(o.stream_)), ptr_(std::exchange(o.ptr_, nullptr)), len_(o.len_), users_(std::move(o.users_)) {}
  T* ptr_on(const std::shared_ptr<Stream>& s) {
    if (s != stream_) users_.push_back(s);
    return ptr_;
  }
  size_t len() const { return len_; }

 private:
  std::shared_ptr<Stream> stream_;
  T* ptr_{};
  size_t len_;
  std::vector<std::shared_ptr<Stream>> users_;
};

__global__ void ramp(float* p, size_t n, float v) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i < n) p[i] = v + float(i & 15);
}
__global__ void saxpy_many(float* y, const float* x, size_t n, int reps) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i >= n) return;
  float a = y[i];
  for (int r = 0; r < reps; ++r) a = fmaf(a, 0.9999f, 0.0001f);
  y[i] = a + x[i];
}

int main() {
  int dev = 0;
  cudaMemPool_t pool;
  uint64_t keep = UINT64_MAX;
  OK(cudaDeviceGetDefaultMemPool(&pool, dev));
  OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));

  constexpr size_t n = 1 << 16;
  auto upload = std::make_shared<Stream>(), compute = std::make_shared<Stream>();
  DeviceBuffer<float> acc(compute, n);
  OK(cudaMemsetAsync(acc.ptr_on(compute), 0, n * sizeof(float), compute->raw()));
  for (int step = 0; step < 4; ++step) {
    DeviceBuffer<float> x(upload, n);
    ramp<<<n / 256, 256, 0, upload->raw()>>>(x.ptr_on(upload), n, float(step));
    compute->join(*upload);
    saxpy_many<<<n / 256, 256, 0, compute->raw()>>>(acc.ptr_on(compute), x.ptr_on(compute), n, 150000);
    OK(cudaGetLastError());
  }  // x dropped here
  compute->synchronize();
  float h;
  OK(cudaMemcpy(&h, acc.ptr_on(compute) + 3, sizeof h, cudaMemcpyDeviceToHost));
  std::printf("acc[3] = %f\n", h);
  return 0;
}
