// Watches gradients for overflow without stalling the training loop: the flag of a step is
// copied to the host in the background and looked at when the next step but one begins.
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace overflow {

__global__ void count_bad(const float* __restrict__ g, int64_t n, int* __restrict__ bad) {
    int mine = 0;
    for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < n;
         i += int64_t(gridDim.x) * blockDim.x) {
        mine += !isfinite(g[i]);
    }
    if (mine > 0) atomicAdd(bad, mine);
}

class Monitor {
public:
    explicit Monitor(int64_t device) : device_(at::kCUDA, static_cast<c10::DeviceIndex>(device)) {
        const auto pinned = at::TensorOptions().dtype(at::kInt).pinned_memory(true);
        for (Slot& s : slots_) s.host = at::zeros({1}, pinned);
    }

    // Looks at all gradients of a step; work goes to the current stream.
    void watch(const std::vector<at::Tensor>& gradients) {
        const c10::cuda::CUDAGuard guard(device_);
        Slot& slot = slots_[step_ % slots_.size()];
        harvest(slot);
        const at::Tensor bad = at::zeros({1}, at::TensorOptions().dtype(at::kInt).device(device_));
        for (const at::Tensor& g : gradients) scan(g, bad);
        slot.host.copy_(bad, /*non_blocking=*/true);
        slot.landed.record(at::cuda::getCurrentCUDAStream());
        slot.pending = true;
        ++step_;
    }

    // Number of steps with overflow among those looked at so far.
    int64_t bad_steps() const { return bad_steps_; }

    // Waits for the steps that are still under way.
    int64_t flush() {
        for (Slot& s : slots_) harvest(s);
        return bad_steps_;
    }

private:
    struct Slot {
        at::Tensor host;
        at::cuda::CUDAEvent landed;
        bool pending = false;
    };

    void harvest(Slot& slot) {
        if (!slot.pending) return;
        slot.landed.synchronize();
        if (*slot.host.data_ptr<int>() != 0) ++bad_steps_;
        slot.pending = false;
    }

    static void scan(const at::Tensor& gradient, const at::Tensor& bad) {
        TORCH_CHECK(gradient.is_cuda() && gradient.scalar_type() == at::kFloat,
                    "float32 gradients on the GPU expected");
        const at::Tensor g = gradient.contiguous();
        const int64_t n = g.numel();
        if (n == 0) return;
        const unsigned grid = static_cast<unsigned>(std::min<int64_t>((n + 255) / 256, 1024));
        count_bad<<<grid, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
            g.data_ptr<float>(), n, bad.data_ptr<int>());
        C10_CUDA_KERNEL_LAUNCH_CHECK();
    }

    at::Device device_;
    std::array<Slot, 2> slots_;
    size_t step_ = 0;
    int64_t bad_steps_ = 0;
};

}  // namespace overflow

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    py::class_<overflow::Monitor>(m, "Monitor")
        .def(py::init<int64_t>())
        .def("watch", &overflow::Monitor::watch)
        .def("bad_steps", &overflow::Monitor::bad_steps)
        .def("flush", &overflow::Monitor::flush);
}
