// Couples two processing stages on one GPU through a mailbox in device memory. The stages are
// driven by different threads; they meet only through doorbell words, not through events.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#define LINK_CU(call)                                                              \
  do {                                                                             \
    const CUresult r_ = (call);                                                    \
    if (r_ != CUDA_SUCCESS)                                                        \
      throw std::runtime_error(std::string(#call ": CUresult ") + std::to_string(int(r_))); \
  } while (0)

#define LINK_RT(call)                                                              \
  do {                                                                             \
    const cudaError_t e_ = (call);                                                 \
    if (e_ != cudaSuccess)                                                         \
      throw std::runtime_error(std::string(#call ": ") + cudaGetErrorString(e_));  \
  } while (0)

namespace link {

__global__ void demosaic(const uint16_t* raw, float* rgb, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const int x0 = x & ~1, y0 = y & ~1;
  const int x1 = min(x0 + 1, width - 1), y1 = min(y0 + 1, height - 1);
  float* out = rgb + 3 * (size_t(y) * width + x);
  out[0] = raw[size_t(y0) * width + x0];
  out[1] = 0.5f * (raw[size_t(y0) * width + x1] + raw[size_t(y1) * width + x0]);
  out[2] = raw[size_t(y1) * width + x1];
}

__global__ void toneMap(const float* rgb, uint8_t* out, float exposure, size_t n) {
  const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = rgb[i] * exposure;
  out[i] = static_cast<uint8_t>(255.f * v / (1.f + v));
}

// A counter in device memory that only grows. Small and urgent, hence a stream of high priority.
class Doorbell {
 public:
  Doorbell() {
    int least = 0, greatest = 0;
    LINK_CU(cuCtxGetStreamPriorityRange(&least, &greatest));
    LINK_CU(cuStreamCreateWithPriority(&stream_, CU_STREAM_NON_BLOCKING, greatest));
    LINK_CU(cuMemAlloc(&word_, sizeof(uint32_t)));
    LINK_CU(cuMemsetD32Async(word_, 0, 1, stream_));
    LINK_CU(cuStreamSynchronize(stream_));
  }
  Doorbell(const Doorbell&) = delete;
  ~Doorbell() {
    cuStreamSynchronize(stream_);
    cuMemFree(word_);
    cuStreamDestroy(stream_);
  }
  void ring(uint32_t sequence) { LINK_CU(cuStreamWriteValue32(stream_, word_, sequence, 0)); }
  void await(CUstream waiter, uint32_t sequence) const {
    LINK_CU(cuStreamWaitValue32(waiter, word_, sequence, CU_STREAM_WAIT_VALUE_GEQ));
  }
  CUstream stream() const { return stream_; }

 private:
  CUstream stream_ = nullptr;
  CUdeviceptr word_ = 0;
};

struct Mailbox {
  Mailbox(int w, int h, int dev) : width(w), height(h), device(dev), rgb(allocate()) {}
  Mailbox(const Mailbox&) = delete;
  ~Mailbox() { cudaFree(rgb); }
  size_t values() const { return size_t(3) * width * height; }
  float* allocate() const {
    void* p = nullptr;
    LINK_RT(cudaSetDevice(device));
    LINK_RT(cudaMalloc(&p, values() * sizeof(float)));
    return static_cast<float*>(p);
  }
  int width, height, device;
  float* rgb;
  Doorbell posted;  // frames put into the box
  Doorbell taken;   // frames that have left it
};

// Lives on thread 1. Not to be destroyed before the last frame has been taken.
class CameraStage {
 public:
  explicit CameraStage(Mailbox& box) : box_(box) {
    LINK_RT(cudaSetDevice(box_.device));
    LINK_CU(cuStreamCreate(&bulk_, CU_STREAM_NON_BLOCKING));
    LINK_CU(cuEventCreate(&written_, CU_EVENT_DISABLE_TIMING));
  }
  ~CameraStage() {
    cuStreamSynchronize(bulk_);
    cuEventDestroy(written_);
    cuStreamDestroy(bulk_);
  }
  // `raw` is a complete device image. Returns an event behind its last use.
  CUevent post(const uint16_t* raw) {
    box_.taken.await(bulk_, sequence_);
    ++sequence_;
    const dim3 block(32, 8), grid((box_.width + 31) / 32, (box_.height + 7) / 8);
    demosaic<<<grid, block, 0, bulk_>>>(raw, box_.rgb, box_.width, box_.height);
    LINK_RT(cudaGetLastError());
    LINK_CU(cuEventRecord(written_, bulk_));
    box_.posted.ring(sequence_);
    return written_;
  }

 private:
  Mailbox& box_;
  CUstream bulk_ = nullptr;
  CUevent written_ = nullptr;
  uint32_t sequence_ = 0;
};

// Lives on thread 2.
class DisplayStage {
 public:
  explicit DisplayStage(Mailbox& box) : box_(box) {
    LINK_RT(cudaSetDevice(box_.device));
    LINK_CU(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    LINK_CU(cuEventCreate(&read_, CU_EVENT_DISABLE_TIMING));
  }
  ~DisplayStage() {
    cuStreamSynchronize(stream_);
    cuEventDestroy(read_);
    cuStreamDestroy(stream_);
  }
  // Renders the next frame into the device image `out` and waits for it.
  void render(uint8_t* out, float exposure) {
    ++sequence_;
    box_.posted.await(stream_, sequence_);
    const size_t n = box_.values();
    toneMap<<<unsigned((n + 255) / 256), 256, 0, stream_>>>(box_.rgb, out, exposure, n);
    LINK_RT(cudaGetLastError());
    LINK_CU(cuEventRecord(read_, stream_));
    LINK_CU(cuStreamWaitEvent(box_.taken.stream(), read_, 0));
    box_.taken.ring(sequence_);
    LINK_CU(cuStreamSynchronize(stream_));
  }

 private:
  Mailbox& box_;
  CUstream stream_ = nullptr;
  CUevent read_ = nullptr;
  uint32_t sequence_ = 0;
};

}  // namespace link
