// Double-buffered loader of mass-spectrometry scans for the PyTorch front end. Copies run on
// a stream from the pool; the scans are consumed on whatever stream the caller works on.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace spectra {

// A scan on its way to the device.
struct InFlight {
  at::Tensor intensities;
  at::cuda::CUDAEvent arrived;
};

class ScanLoader {
 public:
  ScanLoader(const std::vector<at::Tensor>& scans, c10::Device device, std::size_t depth)
      : device_(device), copy_(c10::cuda::getStreamFromPool(false, device.index())), depth_(depth) {
    for (const at::Tensor& s : scans) {
      TORCH_CHECK(s.device().is_cpu() && s.scalar_type() == at::kFloat, "scans must be float on the CPU");
      at::Tensor staged = at::empty(s.sizes(), s.options().pinned_memory(true));
      staged.copy_(s);
      scans_.push_back(std::move(staged));
    }
    refill();
  }

  bool done() const { return queue_.empty(); }

  at::Tensor next() {
    TORCH_CHECK(!done(), "no more scans");
    const auto user = c10::cuda::getCurrentCUDAStream(device_.index());
    InFlight front = std::move(queue_.front());
    queue_.pop_front();
    front.arrived.block(user);
    front.intensities.record_stream(user);
    refill();
    return front.intensities;
  }

 private:
  void refill() {
    c10::cuda::CUDAStreamGuard guard(copy_);
    while (queue_.size() < depth_ && cursor_ < scans_.size()) {
      InFlight item;
      item.intensities = scans_[cursor_++].to(device_, at::kFloat, /*non_blocking=*/true);
      item.arrived.record(copy_);
      queue_.push_back(std::move(item));
    }
  }

  c10::Device device_;
  c10::cuda::CUDAStream copy_;
  std::size_t depth_;
  std::vector<at::Tensor> scans_;
  std::size_t cursor_ = 0;
  std::deque<InFlight> queue_;
};

// Total ion current of all scans, computed on a second stream of the pool.
at::Tensor total_ion_current(const std::vector<at::Tensor>& scans, c10::Device device) {
  c10::cuda::CUDAGuard on(device);
  const auto caller = c10::cuda::getCurrentCUDAStream(device.index());
  const auto work = c10::cuda::getStreamFromPool(true, device.index());
  at::cuda::CUDAEvent begin;
  begin.record(caller);
  begin.block(work);

  at::Tensor result;
  {
    c10::cuda::CUDAStreamGuard guard(work);
    ScanLoader loader(scans, device, 2);
    std::vector<at::Tensor> sums;
    while (!loader.done()) sums.push_back(loader.next().sum());
    result = sums.empty() ? at::zeros({0}, at::TensorOptions().device(device)) : at::stack(sums);
  }

  at::cuda::CUDAEvent end;
  end.record(work);
  end.block(caller);
  result.record_stream(caller);
  return result;
}

// Mean spectrum over scans of equal length, on the caller's stream.
at::Tensor mean_spectrum(const std::vector<at::Tensor>& scans, c10::Device device) {
  c10::cuda::CUDAGuard on(device);
  ScanLoader loader(scans, device, 3);
  TORCH_CHECK(!loader.done(), "no scans");
  at::Tensor sum = at::zeros(scans.front().sizes(), at::TensorOptions().dtype(at::kFloat).device(device));
  while (!loader.done()) {
    const at::Tensor scan = loader.next();
    sum.add_(scan);
  }
  return sum.div_(static_cast<double>(scans.size()));
}

}  // namespace spectra

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("total_ion_current", [](const std::vector<at::Tensor>& scans, int device) {
    return spectra::total_ion_current(scans, c10::Device(at::kCUDA, static_cast<c10::DeviceIndex>(device)));
  });
  m.def("mean_spectrum", [](const std::vector<at::Tensor>& scans, int device) {
    return spectra::mean_spectrum(scans, c10::Device(at::kCUDA, static_cast<c10::DeviceIndex>(device)));
  });
}
