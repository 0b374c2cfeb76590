#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <deque>
#include <memory>
#include <tuple>
#include <vector>

namespace timmlike {

using Pair = std::tuple<at::Tensor, at::Tensor>;

struct Dataset {
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;
  // Page-locked uint8 images (N, C, H, W) and int64 targets. The storage is
  // kept by the data set.
  virtual Pair fetch(int64_t index) const = 0;
};

class PrefetchLoader {
 public:
  PrefetchLoader(std::shared_ptr<const Dataset> ds, c10::Device device, at::Tensor mean, at::Tensor std)
      : ds_(std::move(ds)),
        device_(device),
        stream_(c10::cuda::getStreamFromPool(false, device.index())),
        mean_(std::move(mean)),
        std_(std::move(std)) {
    // mean_ and std_ were made on the current stream.
    c10::cuda::getCurrentCUDAStream(device_.index()).synchronize();
  }

  ~PrefetchLoader() { stream_.synchronize(); }

  class Cursor {
   public:
    explicit Cursor(PrefetchLoader& l) : loader_(l) { stage(); }

    bool next(at::Tensor& input, at::Tensor& target) {
      if (!ready_) return false;
      wait_for_side_stream();
      input = std::move(input_);
      target = std::move(target_);
      loader_.hand_over(input);
      loader_.hand_over(target);
      stage();
      return true;
    }

   private:
    void stage() {
      ready_ = index_ < loader_.ds_->size();
      if (!ready_) return;
      c10::cuda::CUDAStreamGuard guard(loader_.stream_);
      auto [img, lab] = loader_.ds_->fetch(index_++);
      input_ = loader_.normalise(img.to(loader_.device_, /*non_blocking=*/true));
      target_ = lab.to(loader_.device_, /*non_blocking=*/true);
    }

    void wait_for_side_stream() {
      cudaEvent_t e;
      C10_CUDA_CHECK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
      C10_CUDA_CHECK(cudaEventRecord(e, loader_.stream_));
      C10_CUDA_CHECK(cudaStreamWaitEvent(c10::cuda::getCurrentCUDAStream(loader_.device_.index()), e, 0));
      C10_CUDA_CHECK(cudaEventDestroy(e));
    }

    PrefetchLoader& loader_;
    int64_t index_ = 0;
    bool ready_ = false;
    at::Tensor input_, target_;
  };

 private:
  at::Tensor normalise(const at::Tensor& u8) const { return u8.to(at::kFloat).sub(mean_).div(std_); }

  void hand_over(const at::Tensor& t) const {
    t.record_stream(c10::cuda::getCurrentCUDAStream(device_.index()));
  }

  std::shared_ptr<const Dataset> ds_;
  c10::Device device_;
  c10::cuda::CUDAStream stream_;
  at::Tensor mean_, std_;
};

double mean_loss(PrefetchLoader& loader, const at::Tensor& weight) {
  PrefetchLoader::Cursor it(loader);
  at::Tensor x, y;
  std::vector<at::Tensor> losses;
  while (it.next(x, y)) {
    at::Tensor logits = at::matmul(x.flatten(1), weight);
    losses.push_back(at::nll_loss(at::log_softmax(logits, 1), y));
    x.reset();
    y.reset();
  }
  return losses.empty() ? 0.0 : at::stack(losses).mean().item<double>();
}

}  // namespace timmlike
