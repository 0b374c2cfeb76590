#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <exception>

namespace mesh {

struct CudaFailure : std::exception {
  cudaError_t code;
  explicit CudaFailure(cudaError_t c) : code(c) {}
  const char* what() const noexcept override { return cudaGetErrorName(code); }
};

#define MESH_DO(x)                               \
  do {                                           \
    if (cudaError_t c_ = (x); c_ != cudaSuccess) \
      throw CudaFailure(c_);                     \
  } while (0)

// Stream-ordered allocation. The memory goes back in the stream it came from.
template <typename T>
class DeviceBuffer {
 public:
  DeviceBuffer(std::size_t count, cudaStream_t stream) : count_(count), stream_(stream) {
    MESH_DO(cudaMallocAsync(reinterpret_cast<void**>(&data_), count * sizeof(T), stream));
  }
  ~DeviceBuffer() {
    if (data_) cudaFreeAsync(data_, stream_);
  }
  DeviceBuffer(DeviceBuffer&& o) noexcept
      : data_(std::exchange(o.data_, nullptr)), count_(o.count_), stream_(o.stream_) {}
  DeviceBuffer(const DeviceBuffer&) = delete;

  T* get() const { return data_; }
  std::size_t bytes() const { return count_ * sizeof(T); }

 private:
  T* data_ = nullptr;
  std::size_t count_;
  cudaStream_t stream_;
};

struct Vertex {
  float x, y, z;
};

__global__ void deform(Vertex* v, const float* weights, const float* bones, std::uint32_t n) {
  std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float* b = bones + 12 * (i % 64);
  float w = weights[i];
  v[i].x += w * b[3];
  v[i].y += w * b[7];
  v[i].z += w * b[11];
}

class Deformer {
 public:
  Deformer() {
    MESH_DO(cudaStreamCreateWithFlags(&upload_, cudaStreamNonBlocking));
    MESH_DO(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
    MESH_DO(cudaEventCreateWithFlags(&uploaded_, cudaEventDisableTiming));
    MESH_DO(cudaEventCreateWithFlags(&consumed_, cudaEventDisableTiming));
  }
  ~Deformer() {
    cudaStreamSynchronize(upload_);
    cudaStreamSynchronize(compute_);
    cudaEventDestroy(consumed_);
    cudaEventDestroy(uploaded_);
    cudaStreamDestroy(compute_);
    cudaStreamDestroy(upload_);
  }

  // `bones` is page-locked and stays untouched until wait().
  void apply(Vertex* verts, const float* weights, std::uint32_t n, const float* bones) {
    DeviceBuffer<float> pose(12 * 64, upload_);
    MESH_DO(cudaMemcpyAsync(pose.get(), bones, pose.bytes(), cudaMemcpyHostToDevice, upload_));
    MESH_DO(cudaEventRecord(uploaded_, upload_));
    MESH_DO(cudaStreamWaitEvent(compute_, uploaded_, 0));
    deform<<<(n + 127) / 128, 128, 0, compute_>>>(verts, weights, pose.get(), n);
    MESH_DO(cudaGetLastError());
    // `pose` is given back in upload_ order.
    MESH_DO(cudaEventRecord(consumed_, compute_));
    MESH_DO(cudaStreamWaitEvent(upload_, consumed_, 0));
  }

  void wait() { MESH_DO(cudaStreamSynchronize(compute_)); }

 private:
  cudaStream_t upload_ = nullptr;
  cudaStream_t compute_ = nullptr;
  cudaEvent_t uploaded_ = nullptr;
  cudaEvent_t consumed_ = nullptr;
};

}  // namespace mesh
