// Runs two heads of a detector on two streams and returns a host-side summary.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <array>
#include <tuple>
#include <utility>
#include <vector>

namespace det {

struct HeadWeights {
  at::Tensor w;  // [in, out]
  at::Tensor b;  // [out]
};

class DualHead {
 public:
  DualHead(HeadWeights cls, HeadWeights box, c10::DeviceIndex device)
      : cls_(std::move(cls)), box_(std::move(box)), side_(c10::cuda::getStreamFromPool(true, device)) {
    summary_ = at::zeros({2}, at::TensorOptions().dtype(at::kFloat).pinned_memory(true));
  }

  // feats: [rois, in]
  std::array<float, 2> forward(const at::Tensor& feats) {
    at::Tensor shared = at::relu(feats);
    at::Tensor boxes = at::empty({shared.size(0), box_.w.size(1)}, shared.options());
    at::Tensor tmp = at::empty_like(boxes);

    fork();
    regress(shared, tmp, boxes);
    at::Tensor scores = at::softmax(at::addmm(cls_.b, shared, cls_.w), 1);
    join();

    at::Tensor best = std::get<0>(scores.max(1));
    at::Tensor extent = boxes.abs().amax(1);
    report(best, extent);
    return read();
  }

 private:
  void fork() {
    at::cuda::CUDAEvent e;
    e.record(at::cuda::getCurrentCUDAStream());
    e.block(side_);
  }

  void regress(const at::Tensor& x, at::Tensor& tmp, at::Tensor& out) {
    c10::cuda::CUDAStreamGuard guard(side_);
    at::mm_out(tmp, x, box_.w);
    at::add_out(out, tmp, box_.b);
    out.clamp_(-4.0, 4.0);
  }

  void join() {
    at::cuda::CUDAEvent e;
    e.record(side_);
    e.block(at::cuda::getCurrentCUDAStream());
  }

  void report(const at::Tensor& best, const at::Tensor& extent) {
    at::Tensor both = at::stack({best.mean(), extent.max()});
    summary_.copy_(both, /*non_blocking=*/true);
    copied_.record(at::cuda::getCurrentCUDAStream());
  }

  std::array<float, 2> read() {
    copied_.synchronize();
    const float* p = summary_.data_ptr<float>();
    return {p[0], p[1]};
  }

  HeadWeights cls_, box_;
  c10::cuda::CUDAStream side_;
  at::Tensor summary_;
  at::cuda::CUDAEvent copied_;
};

std::vector<std::array<float, 2>> evaluate(DualHead& head, const std::vector<at::Tensor>& images) {
  std::vector<std::array<float, 2>> out;
  out.reserve(images.size());
  for (const at::Tensor& f : images) out.push_back(head.forward(f));
  return out;
}

}  // namespace det
