// Detector calibration for several event streams. The constants of a run are
// uploaded by whichever stream asks first; all others only order themselves
// after that upload.
#include <torch/extension.h>

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace calib {

struct Constants {
  at::Tensor pedestal;  // per channel
  at::Tensor gain;      // per channel
};

class RunEntry {
 public:
  RunEntry(at::Tensor pedestal, at::Tensor gain)
      : host_{pedestal.contiguous().pin_memory(), gain.contiguous().pin_memory()} {}

  // Returns constants that may be used on `stream`.
  const Constants& on(const c10::cuda::CUDAStream& stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!uploaded_) {
      upload(stream);
      uploaded_ = true;
    } else {
      available_.block(stream);
    }
    device_.pedestal.record_stream(stream.unwrap());
    device_.gain.record_stream(stream.unwrap());
    return device_;
  }

 private:
  void upload(const c10::cuda::CUDAStream& stream) {
    c10::cuda::CUDAStreamGuard guard(stream);
    const at::Device device(at::kCUDA, stream.device_index());
    device_.pedestal = host_.pedestal.to(device, /*non_blocking=*/true);
    device_.gain = host_.gain.to(device, /*non_blocking=*/true);
  }

  std::mutex mutex_;
  bool uploaded_ = false;
  Constants host_;
  Constants device_;
  at::cuda::CUDAEvent available_;
};

class Store {
 public:
  void add(int64_t run, at::Tensor pedestal, at::Tensor gain) {
    std::lock_guard<std::mutex> lock(mutex_);
    runs_[run] = std::make_unique<RunEntry>(std::move(pedestal), std::move(gain));
  }
  RunEntry& entry(int64_t run) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto it = runs_.find(run);
    TORCH_CHECK(it != runs_.end(), "no constants for run ", run);
    return *it->second;
  }

 private:
  std::mutex mutex_;
  std::map<int64_t, std::unique_ptr<RunEntry>> runs_;
};

// Corrects raw channel counts on the current stream.
at::Tensor correct(Store& store, int64_t run, const at::Tensor& raw) {
  auto stream = c10::cuda::getCurrentCUDAStream(raw.device().index());
  const Constants& c = store.entry(run).on(stream);
  return raw.to(at::kFloat).sub(c.pedestal).mul(c.gain);
}

// Splits a batch over pool streams and joins them on the caller's stream.
std::vector<at::Tensor> correct_batch(Store& store, int64_t run, const std::vector<at::Tensor>& raw) {
  auto caller = c10::cuda::getCurrentCUDAStream();
  at::cuda::CUDAEvent inputs;
  inputs.record(caller);
  std::vector<at::Tensor> out;
  for (const auto& r : raw) {
    auto worker = c10::cuda::getStreamFromPool();
    inputs.block(worker);
    {
      c10::cuda::CUDAStreamGuard guard(worker);
      out.push_back(correct(store, run, r));
    }
    r.record_stream(worker.unwrap());
    out.back().record_stream(caller.unwrap());
    at::cuda::CUDAEvent finished;
    finished.record(worker);
    finished.block(caller);
  }
  return out;
}

}  // namespace calib

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  py::class_<calib::Store>(m, "Store").def(py::init<>()).def("add", &calib::Store::add);
  m.def("correct", &calib::correct);
  m.def("correct_batch", &calib::correct_batch);
}
