// Terrain service: an elevation cache on the device is refreshed on one stream and sampled on another.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

#include <cstdint>
#include <functional>
#include <utility>

namespace terrain {

// Rows that are not resident yet, with their values in pinned memory.
struct MissBatch {
  at::Tensor slots;   // int64, pinned
  at::Tensor values;  // float, pinned, [slots, tile]
};

struct Query {
  at::Tensor slots;  // int64, pinned
};

using MissLoader = std::function<MissBatch(const Query&)>;

class StageStream {
 public:
  explicit StageStream(c10::DeviceIndex device) : stream_(c10::cuda::getStreamFromPool(false, device)) {}

  c10::cuda::CUDAStream get() const { return stream_; }

  // Later work of this stage comes after what `stream` has been given so far.
  void follow(const c10::cuda::CUDAStream& stream) {
    at::cuda::CUDAEvent event;
    event.record(stream);
    event.block(stream_);
  }

 private:
  c10::cuda::CUDAStream stream_;
};

class ElevationCache {
 public:
  ElevationCache(std::int64_t slots, std::int64_t tile, std::int64_t device)
      : device_(static_cast<c10::DeviceIndex>(device)), prefetch_(device_), sample_(device_) {
    rows_ = at::zeros({slots, tile}, at::TensorOptions().dtype(at::kFloat).device(at::kCUDA, device_));
    const auto current = c10::cuda::getCurrentCUDAStream(device_);
    prefetch_.follow(current);
    sample_.follow(current);
  }

  ~ElevationCache() {
    prefetch_.get().synchronize();
    sample_.get().synchronize();
  }
  ElevationCache(const ElevationCache&) = delete;
  ElevationCache& operator=(const ElevationCache&) = delete;

  void refresh(const MissBatch& misses) {
    prefetch_.follow(sample_.get());
    c10::cuda::CUDAStreamGuard guard(prefetch_.get());
    at::Tensor slots = misses.slots.to(rows_.device(), /*non_blocking=*/true);
    at::Tensor values = misses.values.to(rows_.device(), /*non_blocking=*/true);
    rows_.index_copy_(0, slots, values);
  }

  at::Tensor sample(const Query& query) {
    c10::cuda::CUDAStreamGuard guard(sample_.get());
    at::Tensor slots = query.slots.to(rows_.device(), /*non_blocking=*/true);
    return rows_.index_select(0, slots).mean(1);
  }

  c10::cuda::CUDAStream sampleStream() const { return sample_.get(); }
  c10::DeviceIndex device() const { return device_; }

 private:
  c10::DeviceIndex device_;
  StageStream prefetch_;
  StageStream sample_;
  at::Tensor rows_;
};

// Answers height queries; tiles that the cache does not hold are loaded first.
class HeightService {
 public:
  HeightService(std::int64_t slots, std::int64_t tile, std::int64_t device, MissLoader loader)
      : cache_(slots, tile, device), loader_(std::move(loader)) {}

  // The result is ready on the caller's current stream.
  at::Tensor heights(const at::Tensor& slots) {
    Query query{slots};
    cache_.refresh(loader_(query));
    at::Tensor result = cache_.sample(query);
    deliver(result);
    return result;
  }

 private:
  void deliver(const at::Tensor& result) {
    const auto caller = c10::cuda::getCurrentCUDAStream(cache_.device());
    at::cuda::CUDAEvent ready;
    ready.record(cache_.sampleStream());
    ready.block(caller);
    result.record_stream(caller.unwrap());
  }

  ElevationCache cache_;
  MissLoader loader_;
};

}  // namespace terrain

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  py::class_<terrain::MissBatch>(m, "MissBatch")
      .def(py::init<at::Tensor, at::Tensor>())
      .def_readwrite("slots", &terrain::MissBatch::slots)
      .def_readwrite("values", &terrain::MissBatch::values);
  py::class_<terrain::Query>(m, "Query").def_readwrite("slots", &terrain::Query::slots);
  py::class_<terrain::HeightService>(m, "HeightService")
      .def(py::init<std::int64_t, std::int64_t, std::int64_t, terrain::MissLoader>())
      .def("heights", &terrain::HeightService::heights);
}
