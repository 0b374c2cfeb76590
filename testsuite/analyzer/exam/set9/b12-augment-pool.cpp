// Background augmentation of spectrograms. Data loader threads hand a batch in,
// a pool thread augments it on a stream of its own, and the training thread
// picks the result up when it needs it.

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

#include <condition_variable>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <thread>

namespace augment {

struct Result {
  at::Tensor batch;
};

struct Job {
  at::Tensor input;
  at::cuda::CUDAEvent ready;
  double gain = 1.0;
  std::promise<Result> promise;
};

// A batch on its way; redeem it once.
class Ticket {
 public:
  explicit Ticket(std::future<Result> future) : future_(std::move(future)) {}

  // The augmented batch, for use on the current stream.
  at::Tensor redeem() {
    Result result = future_.get();
    const auto current = at::cuda::getCurrentCUDAStream(result.batch.device().index());
    result.batch.record_stream(current);
    return result.batch;
  }

 private:
  std::future<Result> future_;
};

class AugmentPool {
 public:
  explicit AugmentPool(int64_t device) : device_(static_cast<c10::DeviceIndex>(device)), thread_([this] { serve(); }) {}
  ~AugmentPool() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      closing_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

  // `input` is shared with the pool, not copied: leave it unchanged until the ticket is redeemed.
  std::shared_ptr<Ticket> submit(const at::Tensor& input, double gain) {
    TORCH_CHECK(input.is_cuda() && input.device().index() == device_, "submit: wrong device");
    auto job = std::make_unique<Job>();
    job->input = input;
    job->gain = gain;
    job->ready.record(at::cuda::getCurrentCUDAStream(device_));
    auto ticket = std::make_shared<Ticket>(job->promise.get_future());
    {
      std::lock_guard<std::mutex> lock(mutex_);
      jobs_.push_back(std::move(job));
    }
    wake_.notify_one();
    return ticket;
  }

 private:
  void serve() {
    const c10::cuda::CUDAStream stream = c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device_);
    const c10::cuda::CUDAStreamGuard guard(stream);
    const at::NoGradGuard no_grad;
    while (std::unique_ptr<Job> job = next()) {
      job->ready.block(stream);
      job->input.record_stream(stream);
      try {
        Result result{transform(job->input, job->gain)};
        job->promise.set_value(std::move(result));
      } catch (...) {
        job->promise.set_exception(std::current_exception());
      }
    }
  }

  std::unique_ptr<Job> next() {
    std::unique_lock<std::mutex> lock(mutex_);
    wake_.wait(lock, [this] { return closing_ || !jobs_.empty(); });
    if (jobs_.empty()) return nullptr;
    std::unique_ptr<Job> job = std::move(jobs_.front());
    jobs_.pop_front();
    return job;
  }

  static at::Tensor transform(const at::Tensor& spec, double gain) {
    at::Tensor mask = at::rand_like(spec).gt(0.05).to(spec.scalar_type());
    at::Tensor out = spec.mul(gain).mul_(mask);
    return out.sub_(out.mean(-1, /*keepdim=*/true));
  }

  c10::DeviceIndex device_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::unique_ptr<Job>> jobs_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace augment

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  pybind11::class_<augment::Ticket, std::shared_ptr<augment::Ticket>>(m, "Ticket")
      .def("redeem", &augment::Ticket::redeem, pybind11::call_guard<pybind11::gil_scoped_release>());
  pybind11::class_<augment::AugmentPool>(m, "AugmentPool")
      .def(pybind11::init<int64_t>())
      .def("submit", &augment::AugmentPool::submit, pybind11::arg("input"), pybind11::arg("gain") = 1.0);
}
