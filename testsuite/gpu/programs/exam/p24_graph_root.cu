// Miniature autograd engine: every edge carries the gradient and the stream on which it is ready.
// Modelled on pytorch/pytorch#45787.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define AT_CUDA_CHECK(x)                                                                 \
  do {                                                                                   \
    cudaError_t e_ = (x);                                                                \
    if (e_ != cudaSuccess) {                                                             \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));    \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

thread_local cudaStream_t current_stream = nullptr;  // nullptr = default stream
struct StreamGuard {
  cudaStream_t saved;
  explicit StreamGuard(cudaStream_t s) : saved(current_stream) { current_stream = s; }
  ~StreamGuard() { current_stream = saved; }
};

struct Tensor {
  std::shared_ptr<float> data;
  int n = 0;
  static Tensor empty(int n) {
    float* p;
    AT_CUDA_CHECK(cudaMalloc(&p, n * sizeof(float)));
    return {std::shared_ptr<float>(p, [](float* q) { cudaFree(q); }), n};
  }
};

__global__ void make_grad(float* g, int n, float scale, int work) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = scale;
  for (int k = 0; k < work; ++k) v = fmaf(v, 0.9999f, scale * 1e-4f);
  g[i] = v;
}
__global__ void mul_backward(const float* grad, const float* other, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = grad[i] * other[i];
}

struct Node {
  virtual ~Node() = default;
  virtual cudaStream_t stream() const = 0;
  virtual Tensor apply(const Tensor& grad) = 0;
};

class GraphRoot : public Node {
 public:
  explicit GraphRoot(Tensor grad) : grad_(std::move(grad)), stream_(current_stream) {}
  cudaStream_t stream() const override {
#ifdef FIXED
    return stream_;
#else
    return nullptr;  // the root runs no kernels
#endif
  }
  Tensor apply(const Tensor&) override { return grad_; }

 private:
  Tensor grad_;
  cudaStream_t stream_;
};

class MulBackward : public Node {
 public:
  MulBackward(Tensor saved, cudaStream_t fwd) : saved_(std::move(saved)), out_(Tensor::empty(saved_.n)), fwd_(fwd) {}
  cudaStream_t stream() const override { return fwd_; }
  Tensor apply(const Tensor& grad) override {
    mul_backward<<<(grad.n + 255) / 256, 256, 0, fwd_>>>(grad.data.get(), saved_.data.get(), out_.data.get(), grad.n);
    AT_CUDA_CHECK(cudaGetLastError());
    return out_;
  }

 private:
  Tensor saved_, out_;
  cudaStream_t fwd_;
};

class Engine {
 public:
  Engine() { AT_CUDA_CHECK(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming)); }
  ~Engine() { cudaEventDestroy(ready_); }
  Tensor execute(const std::vector<Node*>& chain) {
    Tensor grad;
    cudaStream_t produced_on = nullptr;
    for (Node* node : chain) {
      if (grad.data && node->stream() != produced_on) {
        AT_CUDA_CHECK(cudaEventRecord(ready_, produced_on));
        AT_CUDA_CHECK(cudaStreamWaitEvent(node->stream(), ready_, 0));
      }
      StreamGuard guard(node->stream());
      grad = node->apply(grad);
      produced_on = node->stream();
    }
    return grad;
  }

 private:
  cudaEvent_t ready_{};
};

int main() {
  constexpr int n = 1 << 15;
  cudaStream_t side, fwd;
  AT_CUDA_CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  AT_CUDA_CHECK(cudaStreamCreateWithFlags(&fwd, cudaStreamNonBlocking));
  float h = 0;
  {
    Engine engine;
    Tensor weight = Tensor::empty(n), g = Tensor::empty(n);
    make_grad<<<n / 256, 256, 0, fwd>>>(weight.data.get(), n, 2.0f, 10);
    AT_CUDA_CHECK(cudaStreamSynchronize(fwd));
    MulBackward mul(weight, fwd);
    for (int it = 0; it < 3; ++it) {
      StreamGuard guard(side);
      make_grad<<<n / 256, 256, 0, side>>>(g.data.get(), n, 1.0f + it, 250000);
      AT_CUDA_CHECK(cudaGetLastError());
      GraphRoot root(g);
      Tensor dw = engine.execute({&root, &mul});
      AT_CUDA_CHECK(cudaStreamSynchronize(fwd));
      AT_CUDA_CHECK(cudaMemcpy(&h, dw.data.get() + 4, sizeof h, cudaMemcpyDeviceToHost));
      std::printf("dw[4] = %f\n", h);
    }
    AT_CUDA_CHECK(cudaDeviceSynchronize());
  }
  cudaStreamDestroy(side), cudaStreamDestroy(fwd);
  return 0;
}
