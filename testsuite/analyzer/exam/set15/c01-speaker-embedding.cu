#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <utility>
#include <vector>

// Speaker embeddings for a recogniser: features are normalised by a custom kernel on a side
// stream while the caller keeps its own stream busy.
namespace speaker {

using c10::cuda::CUDAStream;

namespace {

__global__ void cmvn_kernel(const float* frames, const float* mean, const float* inv_std, float* out,
                            int64_t rows, int64_t cols) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < rows * cols) out[i] = (frames[i] - mean[i % cols]) * inv_std[i % cols];
}

void launch_cmvn(const at::Tensor& frames, const at::Tensor& mean, const at::Tensor& inv_std,
                 at::Tensor& out) {
  const int64_t n = frames.numel();
  auto stream = at::cuda::getCurrentCUDAStream(frames.get_device());
  cmvn_kernel<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream>>>(
      frames.data_ptr<float>(), mean.data_ptr<float>(), inv_std.data_ptr<float>(),
      out.data_ptr<float>(), frames.size(0), frames.size(1));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

}  // namespace

class Edge {
 public:
  static void add(const CUDAStream& from, const CUDAStream& to) {
    at::cuda::CUDAEvent e;
    e.record(from);
    e.block(to);
  }
};

struct Embedding {
  at::Tensor value;
  at::cuda::CUDAEvent ready;

  const at::Tensor& on(const CUDAStream& consumer) {
    ready.block(consumer);
    value.record_stream(consumer.unwrap());
    return value;
  }
};

class EmbeddingExtractor {
 public:
  EmbeddingExtractor(at::Tensor projection, c10::DeviceIndex device)
      : device_(device),
        side_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device)),
        projection_(std::move(projection)) {
    Edge::add(at::cuda::getCurrentCUDAStream(device_), side_);
    projection_.record_stream(side_.unwrap());
  }

  Embedding extract(const at::Tensor& frames, const at::Tensor& mean, const at::Tensor& inv_std) {
    TORCH_CHECK(frames.dim() == 2 && frames.is_contiguous(), "[frames, features] expected");
    Edge::add(at::cuda::getCurrentCUDAStream(device_), side_);
    for (const at::Tensor* t : {&frames, &mean, &inv_std}) t->record_stream(side_.unwrap());

    c10::cuda::CUDAStreamGuard guard(side_);
    Embedding e;
    at::Tensor normalised = at::empty_like(frames);
    launch_cmvn(frames, mean, inv_std, normalised);
    e.value = at::matmul(normalised.mean(0), projection_);
    e.ready.record(side_);
    return e;
  }

 private:
  c10::DeviceIndex device_;
  CUDAStream side_;
  at::Tensor projection_;
};

// Cosine similarity of every utterance with an enrolled speaker.
at::Tensor verify(EmbeddingExtractor& extractor, const std::vector<at::Tensor>& utterances,
                  const at::Tensor& enrolled, const at::Tensor& mean, const at::Tensor& inv_std) {
  std::vector<Embedding> pending;
  pending.reserve(utterances.size());
  for (const at::Tensor& u : utterances) pending.push_back(extractor.extract(u, mean, inv_std));

  const auto caller = at::cuda::getCurrentCUDAStream(enrolled.get_device());
  std::vector<at::Tensor> scores;
  scores.reserve(pending.size());
  for (Embedding& e : pending) {
    const at::Tensor& v = e.on(caller);
    scores.push_back(at::dot(v, enrolled) / (at::norm(v) * at::norm(enrolled)));
  }
  return at::stack(scores);
}

}  // namespace speaker

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  pybind11::class_<speaker::EmbeddingExtractor>(m, "EmbeddingExtractor")
      .def(pybind11::init<at::Tensor, c10::DeviceIndex>());
  m.def("verify", &speaker::verify);
}
