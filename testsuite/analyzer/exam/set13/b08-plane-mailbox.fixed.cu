// Moves reconstructed planes from a worker GPU to the stitching GPU; a 32-bit mailbox per slot
// tells the consumer which plane the slot holds.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define RT(e)                                                                       \
  do {                                                                              \
    cudaError_t e_ = (e);                                                           \
    if (e_ != cudaSuccess) {                                                        \
      std::fprintf(stderr, "%s -> %s\n", #e, cudaGetErrorName(e_));                 \
      std::exit(2);                                                                 \
    }                                                                               \
  } while (0)
#define DR(e)                                                                       \
  do {                                                                              \
    CUresult e_ = (e);                                                              \
    if (e_ != CUDA_SUCCESS) {                                                       \
      std::fprintf(stderr, "%s -> %d\n", #e, static_cast<int>(e_));                 \
      std::exit(2);                                                                 \
    }                                                                               \
  } while (0)

__global__ void backproject(float* plane, int n, float angle) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) plane[i] = __cosf(angle) * i;
}

__global__ void stitch(float* volume, const float* plane, int n, int z) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) volume[static_cast<size_t>(z) * n + i] = plane[i];
}

struct DeviceScope {
  explicit DeviceScope(int d) {
    RT(cudaGetDevice(&saved_));
    RT(cudaSetDevice(d));
  }
  ~DeviceScope() { cudaSetDevice(saved_); }
  int saved_ = 0;
};

// One slot per plane: nothing is reused within a volume.
struct Mailbox {
  int planes = 0, pixels = 0;
  float* inbox = nullptr;       // on the stitching GPU
  std::uint32_t* tag = nullptr; // mapped pinned memory, seen by both GPUs

  Mailbox(int device, int planes, int pixels) : planes(planes), pixels(pixels) {
    DeviceScope d(device);
    RT(cudaMalloc(&inbox, sizeof(float) * planes * pixels));
    RT(cudaHostAlloc(&tag, sizeof(std::uint32_t) * planes,
                     cudaHostAllocPortable | cudaHostAllocMapped));
    for (int i = 0; i < planes; ++i) tag[i] = 0;
  }
  ~Mailbox() {
    cudaFreeHost(tag);
    cudaFree(inbox);
  }
  float* slot(int z) const { return inbox + static_cast<size_t>(z) * pixels; }
  CUdeviceptr tag_address(int z) const { return reinterpret_cast<CUdeviceptr>(tag + z); }
};

class PlaneSender {
 public:
  PlaneSender(int device, int peer, int pixels) : device_(device), peer_(peer), pixels_(pixels) {
    DeviceScope d(device_);
    RT(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
    RT(cudaStreamCreateWithFlags(&link_, cudaStreamNonBlocking));
    RT(cudaEventCreateWithFlags(&plane_ready_, cudaEventDisableTiming));
    RT(cudaEventCreateWithFlags(&plane_sent_, cudaEventDisableTiming));
    RT(cudaMalloc(&plane_, sizeof(float) * pixels_));
  }
  ~PlaneSender() {
    DeviceScope d(device_);
    cudaStreamSynchronize(link_);
    cudaStreamSynchronize(compute_);
    cudaFree(plane_);
    cudaEventDestroy(plane_sent_);
    cudaEventDestroy(plane_ready_);
    cudaStreamDestroy(link_);
    cudaStreamDestroy(compute_);
  }

  void produce(int z, const Mailbox& box) {
    DeviceScope d(device_);
    RT(cudaStreamWaitEvent(compute_, plane_sent_, 0));
    backproject<<<(pixels_ + 255) / 256, 256, 0, compute_>>>(plane_, pixels_, 0.01f * z);
    RT(cudaEventRecord(plane_ready_, compute_));
    push(z, box);
    announce(z, box);
  }

 private:
  void push(int z, const Mailbox& box) {
    RT(cudaStreamWaitEvent(link_, plane_ready_, 0));
    RT(cudaMemcpyPeerAsync(box.slot(z), peer_, plane_, device_, sizeof(float) * pixels_, link_));
    RT(cudaEventRecord(plane_sent_, link_));
  }

  void announce(int z, const Mailbox& box) {
    DR(cuStreamWriteValue32(link_, box.tag_address(z), static_cast<cuuint32_t>(z + 1),
                            CU_STREAM_WRITE_VALUE_DEFAULT));
  }

  int device_, peer_, pixels_;
  cudaStream_t compute_{}, link_{};
  cudaEvent_t plane_ready_{}, plane_sent_{};
  float* plane_ = nullptr;
};

class Stitcher {
 public:
  Stitcher(int device, int planes, int pixels) : device_(device), pixels_(pixels) {
    DeviceScope d(device_);
    RT(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    RT(cudaMalloc(&volume_, sizeof(float) * planes * pixels));
  }
  ~Stitcher() {
    DeviceScope d(device_);
    cudaStreamSynchronize(stream_);
    cudaFree(volume_);
    cudaStreamDestroy(stream_);
  }
  void consume(int z, const Mailbox& box) {
    DeviceScope d(device_);
    DR(cuStreamWaitValue32(stream_, box.tag_address(z), static_cast<cuuint32_t>(z + 1),
                           CU_STREAM_WAIT_VALUE_EQ));
    stitch<<<(pixels_ + 255) / 256, 256, 0, stream_>>>(volume_, box.slot(z), pixels_, z);
  }
  void finish() { RT(cudaStreamSynchronize(stream_)); }

 private:
  int device_, pixels_;
  cudaStream_t stream_{};
  float* volume_ = nullptr;
};

int main() {
  constexpr int kPlanes = 128, kPixels = 1024 * 1024, kWorker = 1, kHub = 0;
  DR(cuInit(0));
  Mailbox box(kHub, kPlanes, kPixels);
  {
    PlaneSender sender(kWorker, kHub, kPixels);
    Stitcher hub(kHub, kPlanes, kPixels);
    for (int z = 0; z < kPlanes; ++z) {
      sender.produce(z, box);
      hub.consume(z, box);
    }
    hub.finish();
  }
  return 0;
}
