#include <cuda_runtime.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

// Vessel segmentation in fundus photographs. The network is a captured graph with static
// buffers; probability maps are kept on the device for the report generator.
namespace fundus {

class CudaError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline void check(cudaError_t e) {
  if (e != cudaSuccess) throw CudaError(cudaGetErrorString(e));
}

__global__ void ridge_kernel(const float* image, float* response, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y;
  if (x < 1 || y < 1 || x + 1 >= width || y + 1 >= height) return;
  const int i = y * width + x;
  const float xx = image[i - 1] - 2.f * image[i] + image[i + 1];
  const float yy = image[i - width] - 2.f * image[i] + image[i + width];
  response[i] = fmaxf(xx, yy);
}

__global__ void sigmoid_kernel(const float* response, float* probability, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) probability[i] = 1.f / (1.f + expf(-response[i]));
}

struct Stream {
  Stream() { check(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(handle); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t handle = nullptr;
};

struct Event {
  Event() { check(cudaEventCreateWithFlags(&handle, cudaEventDisableTiming)); }
  ~Event() { cudaEventDestroy(handle); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  cudaEvent_t handle = nullptr;
};

struct Plane {
  explicit Plane(size_t count) : bytes(count * sizeof(float)) { check(cudaMalloc(&data, bytes)); }
  ~Plane() { cudaFree(data); }
  Plane(const Plane&) = delete;
  Plane& operator=(const Plane&) = delete;
  float* data = nullptr;
  size_t bytes;
};

// Copies of results, made on a stream of their own.
class ResultKeeper {
 public:
  ResultKeeper(size_t count, size_t slots) {
    for (size_t s = 0; s < slots; ++s) slots_.push_back(std::make_unique<Plane>(count));
  }
  ~ResultKeeper() { cudaStreamSynchronize(stream_.handle); }

  void keep(size_t slot, const float* result, cudaEvent_t ready) {
    const Plane& p = *slots_.at(slot);
    check(cudaStreamWaitEvent(stream_.handle, ready, 0));
    check(cudaMemcpyAsync(p.data, result, p.bytes, cudaMemcpyDeviceToDevice, stream_.handle));
    check(cudaEventRecord(kept_.handle, stream_.handle));
  }

  cudaEvent_t kept() const { return kept_.handle; }

  void read(size_t slot, std::vector<float>& out) {
    const Plane& p = *slots_.at(slot);
    out.resize(p.bytes / sizeof(float));
    check(cudaMemcpyAsync(out.data(), p.data, p.bytes, cudaMemcpyDeviceToHost, stream_.handle));
    check(cudaStreamSynchronize(stream_.handle));
  }

 private:
  Stream stream_;
  Event kept_;
  std::vector<std::unique_ptr<Plane>> slots_;
};

class VesselSegmenter {
 public:
  VesselSegmenter(int width, int height, size_t slots)
      : n_(size_t(width) * height), image_(n_), response_(n_), probability_(n_), keeper_(n_, slots) {
    check(cudaMemsetAsync(response_.data, 0, response_.bytes, compute_.handle));
    capture([&](cudaStream_t s) {
      const dim3 grid((width + 127) / 128, height);
      ridge_kernel<<<grid, 128, 0, s>>>(image_.data, response_.data, width, height);
      sigmoid_kernel<<<static_cast<unsigned>((n_ + 255) / 256), 256, 0, s>>>(
          response_.data, probability_.data, static_cast<int>(n_));
    });
  }
  ~VesselSegmenter() {
    cudaStreamSynchronize(compute_.handle);
    cudaDeviceSynchronize();
    cudaGraphExecDestroy(exec_);
  }
  VesselSegmenter(const VesselSegmenter&) = delete;
  VesselSegmenter& operator=(const VesselSegmenter&) = delete;

  // Segments one image and keeps its map in `slot`; pinned must not change before finish().
  void run(const float* pinned, size_t slot) {
    check(cudaMemcpyAsync(image_.data, pinned, image_.bytes, cudaMemcpyHostToDevice, compute_.handle));
    check(cudaStreamWaitEvent(compute_.handle, keeper_.kept(), 0));
    check(cudaGraphLaunch(exec_, compute_.handle));
    check(cudaEventRecord(ready_.handle, compute_.handle));
    keeper_.keep(slot, probability_.data, ready_.handle);
  }

  void run_all(const std::vector<const float*>& images) {
    for (size_t i = 0; i < images.size(); ++i) run(images[i], i);
  }

  void finish(size_t slot, std::vector<float>& out) { keeper_.read(slot, out); }

 private:
  void capture(const std::function<void(cudaStream_t)>& body) {
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(compute_.handle, cudaStreamCaptureModeThreadLocal));
    body(compute_.handle);
    check(cudaStreamEndCapture(compute_.handle, &graph));
    check(cudaGraphInstantiate(&exec_, graph, 0));
    check(cudaGraphDestroy(graph));
  }

  size_t n_;
  Stream compute_;
  Event ready_;
  Plane image_, response_, probability_;
  ResultKeeper keeper_;
  cudaGraphExec_t exec_ = nullptr;
};

}  // namespace fundus
