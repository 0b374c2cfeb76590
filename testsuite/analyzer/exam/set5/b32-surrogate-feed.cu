// Reservoir surrogate: a feeder prepares well logs on the device, the evaluator runs the regression network.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

template <typename E>
static void require(E e, const char* at) {
  if (int(e) != 0) {
    std::fprintf(stderr, "%s failed: %d\n", at, int(e));
    std::exit(1);
  }
}
#define REQ(x) require((x), #x)

__global__ void standardise(float* x, const float* mean, const float* inv_std, int rows, int cols) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows * cols) x[i] = (x[i] - mean[i % cols]) * inv_std[i % cols];
}

__global__ void softplus(float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = log1pf(expf(y[i]));
}

// Runs on a stream of its own; tensors are bound by address.
class Evaluator {
 public:
  Evaluator(int rows, int cols, int outs) : rows_(rows), cols_(cols), outs_(outs) {
    REQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    REQ(cublasCreate(&blas_));
    REQ(cublasSetStream(blas_, stream_));
    REQ(cudaMalloc(&weights_, sizeof(float) * cols * outs));
    REQ(cudaMemsetAsync(weights_, 0, sizeof(float) * cols * outs, stream_));
  }
  ~Evaluator() {
    cudaStreamSynchronize(stream_);
    cublasDestroy(blas_);
    cudaFree(weights_);
    cudaStreamDestroy(stream_);
  }

  void bind(const std::string& name, float* ptr) { bound_[name] = ptr; }

  void run() {
    const float one = 1.f, zero = 0.f;
    float* out = bound_.at("pressure");
    REQ(cublasSgemm(blas_, CUBLAS_OP_N, CUBLAS_OP_N, outs_, rows_, cols_, &one, weights_, outs_, bound_.at("logs"), cols_,
                    &zero, out, outs_));
    softplus<<<(rows_ * outs_ + 255) / 256, 256, 0, stream_>>>(out, rows_ * outs_);
  }

  void wait_for(cudaEvent_t e) { REQ(cudaStreamWaitEvent(stream_, e, 0)); }

  void wait() { REQ(cudaStreamSynchronize(stream_)); }

 private:
  int rows_, cols_, outs_;
  cudaStream_t stream_{};
  cublasHandle_t blas_{};
  float* weights_ = nullptr;
  std::map<std::string, float*> bound_;
};

class LogFeeder {
 public:
  LogFeeder(int rows, int cols, int batches) : rows_(rows), cols_(cols) {
    REQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    REQ(cudaEventCreateWithFlags(&filled_, cudaEventDisableTiming));
    REQ(cudaMallocHost(&archive_, batch_bytes() * batches));
    for (size_t i = 0; i < size_t(rows) * cols * batches; ++i) archive_[i] = float(i % 101);
    REQ(cudaMalloc(&x_, batch_bytes()));
    REQ(cudaMalloc(&mean_, sizeof(float) * cols));
    REQ(cudaMalloc(&inv_std_, sizeof(float) * cols));
    REQ(cudaMemsetAsync(mean_, 0, sizeof(float) * cols, stream_));
    REQ(cudaMemsetAsync(inv_std_, 0x3f, sizeof(float) * cols, stream_));
  }
  ~LogFeeder() {
    cudaStreamSynchronize(stream_);
    cudaFree(x_);
    cudaFree(mean_);
    cudaFree(inv_std_);
    cudaFreeHost(archive_);
    cudaEventDestroy(filled_);
    cudaStreamDestroy(stream_);
  }

  void fill(int batch) {
    const float* src = archive_ + size_t(batch) * rows_ * cols_;
    REQ(cudaMemcpyAsync(x_, src, batch_bytes(), cudaMemcpyHostToDevice, stream_));
    standardise<<<(rows_ * cols_ + 255) / 256, 256, 0, stream_>>>(x_, mean_, inv_std_, rows_, cols_);
    REQ(cudaEventRecord(filled_, stream_));
  }

  float* device_batch() const { return x_; }
  cudaEvent_t filled() const { return filled_; }

 private:
  size_t batch_bytes() const { return sizeof(float) * rows_ * cols_; }
  int rows_, cols_;
  cudaStream_t stream_{};
  cudaEvent_t filled_{};
  float *archive_ = nullptr, *x_ = nullptr, *mean_ = nullptr, *inv_std_ = nullptr;
};

int main() {
  const int rows = 8192, cols = 256, outs = 16, batches = 24;
  float* pressure = nullptr;
  REQ(cudaMalloc(&pressure, sizeof(float) * rows * outs));
  {
    LogFeeder feeder(rows, cols, batches);
    Evaluator net(rows, cols, outs);
    net.bind("logs", feeder.device_batch());
    net.bind("pressure", pressure);
    std::vector<float> host(size_t(rows) * outs);
    double sum = 0;
    for (int b = 0; b < batches; ++b) {
      feeder.fill(b);
      net.run();
      net.wait();
      REQ(cudaMemcpy(host.data(), pressure, sizeof(float) * host.size(), cudaMemcpyDeviceToHost));
      sum += host[b];
    }
    std::printf("%f\n", sum);
  }
  REQ(cudaFree(pressure));
}
