// Image statistics module: mean and standard deviation of a float image through a BLAS back end.
// Modelled on opencv/opencv#18376 (meanStdDev runs on the default stream whatever stream is passed).
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#define CV_CUDEV_SAFE_CALL(expr) checkCuda((expr), #expr, __LINE__)
static void checkCuda(cudaError_t e, const char* what, int line) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s: %s\n", line, what, cudaGetErrorString(e));
  std::exit(1);
}
static void checkBlas(cublasStatus_t s, int line) {
  if (s == CUBLAS_STATUS_SUCCESS) return;
  std::fprintf(stderr, "line %d: cublas status %d\n", line, int(s));
  std::exit(1);
}
#define CV_BLAS_CALL(expr) checkBlas((expr), __LINE__)

namespace cv { namespace cuda {

class Stream {
 public:
  Stream() { CV_CUDEV_SAFE_CALL(cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(s_); }
  void waitForCompletion() { CV_CUDEV_SAFE_CALL(cudaStreamSynchronize(s_)); }
  operator cudaStream_t() const { return s_; }

 private:
  cudaStream_t s_{};
};

struct GpuMat {
  int rows, cols;
  float* data{};
  GpuMat(int r, int c) : rows(r), cols(c) { CV_CUDEV_SAFE_CALL(cudaMalloc(&data, sizeof(float) * r * c)); }
  ~GpuMat() { cudaFree(data); }
  GpuMat(const GpuMat&) = delete;
  int total() const { return rows * cols; }
};

__global__ void demosaic(float* dst, int n, int frame, int taps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = float((i + frame) & 255);
  for (int k = 0; k < taps; ++k) v = fmaf(v, 0.9995f, 0.05f);
  dst[i] = v;
}
__global__ void fillOnes(float* p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = 1.0f;
}
// stats[0] = sum, stats[1] = l2 norm  ->  stats[2] = mean, stats[3] = stddev
__global__ void finishStats(float* stats, int n) {
  float mean = stats[0] / n;
  float var = stats[1] * stats[1] / n - mean * mean;
  stats[2] = mean;
  stats[3] = var > 0 ? sqrtf(var) : 0;
}

class MeanStdDev {
 public:
  explicit MeanStdDev(int n) : ones_(1, n) {
    CV_BLAS_CALL(cublasCreate(&handle_));
    CV_BLAS_CALL(cublasSetPointerMode(handle_, CUBLAS_POINTER_MODE_DEVICE));
    fillOnes<<<(n + 255) / 256, 256>>>(ones_.data, n);
    CV_CUDEV_SAFE_CALL(cudaDeviceSynchronize());
  }
  ~MeanStdDev() { cublasDestroy(handle_); }

  void compute(const GpuMat& src, GpuMat& stats, Stream& stream) {
#ifdef FIXED
    CV_BLAS_CALL(cublasSetStream(handle_, stream));
#endif
    CV_BLAS_CALL(cublasSdot(handle_, src.total(), src.data, 1, ones_.data, 1, stats.data));
    CV_BLAS_CALL(cublasSnrm2(handle_, src.total(), src.data, 1, stats.data + 1));
    finishStats<<<1, 1, 0, stream>>>(stats.data, src.total());
    CV_CUDEV_SAFE_CALL(cudaGetLastError());
  }

 private:
  cublasHandle_t handle_{};
  GpuMat ones_;
};

}}  // namespace cv::cuda

int main() {
  using namespace cv::cuda;
  Stream stream;
  GpuMat frame(512, 1024), stats(1, 4);
  CV_CUDEV_SAFE_CALL(cudaMemset(stats.data, 0, 4 * sizeof(float)));
  MeanStdDev op(frame.total());
  float* result;
  CV_CUDEV_SAFE_CALL(cudaMallocHost(&result, 4 * sizeof(float)));
  for (int f = 0; f < 4; ++f) {
    demosaic<<<frame.total() / 256, 256, 0, stream>>>(frame.data, frame.total(), f, 30000);
    op.compute(frame, stats, stream);
    CV_CUDEV_SAFE_CALL(cudaMemcpyAsync(result, stats.data, 4 * sizeof(float), cudaMemcpyDeviceToHost, stream));
    CV_CUDEV_SAFE_CALL(cudaDeviceSynchronize());
    std::printf("frame %d mean %.3f sd %.3f\n", f, result[2], result[3]);
  }
  CV_CUDEV_SAFE_CALL(cudaFreeHost(result));
  return 0;
}
