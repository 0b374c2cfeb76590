// Keeps rarely used quantizer codebooks in pinned host memory.
//
// park() moves a codebook off the GPU, fetch() brings it back. The download runs on a stream of its
// own so that the encoder is not held up.
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace vq {

using c10::cuda::CUDAStream;

class CodebookShelf {
 public:
  explicit CodebookShelf(c10::DeviceIndex device)
      : device_(device), download_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device)) {}

  ~CodebookShelf() { download_.synchronize(); }

  void put(const std::string& name, torch::Tensor book) {
    TORCH_CHECK(book.is_cuda() && book.get_device() == device_, "codebook must live on device ", static_cast<int>(device_));
    Entry& e = entries_[name];
    e.host = torch::empty(book.sizes(), book.options().device(torch::kCPU).pinned_memory(true));
    e.book = std::move(book);
    e.parked = false;
  }

  // The returned tensor must not be kept across park().
  const torch::Tensor& fetch(const std::string& name) {
    Entry& e = entries_.at(name);
    if (e.parked) bringBack(e);
    ++e.hits;
    return e.book;
  }

  void park(const std::string& name) {
    Entry& e = entries_.at(name);
    if (e.parked) return;
    copyOut(e);
    dropDevice(e);
  }

  int64_t parkCold(int64_t minHits) {
    std::vector<std::string> cold;
    for (auto& [name, e] : entries_) {
      if (!e.parked && e.hits < minHits) cold.push_back(name);
      e.hits = 0;
    }
    for (const auto& name : cold) park(name);
    return static_cast<int64_t>(cold.size());
  }

 private:
  struct Entry {
    torch::Tensor book;
    torch::Tensor host;
    at::cuda::CUDAEvent landed;
    int64_t hits = 0;
    bool parked = false;
  };

  void copyOut(Entry& e) {
    at::cuda::CUDAEvent lastUse;
    lastUse.record(c10::cuda::getCurrentCUDAStream(device_));
    lastUse.block(download_);
    c10::cuda::CUDAStreamGuard guard(download_);
    e.host.copy_(e.book, /*non_blocking=*/true);
    e.book.record_stream(download_);
    e.landed.record(download_);
  }

  static void dropDevice(Entry& e) {
    e.book.set_data(torch::empty({0}, e.book.options()));
    e.parked = true;
  }

  void bringBack(Entry& e) {
    auto current = c10::cuda::getCurrentCUDAStream(device_);
    c10::cuda::CUDAGuard guard(device_);
    e.landed.block(current);
    e.book.set_data(e.host.to(torch::Device(torch::kCUDA, device_), /*non_blocking=*/true));
    e.parked = false;
  }

  c10::DeviceIndex device_;
  CUDAStream download_;
  std::unordered_map<std::string, Entry> entries_;
};

torch::Tensor encode(CodebookShelf& shelf, const std::string& name, const torch::Tensor& x) {
  const torch::Tensor& book = shelf.fetch(name);
  auto distance = (x * x).sum(1, true) - 2 * torch::matmul(x, book.t()) + (book * book).sum(1);
  return distance.argmin(1);
}

torch::Tensor decode(CodebookShelf& shelf, const std::string& name, const torch::Tensor& codes) {
  return shelf.fetch(name).index_select(0, codes);
}

}  // namespace vq

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  pybind11::class_<vq::CodebookShelf>(m, "CodebookShelf")
      .def(pybind11::init<c10::DeviceIndex>())
      .def("put", &vq::CodebookShelf::put)
      .def("park", &vq::CodebookShelf::park)
      .def("park_cold", &vq::CodebookShelf::parkCold);
  m.def("encode", &vq::encode);
  m.def("decode", &vq::decode);
}
