// Ligand docking: poses are scored by worker threads on streams of their own;
// the ranking thread merges the score tables as they come in.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <queue>
#include <thread>
#include <utility>
#include <vector>

namespace docking {

struct ScoreTable {
  at::Tensor scores;
  std::unique_ptr<at::cuda::CUDAEvent> ready;
};

class Mailbox {
 public:
  void post(ScoreTable t) {
    {
      std::lock_guard<std::mutex> lk(mu_);
      queue_.push(std::move(t));
    }
    cv_.notify_one();
  }
  ScoreTable receive() {
    std::unique_lock<std::mutex> lk(mu_);
    cv_.wait(lk, [&] { return !queue_.empty(); });
    ScoreTable t = std::move(queue_.front());
    queue_.pop();
    return t;
  }

 private:
  std::mutex mu_;
  std::condition_variable cv_;
  std::queue<ScoreTable> queue_;
};

static void score(Mailbox& box, const at::Tensor& poses, const at::Tensor& field,
                  at::cuda::CUDAEvent& inputs) {
  auto stream = c10::cuda::getStreamFromPool(false, poses.device().index());
  c10::cuda::CUDAStreamGuard guard(stream);
  at::NoGradGuard noGrad;
  inputs.block(stream);
  at::Tensor energy = at::matmul(poses, field).pow(2).sum(1);
  auto ready = std::make_unique<at::cuda::CUDAEvent>();
  ready->record(stream);
  box.post(ScoreTable{energy, std::move(ready)});
}

static void merge(at::Tensor& best, const ScoreTable& t) {
  auto current = c10::cuda::getCurrentCUDAStream(best.device().index());
  t.ready->block(current);
  c10::cuda::CUDACachingAllocator::recordStream(t.scores.storage().data_ptr(), current);
  best.copy_(at::minimum(best, t.scores));
}

at::Tensor rank(at::Tensor poses, std::vector<at::Tensor> fields) {
  c10::cuda::CUDAGuard device(poses.device());
  at::NoGradGuard noGrad;
  at::Tensor best = at::full({poses.size(0)}, 1e30, poses.options());
  at::cuda::CUDAEvent inputs;
  inputs.record(c10::cuda::getCurrentCUDAStream());
  Mailbox box;
  std::vector<std::thread> workers;
  for (const at::Tensor& f : fields)
    workers.emplace_back([&box, &poses, &f, &inputs] { score(box, poses, f, inputs); });
  for (size_t i = 0; i < fields.size(); ++i) merge(best, box.receive());
  for (auto& w : workers) w.join();
  return best;
}

}  // namespace docking

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("rank", &docking::rank); }
