// Peak picking for mass spectra: custom kernels on the caller's stream, result counts through pinned memory.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace peaks {

constexpr int kThreads = 256;
constexpr int64_t kMaxPeaks = 1 << 16;

__global__ void smooth_kernel(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float l = i > 0 ? in[i - 1] : in[i];
  float r = i + 1 < n ? in[i + 1] : in[i];
  out[i] = 0.25f * l + 0.5f * in[i] + 0.25f * r;
}

__global__ void pick_kernel(const float* signal, float threshold, int* count, int* index, int n, int limit) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < 1 || i + 1 >= n) return;
  if (signal[i] > threshold && signal[i] > signal[i - 1] && signal[i] >= signal[i + 1]) {
    int slot = atomicAdd(count, 1);
    if (slot < limit) index[slot] = i;
  }
}

struct Launch {
  unsigned blocks;
  cudaStream_t stream;
};

inline Launch launch_for(const torch::Tensor& t) {
  return {static_cast<unsigned>((t.numel() + kThreads - 1) / kThreads),
          c10::cuda::getCurrentCUDAStream(t.get_device()).stream()};
}

// A peak list whose length is still on its way to the host.
class PendingPeaks {
 public:
  PendingPeaks(torch::Tensor count, torch::Tensor index)
      : index_(std::move(index)), host_count_(torch::empty({1}, torch::TensorOptions().dtype(torch::kInt32).pinned_memory(true))) {
    host_count_.copy_(count, /*non_blocking=*/true);
    arrived_.record(c10::cuda::getCurrentCUDAStream(index_.get_device()));
  }

  torch::Tensor get() {
    arrived_.synchronize();
    const int64_t n = std::min<int64_t>(host_count_.data_ptr<int>()[0], kMaxPeaks);
    return index_.narrow(0, 0, n);
  }

 private:
  torch::Tensor index_;
  torch::Tensor host_count_;
  at::cuda::CUDAEvent arrived_;
};

PendingPeaks pick(const torch::Tensor& spectrum, double threshold) {
  TORCH_CHECK(spectrum.is_cuda() && spectrum.dim() == 1, "expected a 1-D CUDA tensor");
  const c10::cuda::CUDAGuard guard(spectrum.device());
  auto signal = spectrum.to(torch::kFloat32).contiguous();
  auto smoothed = torch::empty_like(signal);
  auto ints = signal.options().dtype(torch::kInt32);
  auto count = torch::zeros({1}, ints);
  auto index = torch::empty({kMaxPeaks}, ints);

  const Launch launch = launch_for(signal);
  const int n = static_cast<int>(signal.numel());
  smooth_kernel<<<launch.blocks, kThreads, 0, launch.stream>>>(signal.data_ptr<float>(), smoothed.data_ptr<float>(), n);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  pick_kernel<<<launch.blocks, kThreads, 0, launch.stream>>>(smoothed.data_ptr<float>(), static_cast<float>(threshold),
                                                             count.data_ptr<int>(), index.data_ptr<int>(), n,
                                                             static_cast<int>(kMaxPeaks));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return PendingPeaks(count, index);
}

// Two spectra at a time, each on a side stream.
std::vector<torch::Tensor> pick_pair(const torch::Tensor& first, const torch::Tensor& second, double threshold) {
  const auto device = first.get_device();
  auto caller = c10::cuda::getCurrentCUDAStream(device);
  at::cuda::CUDAEvent inputs_ready;
  inputs_ready.record(caller);

  std::vector<PendingPeaks> pending;
  for (const torch::Tensor& spectrum : {first, second}) {
    auto side = c10::cuda::getStreamFromPool(false, device);
    inputs_ready.block(side);
    c10::cuda::CUDAStreamGuard on_side(side);
    pending.push_back(pick(spectrum, threshold));
    spectrum.record_stream(side.unwrap());
  }

  std::vector<torch::Tensor> lists;
  for (PendingPeaks& p : pending) {
    torch::Tensor list = p.get();
    list.record_stream(caller.unwrap());
    lists.push_back(std::get<0>(list.sort()));
  }
  return lists;
}

}  // namespace peaks

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("pick_pair", &peaks::pick_pair, "sorted peak positions of two spectra");
}
