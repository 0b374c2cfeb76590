#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

// Contrast normalisation of OCT B-scans of the retina.
namespace oct {

inline void check(cudaError_t e, const char* what) {
  if (e != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}
inline void check(cublasStatus_t s, const char* what) {
  if (s != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(std::string(what) + ": cuBLAS");
}

__global__ void remove_background_kernel(const float* raw, const float* background, float* scan,
                                         int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y;
  if (x < width && y < height) scan[y * width + x] = raw[y * width + x] - background[x];
}

__global__ void scale_kernel(float* scan, const float* norm, float target, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) scan[i] *= target / fmaxf(*norm, 1e-8f);
}

class BlasNorm {
 public:
  BlasNorm() {
    check(cublasCreate(&handle_), "cublasCreate");
    check(cublasSetPointerMode(handle_, CUBLAS_POINTER_MODE_DEVICE), "cublasSetPointerMode");
  }
  ~BlasNorm() { cublasDestroy(handle_); }
  BlasNorm(const BlasNorm&) = delete;
  BlasNorm& operator=(const BlasNorm&) = delete;

  // Writes the Euclidean norm of data to *result (device memory).
  void operator()(const float* data, int n, float* result, cudaStream_t stream) {
    (void)stream;
    check(cublasSnrm2(handle_, n, data, 1, result), "cublasSnrm2");
  }

 private:
  cublasHandle_t handle_ = nullptr;
};

class ContrastPipeline {
 public:
  ContrastPipeline(int width, int height) : width_(width), height_(height) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
    check(cudaMalloc(&raw_, bytes()), "raw");
    check(cudaMalloc(&scan_, bytes()), "scan");
    check(cudaMalloc(&background_, width_ * sizeof(float)), "background");
    check(cudaMalloc(&norm_, sizeof(float)), "norm");
  }

  ~ContrastPipeline() {
    cudaDeviceSynchronize();
    cudaFree(norm_);
    cudaFree(background_);
    cudaFree(scan_);
    cudaFree(raw_);
    cudaStreamDestroy(stream_);
  }

  ContrastPipeline(const ContrastPipeline&) = delete;
  ContrastPipeline& operator=(const ContrastPipeline&) = delete;

  void set_background(const float* host_line) {
    check(cudaMemcpyAsync(background_, host_line, width_ * sizeof(float), cudaMemcpyHostToDevice,
                          stream_),
          "background upload");
    check(cudaStreamSynchronize(stream_), "background upload");
  }

  void process(const float* host_raw, float* host_out, float target) {
    check(cudaMemcpyAsync(raw_, host_raw, bytes(), cudaMemcpyHostToDevice, stream_), "upload");
    subtract_background();
    norm_of_(scan_, width_ * height_, norm_, stream_);
    rescale(target);
    check(cudaMemcpyAsync(host_out, scan_, bytes(), cudaMemcpyDeviceToHost, stream_), "download");
    check(cudaStreamSynchronize(stream_), "process");
  }

 private:
  size_t bytes() const { return size_t(width_) * height_ * sizeof(float); }

  void subtract_background() {
    const dim3 grid((width_ + 127) / 128, height_);
    remove_background_kernel<<<grid, 128, 0, stream_>>>(raw_, background_, scan_, width_, height_);
    check(cudaGetLastError(), "remove_background_kernel");
  }

  void rescale(float target) {
    const int n = width_ * height_;
    scale_kernel<<<(n + 255) / 256, 256, 0, stream_>>>(scan_, norm_, target, n);
    check(cudaGetLastError(), "scale_kernel");
  }

  int width_, height_;
  cudaStream_t stream_ = nullptr;
  float* raw_ = nullptr;
  float* scan_ = nullptr;
  float* background_ = nullptr;
  float* norm_ = nullptr;
  BlasNorm norm_of_;
};

}  // namespace oct
