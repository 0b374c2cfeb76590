// Replays a captured field update and publishes snapshots of it for the diagnostics writer.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <memory>
#include <utility>
#include <vector>

namespace plasma {

class FieldStep {
 public:
  FieldStep(int64_t n, c10::Device dev)
      : drive_(at::zeros({n}, at::device(dev).dtype(at::kFloat))),
        e_(at::zeros({n, n}, drive_.options())),
        energy_(at::zeros({n}, drive_.options())) {}

  void capture() {
    advance();
    c10::cuda::getCurrentCUDAStream().synchronize();
    graph_ = std::make_unique<at::cuda::CUDAGraph>();
    graph_->capture_begin();
    advance();
    graph_->capture_end();
  }

  void replay(const at::Tensor& drive) {
    drive_.copy_(drive);
    graph_->replay();
  }

  const at::Tensor& energy() const { return energy_; }

 private:
  void advance() {
    e_.mul_(0.995).add_(drive_.unsqueeze(1), 0.01);
    e_.sub_(e_.roll({1}, {0}), 0.05);
    energy_.copy_(e_.pow(2).sum(1));
  }

  at::Tensor drive_;
  at::Tensor e_;
  at::Tensor energy_;
  std::unique_ptr<at::cuda::CUDAGraph> graph_;
};

class SnapshotWriter {
 public:
  explicit SnapshotWriter(c10::Device dev) : stream_(c10::cuda::getStreamFromPool(false, dev.index())) {}

  void publish(const at::Tensor& field) {
    produced_.record(c10::cuda::getCurrentCUDAStream());
    c10::cuda::CUDAStreamGuard guard(stream_);
    produced_.block(stream_);
    at::Tensor host = at::empty(field.sizes(), field.options().device(at::kCPU).pinned_memory(true));
    host.copy_(field, /*non_blocking=*/true);
    taken_.record(stream_);
    pending_.push_back(std::move(host));
  }

  void before_overwrite(const c10::cuda::CUDAStream& s) { taken_.block(s); }

  std::vector<at::Tensor> flush() {
    stream_.synchronize();
    return std::exchange(pending_, {});
  }

 private:
  c10::cuda::CUDAStream stream_;
  at::cuda::CUDAEvent produced_;
  at::cuda::CUDAEvent taken_;
  std::vector<at::Tensor> pending_;
};

std::vector<at::Tensor> simulate(const at::Tensor& drives, int64_t snapshot_every) {
  TORCH_CHECK(drives.is_cuda() && drives.dim() == 2, "drives: [steps, n] on the device");
  const c10::Device dev = drives.device();
  c10::cuda::CUDAGuard device_guard(dev);
  auto work = c10::cuda::getStreamFromPool(true, dev.index());
  at::cuda::CUDAEvent inputs_ready;
  inputs_ready.record(c10::cuda::getCurrentCUDAStream());
  inputs_ready.block(work);

  c10::cuda::CUDAStreamGuard guard(work);
  FieldStep step(drives.size(1), dev);
  SnapshotWriter writer(dev);
  step.capture();
  for (int64_t t = 0; t < drives.size(0); ++t) {
    step.replay(drives[t]);
    if (t % snapshot_every == 0) writer.publish(step.energy());
  }
  work.synchronize();
  return writer.flush();
}

}  // namespace plasma
