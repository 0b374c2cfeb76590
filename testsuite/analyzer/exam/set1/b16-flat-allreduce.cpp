// Gradient all-reduce over a private communication stream.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <memory>
#include <vector>

// From the transport library: enqueues an in-place sum on `stream`.
extern "C" int xcclAllReduceSum(void* buf, size_t count, int dtype, void* comm, cudaStream_t stream);

namespace dist {

class Work {
 public:
  explicit Work(at::cuda::CUDAEvent done) : done_(std::move(done)) {}
  // Later work of the current stream runs after the collective.
  void wait() { done_.block(at::cuda::getCurrentCUDAStream()); }

 private:
  at::cuda::CUDAEvent done_;
};

class ProcessGroup {
 public:
  ProcessGroup(void* comm, c10::DeviceIndex device)
      : comm_(comm), device_(device), comm_stream_(c10::cuda::getStreamFromPool(true, device)) {}

  std::unique_ptr<Work> allreduce_coalesced(std::vector<at::Tensor>& grads) {
    c10::cuda::CUDAGuard device_guard(device_);
    at::Tensor flat = flatten(grads);
    sync_streams();
    launch(flat);
    scatter_back(flat, grads);

    at::cuda::CUDAEvent done;
    done.record(comm_stream_);
    return std::make_unique<Work>(std::move(done));
  }

 private:
  static at::Tensor flatten(const std::vector<at::Tensor>& ts) {
    std::vector<at::Tensor> views;
    views.reserve(ts.size());
    for (const auto& t : ts) views.push_back(t.reshape({-1}));
    return at::cat(views);
  }

  // The collective starts after what the current stream has enqueued.
  void sync_streams() {
    ready_.record(at::cuda::getCurrentCUDAStream(device_));
    ready_.block(comm_stream_);
  }

  void launch(at::Tensor& flat) {
    int rc = xcclAllReduceSum(flat.data_ptr(), static_cast<size_t>(flat.numel()), 7, comm_, comm_stream_);
    TORCH_CHECK(rc == 0, "all-reduce failed: ", rc);
  }

  // Copies the sums to the gradients, which the caller keeps until wait().
  void scatter_back(const at::Tensor& flat, std::vector<at::Tensor>& grads) {
    c10::cuda::CUDAStreamGuard guard(comm_stream_);
    int64_t at = 0;
    for (auto& g : grads) {
      g.copy_(flat.narrow(0, at, g.numel()).view_as(g), /*non_blocking=*/true);
      at += g.numel();
    }
  }

  void* comm_;
  c10::DeviceIndex device_;
  c10::cuda::CUDAStream comm_stream_;
  at::cuda::CUDAEvent ready_;
};

}  // namespace dist
