// Sonar pings travel to the detector through a ring of device mailboxes. A sequence word per
// mailbox is posted by the stream itself; the detector's stream waits for it.
#include <cuda.h>
#include <cuda_runtime.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

static void drv(CUresult rc, const char* what) {
  if (rc == CUDA_SUCCESS) return;
  const char* text = "unknown";
  cuGetErrorString(rc, &text);
  std::fprintf(stderr, "%s: %s\n", what, text);
  std::exit(1);
}
#define DRV(call) drv((call), #call)

namespace sonar {

constexpr int kSamples = 8192;
constexpr int kSlots = 4;
constexpr int kPings = 64;

__global__ void correlate(const float* __restrict__ ping, float* __restrict__ peak, int index) {
  __shared__ float best[256];
  float m = 0.f;
  for (int i = threadIdx.x; i < kSamples - 32; i += blockDim.x) {
    float acc = 0.f;
    for (int k = 0; k < 32; ++k) acc += ping[i + k] * cospif(k / 8.f);
    m = fmaxf(m, fabsf(acc));
  }
  best[threadIdx.x] = m;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) best[threadIdx.x] = fmaxf(best[threadIdx.x], best[threadIdx.x + s]);
    __syncthreads();
  }
  if (threadIdx.x == 0) peak[index] = best[0];
}

class Mailboxes {
 public:
  Mailboxes() {
    DRV(cuStreamCreate(&bulk_, CU_STREAM_NON_BLOCKING));
    DRV(cuStreamCreate(&notify_, CU_STREAM_NON_BLOCKING));
    DRV(cuMemAlloc(&sequence_, kSlots * sizeof(cuuint32_t)));
    DRV(cuMemsetD32Async(sequence_, 0, kSlots, notify_));
    DRV(cuStreamSynchronize(notify_));
    for (int s = 0; s < kSlots; ++s) {
      DRV(cuMemAlloc(&payload_[s], kSamples * sizeof(float)));
      DRV(cuEventCreate(&drained_[s], CU_EVENT_DISABLE_TIMING));
    }
  }
  ~Mailboxes() {
    cuStreamSynchronize(bulk_);
    cuStreamSynchronize(notify_);
    for (int s = 0; s < kSlots; ++s) {
      cuEventDestroy(drained_[s]);
      cuMemFree(payload_[s]);
    }
    cuMemFree(sequence_);
    cuStreamDestroy(notify_);
    cuStreamDestroy(bulk_);
  }
  Mailboxes(const Mailboxes&) = delete;
  Mailboxes& operator=(const Mailboxes&) = delete;

  // Posts ping number `n` (counted from 1). `samples` is page-locked and stays untouched.
  void post(unsigned n, const float* samples) {
    const int slot = n % kSlots;
    DRV(cuStreamWaitEvent(bulk_, drained_[slot], 0));
    DRV(cuMemcpyHtoDAsync(payload_[slot], samples, kSamples * sizeof(float), bulk_));
    announce(slot, n);
  }

  // Makes `consumer` wait for ping `n` and returns its payload.
  const float* receive(unsigned n, CUstream consumer) {
    const int slot = n % kSlots;
    DRV(cuStreamWaitValue32(consumer, word(slot), n, CU_STREAM_WAIT_VALUE_GEQ));
    return reinterpret_cast<const float*>(payload_[slot]);
  }

  void release(unsigned n, CUstream consumer) { DRV(cuEventRecord(drained_[n % kSlots], consumer)); }

 private:
  CUdeviceptr word(int slot) const { return sequence_ + slot * sizeof(cuuint32_t); }

  void announce(int slot, unsigned n) {
    DRV(cuStreamWriteValue32(bulk_, word(slot), n, CU_STREAM_WRITE_VALUE_DEFAULT));
  }

  CUstream bulk_ = nullptr;
  CUstream notify_ = nullptr;
  CUdeviceptr sequence_ = 0;
  std::array<CUdeviceptr, kSlots> payload_{};
  std::array<CUevent, kSlots> drained_{};
};

class Detector {
 public:
  Detector() {
    DRV(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    DRV(cuMemAlloc(&peaks_, kPings * sizeof(float)));
  }
  ~Detector() {
    cuStreamSynchronize(stream_);
    cuMemFree(peaks_);
    cuStreamDestroy(stream_);
  }
  Detector(const Detector&) = delete;
  Detector& operator=(const Detector&) = delete;

  void take(Mailboxes& boxes, unsigned n) {
    const float* ping = boxes.receive(n, stream_);
    correlate<<<1, 256, 0, stream_>>>(ping, reinterpret_cast<float*>(peaks_), static_cast<int>(n) - 1);
    boxes.release(n, stream_);
  }

  std::array<float, kPings> peaks() const {
    std::array<float, kPings> host{};
    DRV(cuMemcpyDtoHAsync(host.data(), peaks_, sizeof(host), stream_));
    DRV(cuStreamSynchronize(stream_));
    return host;
  }

 private:
  CUstream stream_ = nullptr;
  CUdeviceptr peaks_ = 0;
};

}  // namespace sonar

int main() {
  using namespace sonar;
  CUdevice device;
  CUcontext context;
  DRV(cuInit(0));
  DRV(cuDeviceGet(&device, 0));
  DRV(cuDevicePrimaryCtxRetain(&context, device));
  DRV(cuCtxSetCurrent(context));

  void* raw = nullptr;
  DRV(cuMemHostAlloc(&raw, sizeof(float) * kSamples * kPings, 0));
  auto* samples = static_cast<float*>(raw);
  for (int i = 0; i < kSamples * kPings; ++i) samples[i] = std::sin(0.39f * i) * (i % 977 < 40);
  {
    Mailboxes boxes;
    Detector detector;
    for (unsigned n = 1; n <= kPings; ++n) {
      boxes.post(n, samples + (n - 1) * kSamples);
      detector.take(boxes, n);
    }
    for (float p : detector.peaks()) std::printf("%.3f\n", p);
  }
  DRV(cuMemFreeHost(raw));
  DRV(cuDevicePrimaryCtxRelease(device));
}
