// Speaker models live in pinned host memory; the one in use is uploaded on a
// transfer stream while its predecessor is still scoring.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/native/cuda/Resize.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstddef>
#include <utility>
#include <vector>

namespace speakers {

class ModelShelf {
 public:
  explicit ModelShelf(c10::DeviceIndex device)
      : device_(device), transfer_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device)) {}
  ~ModelShelf() { transfer_.synchronize(); }
  ModelShelf(const ModelShelf&) = delete;
  ModelShelf& operator=(const ModelShelf&) = delete;

  std::size_t add(const at::Tensor& cpu_model) {
    models_.push_back({cpu_model.contiguous().pin_memory(), at::Tensor(), at::cuda::CUDAEvent()});
    return models_.size() - 1;
  }

  /// Starts the upload of a model.
  void prefetch(std::size_t i) {
    Model& m = models_.at(i);
    if (m.device.defined()) return;
    const c10::cuda::CUDAStreamGuard guard(transfer_);
    m.device = m.host.to(at::Device(at::kCUDA, device_), /*non_blocking=*/true);
    m.uploaded.record(transfer_);
  }

  /// The model, usable on the current stream.
  const at::Tensor& use(std::size_t i) {
    prefetch(i);
    Model& m = models_.at(i);
    const auto current = c10::cuda::getCurrentCUDAStream(device_);
    m.uploaded.block(current);
    m.device.record_stream(current.unwrap());
    return m.device;
  }

  /// Saves a model that was adapted on the current stream and drops it.
  void park(std::size_t i) {
    Model& m = models_.at(i);
    if (!m.device.defined()) return;
    save(m);
    drop(m);
  }

 private:
  struct Model {
    at::Tensor host;
    at::Tensor device;
    at::cuda::CUDAEvent uploaded;
  };

  void save(Model& m) {
    at::cuda::CUDAEvent adapted;
    adapted.record(c10::cuda::getCurrentCUDAStream(device_));
    adapted.block(transfer_);
    const c10::cuda::CUDAStreamGuard guard(transfer_);
    m.host.copy_(m.device, /*non_blocking=*/true);
    transfer_.synchronize();
  }

  static void drop(Model& m) {
    at::native::resize_bytes_cuda(m.device.storage().unsafeGetStorageImpl(), 0);
    m.device.reset();
  }

  c10::DeviceIndex device_;
  c10::cuda::CUDAStream transfer_;
  std::vector<Model> models_;
};

/// Scores and adapts every model with one utterance (frames x features).
std::vector<at::Tensor> score_all(const at::Tensor& utterance, const std::vector<at::Tensor>& models) {
  TORCH_CHECK(utterance.is_cuda(), "the utterance must be on a CUDA device");
  const c10::cuda::CUDAGuard device_guard(utterance.device());
  ModelShelf shelf(utterance.device().index());
  for (const auto& m : models) shelf.add(m);

  std::vector<at::Tensor> scores;
  for (std::size_t i = 0; i < models.size(); ++i) {
    at::Tensor model = shelf.use(i);
    if (i + 1 < models.size()) shelf.prefetch(i + 1);
    scores.push_back(at::matmul(utterance, model).amax());
    model.mul_(0.99).add_(utterance.mean(0).unsqueeze(-1), 0.01);
    shelf.park(i);
  }
  return scores;
}

}  // namespace speakers

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("score_all", &speakers::score_all); }
