// Ray requests of an interactive renderer: the host lists the pixels to refine, a kernel
// refines them. The request lists rotate through a ring of page-locked tensors.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

#include <array>
#include <cstdint>
#include <random>

namespace rays {

__global__ void refine(float* __restrict__ image, const int* __restrict__ pixels, int n, int width,
                       float exposure) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int p = pixels[i];
  const float x = static_cast<float>(p % width), y = static_cast<float>(p / width);
  atomicAdd(&image[p], exposure * (0.5f + 0.5f * __sinf(0.02f * x) * __cosf(0.03f * y)));
}

// Ring of host buffers; a buffer is lent again only when its last copy has run.
template <std::size_t N>
class RequestRing {
 public:
  explicit RequestRing(std::int64_t capacity) {
    for (Slot& s : slots_)
      s.host = at::empty({capacity}, at::TensorOptions().dtype(at::kInt).pinned_memory(true));
  }

  template <typename Fill>
  at::Tensor send(std::int64_t n, c10::Device device, Fill&& fill) {
    Slot& slot = slots_[turn_++ % N];
    TORCH_CHECK(n <= slot.host.numel(), "too many requests");
    slot.copied.synchronize();
    fill(slot.host.template data_ptr<int>());
    at::Tensor pixels = at::empty({n}, slot.host.options().device(device).pinned_memory(false));
    pixels.copy_(slot.host.narrow(0, 0, n), /*non_blocking=*/true);
    slot.copied.record(at::cuda::getCurrentCUDAStream(device.index()));
    return pixels;
  }

 private:
  struct Slot {
    at::Tensor host;
    at::cuda::CUDAEvent copied;
  };
  std::array<Slot, N> slots_;
  std::size_t turn_ = 0;
};

class Refiner {
 public:
  Refiner(std::int64_t width, std::int64_t height, std::int64_t batch, std::uint64_t seed)
      : width_(width), height_(height), batch_(batch), ring_(batch), rng_(seed) {}

  // Adds `rounds` batches of random refinements to `image` on the current stream.
  void run(at::Tensor image, int rounds) {
    TORCH_CHECK(image.is_cuda() && image.is_contiguous() && image.scalar_type() == at::kFloat);
    TORCH_CHECK(image.numel() == width_ * height_, "image has the wrong size");
    c10::cuda::CUDAGuard guard(image.device());
    for (int r = 0; r < rounds; ++r) {
      const at::Tensor pixels = request(image.device());
      launch(image, pixels);
    }
  }

 private:
  at::Tensor request(c10::Device device) {
    std::uniform_int_distribution<int> pick(0, static_cast<int>(width_ * height_) - 1);
    return ring_.send(batch_, device, [&](int* out) {
      for (std::int64_t i = 0; i < batch_; ++i) out[i] = pick(rng_);
    });
  }

  void launch(const at::Tensor& image, const at::Tensor& pixels) const {
    const int n = static_cast<int>(pixels.numel());
    refine<<<(n + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        image.data_ptr<float>(), pixels.data_ptr<int>(), n, static_cast<int>(width_), 0.01f);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }

  std::int64_t width_, height_, batch_;
  RequestRing<3> ring_;
  std::mt19937_64 rng_;
};

}  // namespace rays

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  py::class_<rays::Refiner>(m, "Refiner")
      .def(py::init<std::int64_t, std::int64_t, std::int64_t, std::uint64_t>(), py::arg("width"),
           py::arg("height"), py::arg("batch"), py::arg("seed") = 7)
      .def("run", &rays::Refiner::run, py::arg("image"), py::arg("rounds"));
}
