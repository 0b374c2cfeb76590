// Bucketed gradient averaging for a click-through model that is replicated inside one process.
// Gradients are flattened into a bucket; a full bucket is scaled on a reduction stream while
// the backward pass goes on.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

namespace ctr {

using c10::cuda::CUDAStream;
using c10::cuda::CUDAStreamGuard;

void wait_for(const CUDAStream& later, const CUDAStream& earlier) {
  at::cuda::CUDAEvent mark;
  mark.record(earlier);
  mark.block(later);
}

class Bucket {
 public:
  Bucket(std::int64_t capacity, const at::TensorOptions& options)
      : flat_(at::zeros({capacity}, options)) {}

  bool fits(const at::Tensor& g) const { return used_ + g.numel() <= flat_.numel(); }
  bool empty() const { return used_ == 0; }

  void append(at::Tensor param_grad) {
    flat_.narrow(0, used_, param_grad.numel()).copy_(param_grad.flatten());
    used_ += param_grad.numel();
    members_.push_back(std::move(param_grad));
  }

  at::Tensor filled() const { return flat_.narrow(0, 0, used_); }
  const std::vector<at::Tensor>& members() const { return members_; }
  void clear() {
    used_ = 0;
    members_.clear();
  }

 private:
  at::Tensor flat_;
  std::vector<at::Tensor> members_;
  std::int64_t used_ = 0;
};

class GradientAverager {
 public:
  GradientAverager(std::int64_t capacity, const at::TensorOptions& options, double replicas)
      : index_(options.device().index()),
        scale_(1.0 / replicas),
        bucket_(capacity, options),
        reduction_(c10::cuda::getStreamFromPool(true, index_)) {}

  void add(const at::Tensor& grad) {
    if (!bucket_.fits(grad)) flush();
    TORCH_CHECK(bucket_.fits(grad), "gradient larger than the bucket");
    bucket_.append(grad);
  }

  // Averages what the bucket holds and writes it back to the gradients.
  void flush() {
    if (bucket_.empty()) return;
    const CUDAStream producer = producer_stream();
    wait_for(reduction_, producer);
    {
      CUDAStreamGuard guard(reduction_);
      at::Tensor flat = bucket_.filled();
      flat.mul_(scale_);
      std::int64_t offset = 0;
      for (const at::Tensor& g : bucket_.members()) {
        g.copy_(flat.narrow(0, offset, g.numel()).view_as(g));
        offset += g.numel();
        g.record_stream(reduction_);
      }
    }
    bucket_.clear();
    wait_for(c10::cuda::getCurrentCUDAStream(index_), reduction_);
  }

 private:
  CUDAStream producer_stream() const { return c10::cuda::getDefaultCUDAStream(index_); }

  c10::DeviceIndex index_;
  double scale_;
  Bucket bucket_;
  CUDAStream reduction_;
};

// One pass over hand-written gradients of a two-layer tower. All of it runs on a stream from
// the pool so that it can overlap the embedding lookups of the caller.
std::vector<at::Tensor> tower_backward(const at::Tensor& x, const at::Tensor& hidden,
                                       const at::Tensor& w2, const at::Tensor& grad_logits,
                                       double replicas) {
  const c10::DeviceIndex index = x.get_device();
  c10::cuda::CUDAGuard device(index);
  const CUDAStream caller = c10::cuda::getCurrentCUDAStream(index);
  const CUDAStream work = c10::cuda::getStreamFromPool(false, index);
  wait_for(work, caller);

  std::vector<at::Tensor> grads;
  {
    CUDAStreamGuard guard(work);
    GradientAverager averager(1 << 22, x.options(), replicas);
    at::Tensor grad_w2 = at::matmul(hidden.t(), grad_logits);
    averager.add(grad_w2);
    at::Tensor grad_hidden = at::matmul(grad_logits, w2.t()).mul_(hidden.gt(0));
    at::Tensor grad_w1 = at::matmul(x.t(), grad_hidden);
    averager.add(grad_w1);
    averager.flush();
    grads = {grad_w1, grad_w2};
  }
  wait_for(caller, work);
  for (const at::Tensor& t : {x, hidden, w2, grad_logits}) t.record_stream(work);
  for (const at::Tensor& g : grads) g.record_stream(caller);
  return grads;
}

}  // namespace ctr

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("tower_backward", &ctr::tower_backward, "Averaged gradients of the tower");
}
