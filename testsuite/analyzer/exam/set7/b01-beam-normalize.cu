// Delay-and-sum beamformer, exposed to Python as sonar_ops.beamform().
#include <torch/extension.h>

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

#include <vector>

namespace sonar {

constexpr int kBlock = 256;

template <typename scalar_t>
__global__ void delaySumKernel(const scalar_t* __restrict__ samples,
                               const int* __restrict__ delays,
                               scalar_t* __restrict__ beams,
                               int sensors, int beamCount, int samplesPerSensor) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  const int b = blockIdx.y;
  if (t >= samplesPerSensor || b >= beamCount) return;
  scalar_t acc = 0;
  for (int s = 0; s < sensors; ++s) {
    const int shifted = t + delays[b * sensors + s];
    if (shifted >= 0 && shifted < samplesPerSensor)
      acc += samples[s * samplesPerSensor + shifted];
  }
  beams[b * samplesPerSensor + t] = acc;
}

template <typename scalar_t>
__global__ void applyTaperKernel(scalar_t* __restrict__ beams,
                                 const scalar_t* __restrict__ taper,
                                 int beamCount, int samplesPerSensor) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  const int b = blockIdx.y;
  if (t >= samplesPerSensor || b >= beamCount) return;
  beams[b * samplesPerSensor + t] *= taper[b];
}

struct BeamShape {
  int sensors;
  int beams;
  int samples;

  dim3 grid() const { return dim3((samples + kBlock - 1) / kBlock, beams); }
};

static BeamShape checkInputs(const at::Tensor& samples, const at::Tensor& delays,
                             const at::Tensor& taper) {
  TORCH_CHECK(samples.is_cuda() && delays.is_cuda() && taper.is_cuda(),
              "beamform: all inputs must live on the GPU");
  TORCH_CHECK(samples.dim() == 2 && delays.dim() == 2, "beamform: expected matrices");
  TORCH_CHECK(delays.scalar_type() == at::kInt, "beamform: delays must be int32");
  TORCH_CHECK(taper.numel() == delays.size(0), "beamform: one taper value per beam");
  return BeamShape{static_cast<int>(samples.size(0)), static_cast<int>(delays.size(0)),
                   static_cast<int>(samples.size(1))};
}

static void launchBeams(const at::Tensor& samples, const at::Tensor& delays,
                        const at::Tensor& taper, at::Tensor& beams, const BeamShape& shape) {
  const cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  AT_DISPATCH_FLOATING_TYPES(samples.scalar_type(), "beamform", [&] {
    delaySumKernel<scalar_t><<<shape.grid(), kBlock, 0, stream>>>(
        samples.data_ptr<scalar_t>(), delays.data_ptr<int>(), beams.data_ptr<scalar_t>(),
        shape.sensors, shape.beams, shape.samples);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    applyTaperKernel<scalar_t><<<shape.grid(), kBlock>>>(
        beams.data_ptr<scalar_t>(), taper.data_ptr<scalar_t>(), shape.beams, shape.samples);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  });
}

at::Tensor beamform(const at::Tensor& samplesIn, const at::Tensor& delaysIn,
                    const at::Tensor& taperIn) {
  const c10::cuda::CUDAGuard guard(samplesIn.device());
  const at::Tensor samples = samplesIn.contiguous();
  const at::Tensor delays = delaysIn.contiguous();
  const at::Tensor taper = taperIn.to(samples.scalar_type()).contiguous();
  const BeamShape shape = checkInputs(samples, delays, taper);

  at::Tensor beams = at::empty({shape.beams, shape.samples}, samples.options());
  launchBeams(samples, delays, taper, beams, shape);
  return beams;
}

std::vector<at::Tensor> beamformWithPower(const at::Tensor& samples, const at::Tensor& delays,
                                          const at::Tensor& taper) {
  at::Tensor beams = beamform(samples, delays, taper);
  at::Tensor power = beams.square().mean(1);
  return {beams, power};
}

}  // namespace sonar

PYBIND11_MODULE(sonar_ops, m) {
  m.def("beamform", &sonar::beamform, "Delay-and-sum beamformer (CUDA)");
  m.def("beamform_with_power", &sonar::beamformWithPower, "Beams and their mean power");
}
