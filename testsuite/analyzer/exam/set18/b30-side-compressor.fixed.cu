// Long-context attention: keys of a finished block are pooled to one landmark
// for each group of tokens. The pooling overlaps with the block's MLP.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <optional>
#include <utility>
#include <vector>

namespace landmark {

// keys: [tokens, dim] -> marks: [tokens / group, dim]
__global__ void poolGroups(const float* __restrict__ keys, int tokens, int dim, int group,
                           float* __restrict__ marks) {
  int g = blockIdx.x;
  for (int c = threadIdx.x; c < dim; c += blockDim.x) {
    float acc = 0.f;
    for (int t = 0; t < group; ++t) {
      int row = g * group + t;
      if (row < tokens) acc += keys[int64_t(row) * dim + c];
    }
    marks[int64_t(g) * dim + c] = acc / group;
  }
}

class SidePooler {
 public:
  SidePooler(int group, c10::DeviceIndex device)
      : group_(group), aux_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, device)) {}

  // Starts pooling of `hidden` * `weight` next to the current stream.
  void start(const at::Tensor& hidden, const at::Tensor& weight) {
    auto current = c10::cuda::getCurrentCUDAStream();
    auto keys = at::matmul(hidden, weight).to(at::kFloat).contiguous();
    keysReady_.record(current);
    keysReady_.block(aux_);
    launch(keys);
    pooled_.record(aux_);
  }

  // Orders the landmarks into the current stream.
  at::Tensor finish() {
    auto current = c10::cuda::getCurrentCUDAStream();
    pooled_.block(current);
    at::Tensor marks = std::move(marks_);
    marks.record_stream(current.unwrap());
    return marks;
  }

 private:
  void launch(const at::Tensor& keys) {
    c10::cuda::CUDAStreamGuard guard(aux_);
    keys.record_stream(aux_.unwrap());
    const int tokens = int(keys.size(0)), dim = int(keys.size(1));
    const int groups = (tokens + group_ - 1) / group_;
    marks_ = at::empty({groups, dim}, keys.options());
    poolGroups<<<groups, 128, 0, aux_>>>(keys.const_data_ptr<float>(), tokens, dim, group_,
                                         marks_.mutable_data_ptr<float>());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }

  int group_;
  c10::cuda::CUDAStream aux_;
  at::cuda::CUDAEvent keysReady_;
  at::cuda::CUDAEvent pooled_;
  at::Tensor marks_;
};

struct BlockWeights {
  at::Tensor key;   // [model, dim]
  at::Tensor up;    // [model, inner]
  at::Tensor down;  // [inner, model]
};

class LandmarkBlock {
 public:
  LandmarkBlock(BlockWeights w, int group)
      : w_(std::move(w)), pooler_(group, w_.key.device().index()) {}

  // Returns the block's output and its landmarks.
  std::pair<at::Tensor, at::Tensor> forward(const at::Tensor& hidden) {
    TORCH_CHECK(hidden.is_cuda() && hidden.dim() == 2, "hidden: [tokens, model] on CUDA");
    at::NoGradGuard inference;
    c10::cuda::CUDAGuard device(hidden.device());
    pooler_.start(hidden, w_.key);
    auto out = mlp(hidden);
    auto marks = pooler_.finish();
    return {std::move(out), std::move(marks)};
  }

 private:
  at::Tensor mlp(const at::Tensor& x) const {
    auto inner = at::gelu(at::matmul(x, w_.up));
    return at::matmul(inner, w_.down).add_(x);
  }

  BlockWeights w_;
  SidePooler pooler_;
};

std::vector<at::Tensor> runBlocks(at::Tensor hidden, const std::vector<at::Tensor>& weights, int group) {
  TORCH_CHECK(weights.size() % 3 == 0, "three weights for each block");
  std::vector<at::Tensor> landmarks;
  for (size_t i = 0; i < weights.size(); i += 3) {
    LandmarkBlock block({weights[i], weights[i + 1], weights[i + 2]}, group);
    auto [out, marks] = block.forward(hidden);
    landmarks.push_back(std::move(marks));
    hidden = std::move(out);
  }
  landmarks.push_back(std::move(hidden));
  return landmarks;
}

}  // namespace landmark

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run_blocks", &landmark::runBlocks); }
