// Device scalars of the optimiser (step size, decay, clip limit ...). Writing many scalars one by one is slow, so all
// writes of an update go out as one batched copy.
#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <vector>

namespace optim {

inline void require(cudaError_t rc) {
  if (rc != cudaSuccess) throw std::runtime_error(cudaGetErrorString(rc));
}

// Collects host-to-device writes and submits them together.
class WriteBatch {
 public:
  void add(void* dst, const void* src, size_t bytes) {
    dsts_.push_back(dst);
    srcs_.push_back(src);
    sizes_.push_back(bytes);
  }

  void submit(cudaStream_t stream) {
    if (dsts_.empty()) return;
    cudaMemcpyAttributes attrs = {};
    attrs.srcAccessOrder = cudaMemcpySrcAccessOrderDuringApiCall;
    size_t first = 0;
    require(cudaMemcpyBatchAsync(dsts_.data(), srcs_.data(), sizes_.data(), dsts_.size(), &attrs, &first, 1, stream));
    dsts_.clear();
    srcs_.clear();
    sizes_.clear();
  }

 private:
  std::vector<void*> dsts_;
  std::vector<const void*> srcs_;
  std::vector<size_t> sizes_;
};

struct Schedule {
  float base_rate;
  float warmup_steps;
  float decay;
  float clip;
};

// What the kernels read; lives in device memory.
struct DeviceScalars {
  float rate;
  float bias1;
  float bias2;
  float decay;
  float clip;
};

__global__ void adam_step(float* w, float* m, float* v, const float* g, int n, const DeviceScalars* s) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float grad = fminf(fmaxf(g[i], -s->clip), s->clip) + s->decay * w[i];
  m[i] = 0.9f * m[i] + 0.1f * grad;
  v[i] = 0.999f * v[i] + 0.001f * grad * grad;
  w[i] -= s->rate * (m[i] / s->bias1) / (sqrtf(v[i] / s->bias2) + 1e-8f);
}

class AdamState {
 public:
  AdamState(int n, const Schedule& schedule, cudaStream_t stream) : n_(n), schedule_(schedule), stream_(stream) {
    require(cudaMalloc(&scalars_, sizeof(DeviceScalars)));
    require(cudaMalloc(&m_, n * sizeof(float)));
    require(cudaMalloc(&v_, n * sizeof(float)));
    require(cudaMemsetAsync(m_, 0, n * sizeof(float), stream_));
    require(cudaMemsetAsync(v_, 0, n * sizeof(float), stream_));
  }

  ~AdamState() {
    cudaStreamSynchronize(stream_);
    cudaFree(v_);
    cudaFree(m_);
    cudaFree(scalars_);
  }

  AdamState(const AdamState&) = delete;
  AdamState& operator=(const AdamState&) = delete;

  // One update of `weights`; asynchronous.
  void step(float* weights, const float* gradient) {
    ++t_;
    refresh();
    adam_step<<<(n_ + 255) / 256, 256, 0, stream_>>>(weights, m_, v_, gradient, n_, scalars_);
    require(cudaGetLastError());
  }

 private:
  void refresh() {
    const float warm = std::fmin(1.0f, static_cast<float>(t_) / schedule_.warmup_steps);
    const float rate = schedule_.base_rate * warm;
    const float bias1 = 1.0f - std::pow(0.9f, static_cast<float>(t_));
    const float bias2 = 1.0f - std::pow(0.999f, static_cast<float>(t_));
    WriteBatch batch;
    batch.add(&scalars_->rate, &rate, sizeof(float));
    batch.add(&scalars_->bias1, &bias1, sizeof(float));
    batch.add(&scalars_->bias2, &bias2, sizeof(float));
    if (t_ == 1) {
      batch.add(&scalars_->decay, &schedule_.decay, sizeof(float));
      batch.add(&scalars_->clip, &schedule_.clip, sizeof(float));
    }
    batch.submit(stream_);
  }

  int n_;
  int t_ = 0;
  Schedule schedule_;
  cudaStream_t stream_;
  DeviceScalars* scalars_ = nullptr;
  float* m_ = nullptr;
  float* v_ = nullptr;
};

// Updates all parameter groups of a model; each group owns its state.
void update_groups(std::vector<AdamState*>& groups, const std::vector<float*>& weights,
                   const std::vector<const float*>& gradients) {
  for (size_t i = 0; i < groups.size(); ++i) groups[i]->step(weights[i], gradients[i]);
}

}  // namespace optim
