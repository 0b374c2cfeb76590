// Inspection line: the camera front end prepares frames on the GPU, an inference
// session with its own execution stream scores them.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#define RT(call)                                                            \
  do {                                                                      \
    if (cudaError_t e = (call); e != cudaSuccess)                           \
      throw std::runtime_error(std::string(#call ": ") + cudaGetErrorString(e)); \
  } while (0)

namespace infer {

struct Value {
  float* data = nullptr;
  size_t elems = 0;
};

class IoBinding {
 public:
  void bindInput(const std::string& name, Value v) { inputs_[name] = v; }
  void bindOutput(const std::string& name, Value v) { outputs_[name] = v; }
  const Value& input(const std::string& n) const { return inputs_.at(n); }
  const Value& output(const std::string& n) const { return outputs_.at(n); }

 private:
  std::map<std::string, Value> inputs_, outputs_;
};

__global__ void relu(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = fmaxf(x[i], 0.f);
}

class Session {
 public:
  Session(int in, int hidden, int classes) : in_(in), hidden_(hidden), classes_(classes) {
    RT(cudaStreamCreateWithFlags(&exec_, cudaStreamNonBlocking));
    RT(cudaMalloc(&w1_, size_t(in) * hidden * sizeof(float)));
    RT(cudaMalloc(&w2_, size_t(hidden) * classes * sizeof(float)));
    RT(cudaMalloc(&act_, size_t(hidden) * sizeof(float)));
    RT(cudaMemsetAsync(w1_, 0, size_t(in) * hidden * sizeof(float), exec_));
    RT(cudaMemsetAsync(w2_, 0, size_t(hidden) * classes * sizeof(float), exec_));
    cublasCreate(&blas_);
    cublasSetStream(blas_, exec_);
  }
  ~Session() {
    cudaStreamSynchronize(exec_);
    cublasDestroy(blas_);
    cudaFree(w1_);
    cudaFree(w2_);
    cudaFree(act_);
    cudaStreamDestroy(exec_);
  }

  void run(const IoBinding& io) {
    const Value& x = io.input("image");
    const Value& y = io.output("scores");
    const float one = 1.f, zero = 0.f;
    cublasSgemv(blas_, CUBLAS_OP_T, in_, hidden_, &one, w1_, in_, x.data, 1, &zero, act_, 1);
    relu<<<(hidden_ + 127) / 128, 128, 0, exec_>>>(act_, hidden_);
    cublasSgemv(blas_, CUBLAS_OP_T, hidden_, classes_, &one, w2_, hidden_, act_, 1, &zero, y.data, 1);
    RT(cudaGetLastError());
    RT(cudaStreamSynchronize(exec_));
  }

 private:
  int in_, hidden_, classes_;
  cudaStream_t exec_{};
  cublasHandle_t blas_{};
  float *w1_{}, *w2_{}, *act_{};
};

}  // namespace infer

namespace camera {

__global__ void bayerToPlanar(const unsigned short* raw, float* rgb, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  int c = (y & 1) + (x & 1);
  rgb[size_t(c) * w * h + y * w + x] = raw[y * w + x] * (1.f / 4095.f);
}

class FrontEnd {
 public:
  FrontEnd(int w, int h) : w_(w), h_(h) {
    RT(cudaStreamCreateWithFlags(&ingest_, cudaStreamNonBlocking));
    RT(cudaMalloc(&raw_, size_t(w) * h * sizeof(unsigned short)));
    RT(cudaMalloc(&rgb_, size_t(3) * w * h * sizeof(float)));
    RT(cudaMemsetAsync(rgb_, 0, size_t(3) * w * h * sizeof(float), ingest_));
  }
  ~FrontEnd() {
    cudaStreamSynchronize(ingest_);
    cudaFree(raw_);
    cudaFree(rgb_);
    cudaStreamDestroy(ingest_);
  }
  infer::Value grab(const std::vector<unsigned short>& sensor) {
    RT(cudaMemcpyAsync(raw_, sensor.data(), sensor.size() * sizeof(unsigned short), cudaMemcpyHostToDevice, ingest_));
    dim3 block(32, 8), grid((w_ + 31) / 32, (h_ + 7) / 8);
    bayerToPlanar<<<grid, block, 0, ingest_>>>(raw_, rgb_, w_, h_);
    RT(cudaGetLastError());
    return {rgb_, size_t(3) * w_ * h_};
  }

 private:
  int w_, h_;
  cudaStream_t ingest_{};
  unsigned short* raw_{};
  float* rgb_{};
};

}  // namespace camera

int main() {
  const int w = 640, h = 480, classes = 16;
  camera::FrontEnd cam(w, h);
  infer::Session session(3 * w * h, 256, classes);
  infer::Value scores;
  scores.elems = classes;
  RT(cudaMalloc(&scores.data, classes * sizeof(float)));
  infer::IoBinding io;
  io.bindOutput("scores", scores);
  std::vector<unsigned short> sensor(size_t(w) * h, 100);
  std::vector<float> host(classes);
  for (int frame = 0; frame < 300; ++frame) {
    io.bindInput("image", cam.grab(sensor));
    session.run(io);
    RT(cudaMemcpy(host.data(), scores.data, classes * sizeof(float), cudaMemcpyDeviceToHost));
    if (host[0] > 0.5f) std::printf("reject %d\n", frame);
  }
  cudaFree(scores.data);
}
