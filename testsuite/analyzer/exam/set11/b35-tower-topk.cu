// Two-tower retrieval: for every user the best candidates of two independent indices (fresh items and the
// evergreen catalogue). Both searches run side by side and their lists are merged.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdint>
#include <map>
#include <utility>

namespace retrieval {

constexpr int kThreads = 128;

__global__ void scoreItems(const float* users, const float* items, int nItems, int dim, float* scores) {
  int item = blockIdx.x * blockDim.x + threadIdx.x;
  int user = blockIdx.y;
  if (item >= nItems) return;
  float s = 0.f;
  for (int d = 0; d < dim; ++d) s += users[user * dim + d] * items[static_cast<int64_t>(item) * dim + d];
  scores[static_cast<int64_t>(user) * nItems + item] = s;
}

__global__ void selectBest(float* scores, int nItems, int k, float* bestScore, int64_t* bestItem) {
  int user = blockIdx.x;
  if (threadIdx.x != 0) return;
  float* row = scores + static_cast<int64_t>(user) * nItems;
  for (int r = 0; r < k; ++r) {
    int best = 0;
    for (int i = 1; i < nItems; ++i)
      if (row[i] > row[best]) best = i;
    bestScore[user * k + r] = row[best];
    bestItem[user * k + r] = best;
    row[best] = -INFINITY;
  }
}

// Score matrices are large and always of the same few sizes, so they stay allocated.
// Used with the GIL held only.
class WorkspaceCache {
 public:
  static WorkspaceCache& instance() {
    static WorkspaceCache* cache = new WorkspaceCache;
    return *cache;
  }
  torch::Tensor get(int64_t floats, const c10::Device& device) {
    torch::Tensor& t = buffers_[{device.index(), floats}];
    if (!t.defined()) t = torch::empty({floats}, torch::dtype(torch::kFloat32).device(device));
    return t;
  }

 private:
  using Key = std::pair<int, int64_t>;
  std::map<Key, torch::Tensor> buffers_;
};

struct Hits {
  torch::Tensor scores;
  torch::Tensor items;
};

// Runs on the current stream.
void searchInto(const torch::Tensor& users, const torch::Tensor& items, int k, Hits& hits) {
  const int nUsers = static_cast<int>(users.size(0)), nItems = static_cast<int>(items.size(0));
  const int dim = static_cast<int>(users.size(1));
  torch::Tensor scores = WorkspaceCache::instance().get(static_cast<int64_t>(nUsers) * nItems, users.device());
  cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  scoreItems<<<dim3((nItems + kThreads - 1) / kThreads, nUsers), kThreads, 0, stream>>>(
      users.data_ptr<float>(), items.data_ptr<float>(), nItems, dim, scores.data_ptr<float>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  selectBest<<<nUsers, 32, 0, stream>>>(scores.data_ptr<float>(), nItems, k, hits.scores.data_ptr<float>(),
                                        hits.items.data_ptr<int64_t>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

Hits allocateHits(int64_t users, int k, const torch::Tensor& like) {
  return {torch::empty({users, k}, like.options()), torch::empty({users, k}, like.options().dtype(torch::kInt64))};
}

// Both indices have been cut to the same number of items.
std::pair<torch::Tensor, torch::Tensor> retrieve(const torch::Tensor& users, const torch::Tensor& fresh,
                                                 const torch::Tensor& evergreen, int64_t k) {
  TORCH_CHECK(users.is_cuda() && users.is_contiguous() && fresh.is_contiguous() && evergreen.is_contiguous());
  TORCH_CHECK(fresh.sizes() == evergreen.sizes());
  const c10::cuda::CUDAGuard guard(users.device());
  auto current = at::cuda::getCurrentCUDAStream();
  const auto side = at::cuda::getStreamFromPool(false, users.get_device());

  Hits a = allocateHits(users.size(0), static_cast<int>(k), users);
  Hits b = allocateHits(users.size(0), static_cast<int>(k), users);

  at::cuda::CUDAEvent inputsReady, sideDone;
  inputsReady.record(current);
  inputsReady.block(side);
  {
    const c10::cuda::CUDAStreamGuard onSide(side);
    searchInto(users, fresh, static_cast<int>(k), a);
    sideDone.record(side);
  }
  searchInto(users, evergreen, static_cast<int>(k), b);
  sideDone.block(current);

  torch::Tensor scores = torch::cat({a.scores, b.scores}, 1);
  torch::Tensor items = torch::cat({a.items, b.items + fresh.size(0)}, 1);
  auto [best, where] = scores.topk(k, 1);
  return {best, items.gather(1, where)};
}

}  // namespace retrieval

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("retrieve", &retrieval::retrieve); }
