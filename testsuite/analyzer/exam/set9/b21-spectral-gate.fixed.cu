// Noise gate for batched spectrograms, exposed to Python as spectral_gate.forward().
//
// spec  : [frames, bins] float32 magnitude spectrogram
// floor : [bins]         float32 estimate of the noise floor
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

#include <algorithm>
#include <cstdint>

namespace spectral_gate {

struct LaunchShape {
    dim3 grid{1};
    dim3 block{256};
    size_t smem = 0;
    cudaStream_t stream = at::cuda::getCurrentCUDAStream();
};

// One thread per element, capped to a few waves; the kernels use grid-stride loops.
static LaunchShape shape_for(int64_t count) {
    LaunchShape s;
    const int64_t wanted = (count + s.block.x - 1) / s.block.x;
    const int64_t cap = 8ll * at::cuda::getCurrentDeviceProperties()->multiProcessorCount;
    s.grid = dim3(static_cast<unsigned>(std::max<int64_t>(1, std::min(wanted, cap))));
    return s;
}

__global__ void gate_kernel(const float* __restrict__ spec,
                            const float* __restrict__ frame_energy,
                            const float* __restrict__ floor,
                            float* __restrict__ out,
                            int64_t frames,
                            int64_t bins,
                            float knee) {
    const int64_t total = frames * bins;
    for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < total;
         i += int64_t(gridDim.x) * blockDim.x) {
        const float e = frame_energy[i / bins];
        const float margin = spec[i] - floor[i % bins];
        const float gain = margin > 0.f ? margin / (margin + knee * e) : 0.f;
        out[i] = gain * spec[i];
    }
}

static void check_inputs(const at::Tensor& spec, const at::Tensor& floor) {
    TORCH_CHECK(spec.is_cuda() && floor.is_cuda(), "inputs must live on the GPU");
    TORCH_CHECK(spec.dim() == 2, "spec must be [frames, bins]");
    TORCH_CHECK(floor.dim() == 1 && floor.size(0) == spec.size(1), "floor must be [bins]");
    TORCH_CHECK(spec.scalar_type() == at::kFloat && floor.scalar_type() == at::kFloat,
                "float32 only");
}

static void launch_gate(const at::Tensor& spec,
                        const at::Tensor& energy,
                        const at::Tensor& floor,
                        at::Tensor& out,
                        float knee) {
    const LaunchShape s = shape_for(spec.numel());
    gate_kernel<<<s.grid, s.block, s.smem, s.stream>>>(
        spec.data_ptr<float>(), energy.data_ptr<float>(), floor.data_ptr<float>(),
        out.data_ptr<float>(), spec.size(0), spec.size(1), knee);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}

at::Tensor forward(const at::Tensor& spec_in, const at::Tensor& floor_in, double knee) {
    check_inputs(spec_in, floor_in);
    const c10::cuda::CUDAGuard device_guard(spec_in.device());

    const at::Tensor spec = spec_in.contiguous();
    const at::Tensor floor = floor_in.contiguous();
    const at::Tensor energy = spec.square().mean(/*dim=*/1).sqrt_();
    at::Tensor out = at::empty_like(spec);
    if (spec.numel() == 0) {
        return out;
    }
    launch_gate(spec, energy, floor, out, static_cast<float>(knee));

    // Frames without any energy above the knee are silenced completely.
    const at::Tensor keep = energy.gt(1e-6).unsqueeze(1);
    return out.mul_(keep);
}

}  // namespace spectral_gate

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &spectral_gate::forward, "spectral noise gate", py::arg("spec"),
          py::arg("floor"), py::arg("knee") = 0.5);
}
