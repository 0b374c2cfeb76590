// Gradient evaluation for regularised tomographic reconstruction.
//
// Data term and smoothness term are evaluated by two kernels on two streams
// that share one gradient volume.  Kernels are compiled at run time because
// the detector geometry is baked in as constants.

#include <cuda.h>
#include <nvrtc.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace {

void drv(CUresult r, const char* what) {
  if (r == CUDA_SUCCESS) return;
  const char* text = nullptr;
  cuGetErrorString(r, &text);
  throw std::runtime_error(std::string(what) + ": " + (text ? text : "?"));
}
#define DRV(x) drv((x), #x)

const char* const kSource = R"cuda(
extern "C" __global__ void data_term(const float* residual, const float* weight, float* grad, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) grad[i] += RAY_SCALE * residual[i] * weight[i];
}
extern "C" __global__ void smooth_term(const float* volume, float* grad, int n, float lambda) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i + 1 < n) grad[i] += lambda * (2.0f * volume[i] - volume[i - 1] - volume[i + 1]);
}
extern "C" __global__ void descend(float* volume, const float* grad, int n, float step) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) volume[i] -= step * grad[i];
}
)cuda";

std::vector<char> compile(const std::string& ray_scale) {
  nvrtcProgram program;
  if (nvrtcCreateProgram(&program, kSource, "tomo.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS)
    throw std::runtime_error("nvrtcCreateProgram");
  const std::string define = "-DRAY_SCALE=" + ray_scale;
  const char* options[] = {"--gpu-architecture=compute_80", define.c_str()};
  if (nvrtcCompileProgram(program, 2, options) != NVRTC_SUCCESS) throw std::runtime_error("nvrtcCompileProgram");
  size_t size = 0;
  nvrtcGetPTXSize(program, &size);
  std::vector<char> ptx(size);
  nvrtcGetPTX(program, ptx.data());
  nvrtcDestroyProgram(&program);
  return ptx;
}

}  // namespace

// All device buffers belong to the solver; the context must be current.
class GradientSolver {
 public:
  GradientSolver(int voxels, float lambda) : n_(voxels), lambda_(lambda) {
    const std::vector<char> ptx = compile("0.5f");
    DRV(cuModuleLoadData(&module_, ptx.data()));
    DRV(cuModuleGetFunction(&data_term_, module_, "data_term"));
    DRV(cuModuleGetFunction(&smooth_term_, module_, "smooth_term"));
    DRV(cuModuleGetFunction(&descend_, module_, "descend"));
    DRV(cuStreamCreate(&main_, CU_STREAM_NON_BLOCKING));
    DRV(cuStreamCreate(&side_, CU_STREAM_NON_BLOCKING));
    DRV(cuEventCreate(&cleared_, CU_EVENT_DISABLE_TIMING));
    DRV(cuEventCreate(&smoothed_, CU_EVENT_DISABLE_TIMING));
    for (CUdeviceptr* p : {&volume_, &grad_, &residual_, &weight_}) DRV(cuMemAlloc(p, bytes()));
    for (CUdeviceptr p : {volume_, residual_, weight_}) DRV(cuMemsetD32Async(p, 0, n_, main_));
  }

  ~GradientSolver() {
    cuStreamSynchronize(side_);
    cuStreamSynchronize(main_);
    for (CUdeviceptr p : {volume_, grad_, residual_, weight_}) cuMemFree(p);
    cuEventDestroy(cleared_);
    cuEventDestroy(smoothed_);
    cuStreamDestroy(side_);
    cuStreamDestroy(main_);
    cuModuleUnload(module_);
  }
  GradientSolver(const GradientSolver&) = delete;
  GradientSolver& operator=(const GradientSolver&) = delete;

  // Blocks until the measurements have been taken over.
  void set_measurements(const std::vector<float>& residual, const std::vector<float>& weight) {
    DRV(cuMemcpyHtoDAsync(residual_, residual.data(), bytes(), main_));
    DRV(cuMemcpyHtoDAsync(weight_, weight.data(), bytes(), main_));
    DRV(cuStreamSynchronize(main_));
  }

  void iterate(float step) {
    DRV(cuMemsetD32Async(grad_, 0, n_, main_));
    DRV(cuEventRecord(cleared_, main_));
    add_smoothness();
    DRV(cuStreamWaitEvent(main_, smoothed_, 0));
    add_data();
    void* args[] = {&volume_, &grad_, &n_, &step};
    launch(descend_, main_, args);
  }

  std::vector<float> volume() {
    std::vector<float> host(n_);
    DRV(cuMemcpyDtoHAsync(host.data(), volume_, bytes(), main_));
    DRV(cuStreamSynchronize(main_));
    return host;
  }

 private:
  size_t bytes() const { return static_cast<size_t>(n_) * sizeof(float); }

  void launch(CUfunction f, CUstream s, void** args) {
    DRV(cuLaunchKernel(f, (n_ + 255) / 256, 1, 1, 256, 1, 1, 0, s, args, nullptr));
  }

  void add_smoothness() {
    DRV(cuStreamWaitEvent(side_, cleared_, 0));
    void* args[] = {&volume_, &grad_, &n_, &lambda_};
    launch(smooth_term_, side_, args);
    DRV(cuEventRecord(smoothed_, side_));
  }

  void add_data() {
    void* args[] = {&residual_, &weight_, &grad_, &n_};
    launch(data_term_, main_, args);
  }

  int n_;
  float lambda_;
  CUmodule module_ = nullptr;
  CUfunction data_term_ = nullptr, smooth_term_ = nullptr, descend_ = nullptr;
  CUstream main_ = nullptr, side_ = nullptr;
  CUevent cleared_ = nullptr, smoothed_ = nullptr;
  CUdeviceptr volume_ = 0, grad_ = 0, residual_ = 0, weight_ = 0;
};
