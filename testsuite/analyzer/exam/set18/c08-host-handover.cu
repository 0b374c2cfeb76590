// Two host threads, each with a stream of its own. Batches change hands on the
// host: the first thread waits for its work and only then passes a batch on, so
// that the streams need no events between them (driver API).
#include <cuda.h>
#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#define D(x)                                                        \
  do {                                                              \
    CUresult r_ = (x);                                              \
    if (r_ != CUDA_SUCCESS) {                                       \
      std::fprintf(stderr, "%s -> %d\n", #x, static_cast<int>(r_)); \
      std::abort();                                                 \
    }                                                               \
  } while (0)

struct Batch {
  CUdeviceptr data = 0;
  int serial = 0;
};

// Blocking queue of a fixed set of batches.
class Channel {
 public:
  void put(Batch b) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      queue_.push_back(b);
    }
    cv_.notify_one();
  }
  Batch take() {
    std::unique_lock<std::mutex> lock(mutex_);
    cv_.wait(lock, [this] { return !queue_.empty(); });
    Batch b = queue_.front();
    queue_.pop_front();
    return b;
  }

 private:
  std::mutex mutex_;
  std::condition_variable cv_;
  std::deque<Batch> queue_;
};

__global__ void synthesize(float* x, int n, int serial) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = sinf(0.001f * i * (serial + 1));
}

__global__ void peak(const float* x, int n, int* best) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicMax(best, static_cast<int>(1e6f * fabsf(x[i])));
}

// Binds the context to the calling thread for one scope and owns a stream.
class Worker {
 public:
  explicit Worker(CUcontext ctx) {
    D(cuCtxPushCurrent(ctx));
    D(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    D(cuEventCreate(&done_, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC));
  }
  ~Worker() {
    cuStreamSynchronize(stream_);
    cuEventDestroy(done_);
    cuStreamDestroy(stream_);
    cuCtxPopCurrent(nullptr);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  CUstream stream() const { return stream_; }
  void settle() {
    D(cuEventRecord(done_, stream_));
    D(cuEventSynchronize(done_));
  }

 private:
  CUstream stream_ = nullptr;
  CUevent done_ = nullptr;
};

constexpr int kN = 1 << 20;

void generate(CUcontext ctx, Channel& idle, Channel& full, int count) {
  Worker w(ctx);
  for (int s = 0; s < count; ++s) {
    Batch b = idle.take();
    b.serial = s;
    synthesize<<<kN / 256, 256, 0, w.stream()>>>(reinterpret_cast<float*>(b.data), kN, s);
    if (cudaGetLastError() != cudaSuccess) std::abort();
    w.settle();
    full.put(b);
  }
}

void analyse(CUcontext ctx, Channel& full, Channel& idle, int count, std::vector<int>& peaks) {
  Worker w(ctx);
  CUdeviceptr best = 0;
  int* host = nullptr;
  D(cuMemAlloc(&best, sizeof(int)));
  D(cuMemAllocHost(reinterpret_cast<void**>(&host), sizeof(int)));
  for (int s = 0; s < count; ++s) {
    Batch b = full.take();
    D(cuMemsetD32Async(best, 0, 1, w.stream()));
    peak<<<kN / 256, 256, 0, w.stream()>>>(reinterpret_cast<const float*>(b.data), kN, reinterpret_cast<int*>(best));
    if (cudaGetLastError() != cudaSuccess) std::abort();
    D(cuMemcpyDtoHAsync(host, best, sizeof(int), w.stream()));
    w.settle();
    peaks[b.serial] = *host;
    idle.put(b);
  }
  D(cuMemFreeHost(host));
  D(cuMemFree(best));
}

int main() {
  CUdevice dev;
  CUcontext ctx;
  D(cuInit(0));
  D(cuDeviceGet(&dev, 0));
  D(cuDevicePrimaryCtxRetain(&ctx, dev));
  D(cuCtxPushCurrent(ctx));
  Channel idle, full;
  Batch batches[3];
  for (Batch& b : batches) {
    D(cuMemAlloc(&b.data, sizeof(float) * kN));
    idle.put(b);
  }
  std::vector<int> peaks(64);
  std::thread first(generate, ctx, std::ref(idle), std::ref(full), 64);
  std::thread second(analyse, ctx, std::ref(full), std::ref(idle), 64, std::ref(peaks));
  first.join();
  second.join();
  for (Batch& b : batches) D(cuMemFree(b.data));
  std::printf("last peak %d\n", peaks.back());
  D(cuCtxPopCurrent(nullptr));
  D(cuDevicePrimaryCtxRelease(dev));
  return 0;
}
