// Ultrasound: channel data arrives over several links. Every link unpacks into
// device memory on a stream of its own, the beamformer runs on the caller's stream.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

#include <cstdint>
#include <deque>
#include <stdexcept>
#include <utility>
#include <vector>

namespace relay {

using c10::cuda::CUDAStream;
using c10::cuda::CUDAStreamGuard;

struct Packet {
  torch::Tensor samples;  // device, float
  CUDAStream origin;
};

class Link {
 public:
  explicit Link(c10::DeviceIndex device)
      : stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device)) {}

  // raw: int16 samples in pinned memory
  Packet receive(const torch::Tensor& raw) {
    CUDAStreamGuard guard(stream_);
    auto device = torch::Device(torch::kCUDA, stream_.device_index());
    auto counts = raw.to(device, /*non_blocking=*/true);
    auto samples = counts.to(torch::kFloat).mul_(1.0 / 32768.0);
    samples.sub_(samples.mean(/*dim=*/-1, /*keepdim=*/true));
    return Packet{std::move(samples), stream_};
  }

 private:
  CUDAStream stream_;
};

class Mailbox {
 public:
  void post(Packet packet) { queue_.push_back(std::move(packet)); }

  bool empty() const { return queue_.empty(); }

  // The returned tensor is handed over to the current stream.
  torch::Tensor take() {
    if (queue_.empty()) throw std::out_of_range("no packet");
    Packet packet = std::move(queue_.front());
    queue_.pop_front();
    const auto current = c10::cuda::getCurrentCUDAStream(packet.origin.device_index());
    if (current != packet.origin) {
      c10::cuda::CUDACachingAllocator::recordStream(packet.samples.storage().data_ptr(), current);
    }
    return packet.samples;
  }

 private:
  std::deque<Packet> queue_;
};

class Beamformer {
 public:
  Beamformer(c10::DeviceIndex device, int64_t links) {
    for (int64_t i = 0; i < links; ++i) links_.emplace_back(device);
  }

  torch::Tensor form(const std::vector<torch::Tensor>& raw, const torch::Tensor& apodization) {
    TORCH_CHECK(raw.size() <= links_.size(), "more shots than links");
    for (std::size_t i = 0; i < raw.size(); ++i) mailbox_.post(links_[i].receive(raw[i]));

    torch::Tensor image;
    while (!mailbox_.empty()) {
      auto line = torch::matmul(apodization, mailbox_.take());
      image = image.defined() ? image.add_(line) : line;
    }
    return image;
  }

 private:
  std::vector<Link> links_;
  Mailbox mailbox_;
};

}  // namespace relay

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  pybind11::class_<relay::Beamformer>(m, "Beamformer")
      .def(pybind11::init<c10::DeviceIndex, int64_t>())
      .def("form", &relay::Beamformer::form, pybind11::arg("raw"), pybind11::arg("apodization"));
}
