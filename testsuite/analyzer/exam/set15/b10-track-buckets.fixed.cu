#include <cuda_runtime.h>

#include <array>
#include <functional>
#include <stdexcept>
#include <utility>

// Player tracking in a stadium: detections of many cameras are packed into buckets on the
// compute stream and accumulated into the heat map of the pitch on a second stream.
namespace tracking {

inline void require(cudaError_t e) {
  if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

struct Detection {
  float x, y, confidence;
};

__global__ void project_kernel(const float4* boxes, int n, const float* homography, Detection* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float u = boxes[i].x + 0.5f * boxes[i].z, v = boxes[i].y + boxes[i].w;
  const float w = homography[6] * u + homography[7] * v + homography[8];
  out[i].x = (homography[0] * u + homography[1] * v + homography[2]) / w;
  out[i].y = (homography[3] * u + homography[4] * v + homography[5]) / w;
  out[i].confidence = 1.f;
}

__global__ void accumulate_kernel(const Detection* det, int n, float* heat, int width, int height) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int cx = static_cast<int>(det[i].x), cy = static_cast<int>(det[i].y);
  if (cx >= 0 && cx < width && cy >= 0 && cy < height)
    atomicAdd(&heat[cy * width + cx], det[i].confidence);
}

class HeatMapBuckets {
 public:
  HeatMapBuckets(int capacity, int width, int height, cudaStream_t compute)
      : capacity_(capacity), width_(width), height_(height), compute_(compute) {
    require(cudaStreamCreateWithFlags(&reduce_, cudaStreamNonBlocking));
    for (Bucket& b : buckets_) {
      require(cudaMalloc(&b.data, capacity_ * sizeof(Detection)));
      require(cudaEventCreateWithFlags(&b.reduced, cudaEventDisableTiming));
    }
    require(cudaEventCreateWithFlags(&packed_, cudaEventDisableTiming));
    require(cudaMalloc(&heat_, sizeof(float) * width_ * height_));
    require(cudaMemsetAsync(heat_, 0, sizeof(float) * width_ * height_, reduce_));
  }

  ~HeatMapBuckets() {
    cudaStreamSynchronize(compute_);
    cudaStreamSynchronize(reduce_);
    cudaFree(heat_);
    cudaEventDestroy(packed_);
    for (Bucket& b : buckets_) {
      cudaEventDestroy(b.reduced);
      cudaFree(b.data);
    }
    cudaStreamDestroy(reduce_);
  }

  HeatMapBuckets(const HeatMapBuckets&) = delete;
  HeatMapBuckets& operator=(const HeatMapBuckets&) = delete;

  // boxes and homography must be ready on the compute stream.
  void append(const float4* boxes, int n, const float* homography) {
    if (fill_ + n > capacity_) flush();
    Bucket& b = buckets_[current_];
    project_kernel<<<(n + 127) / 128, 128, 0, compute_>>>(boxes, n, homography, b.data + fill_);
    require(cudaGetLastError());
    fill_ += n;
  }

  void flush() {
    if (fill_ == 0) return;
    Bucket& b = buckets_[current_];
    require(cudaEventRecord(packed_, compute_));
    require(cudaStreamWaitEvent(reduce_, packed_, 0));
    accumulate_kernel<<<(fill_ + 127) / 128, 128, 0, reduce_>>>(b.data, fill_, heat_, width_, height_);
    require(cudaGetLastError());
    require(cudaEventRecord(b.reduced, reduce_));
    current_ ^= 1;
    require(cudaStreamWaitEvent(compute_, buckets_[current_].reduced, 0));
    clear();
  }

  // Hands the finished map to fn on the host.
  void read(float* pinned_out, const std::function<void(const float*)>& fn) {
    flush();
    require(cudaMemcpyAsync(pinned_out, heat_, sizeof(float) * width_ * height_,
                            cudaMemcpyDeviceToHost, reduce_));
    require(cudaStreamSynchronize(reduce_));
    fn(pinned_out);
  }

 private:
  struct Bucket {
    Detection* data = nullptr;
    cudaEvent_t reduced = nullptr;
  };

  void clear() {
    fill_ = 0;
  }

  int capacity_, width_, height_;
  cudaStream_t compute_;
  cudaStream_t reduce_ = nullptr;
  std::array<Bucket, 2> buckets_;
  cudaEvent_t packed_ = nullptr;
  float* heat_ = nullptr;
  int fill_ = 0;
  int current_ = 0;
};

}  // namespace tracking
