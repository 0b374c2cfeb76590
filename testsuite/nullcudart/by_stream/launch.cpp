// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernel launches and host functions. Compiled twice, see runtime.h.
//
// `kernel<<<...>>>(...)` becomes __cudaGetKernel, __cudaPushCallConfiguration, __cudaPopCallConfiguration and
// __cudaLaunchKernel since CUDA 13, cudaLaunchKernel before. A CUkernel goes to the launch functions of the driver cast
// to CUfunction, which they accept.
//
// The driver would launch a CUkernel in a stream of any device; the runtime refuses streams of other devices than the
// current one. While no thread has left device 0 there is nothing to ask.

#include "testsuite/nullcudart/runtime.h"

namespace {

CUfunction as_function(CUkernel kernel) { return reinterpret_cast<CUfunction>(kernel); }

cudaError_t check_device_of(cudaStream_t stream) {
  if (!streamsan::nullcudart::several_devices()) return cudaSuccess;
  if (const cudaError_t unready = streamsan::nullcudart::prepare(); unready != cudaSuccess) return unready;
  int here = 0;
  int there = 0;
  CUresult unknown = streamsan::nullcudart::entries().cuCtxGetDevice(&here);
  if (unknown == CUDA_SUCCESS) unknown = streamsan::nullcudart::entries().cuStreamGetDevice(stream, &there);
  if (unknown != CUDA_SUCCESS) return static_cast<cudaError_t>(unknown);
  return here == there ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

/// The kernel, if it can be launched in the stream.
cudaError_t find_kernel(const void* function, cudaStream_t stream, CUkernel* kernel) {
  const cudaError_t failed = streamsan::nullcudart::kernel_of(function, kernel);
  return failed != cudaSuccess ? failed : check_device_of(stream);
}

}  // namespace

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define NC_LAUNCH __cudaLaunchKernel_ptsz
#else
#define NC_LAUNCH __cudaLaunchKernel
#endif

NC_EXPORT NC_LAUNCH(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream) {
  if (const cudaError_t failed = check_device_of(stream); failed != cudaSuccess) {
    return streamsan::nullcudart::remember(failed);
  }
  NC_RETURN(cuLaunchKernel(as_function(kernel), grid.x, grid.y, grid.z, block.x, block.y, block.z,
                           static_cast<unsigned>(shared), stream, arguments, nullptr));
}

NC_EXPORT cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                           cudaStream_t stream) {
  CUkernel kernel = nullptr;
  if (const cudaError_t failed = find_kernel(function, stream, &kernel); failed != cudaSuccess) {
    return streamsan::nullcudart::remember(failed);
  }
  NC_RETURN(cuLaunchKernel(as_function(kernel), grid.x, grid.y, grid.z, block.x, block.y, block.z,
                           static_cast<unsigned>(shared), stream, arguments, nullptr));
}

NC_EXPORT cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                                      cudaStream_t stream) {
  CUkernel kernel = nullptr;
  if (const cudaError_t failed = find_kernel(function, stream, &kernel); failed != cudaSuccess) {
    return streamsan::nullcudart::remember(failed);
  }
  NC_RETURN(cuLaunchCooperativeKernel(as_function(kernel), grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                      static_cast<unsigned>(shared), stream, arguments));
}

NC_EXPORT cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  CUkernel kernel = nullptr;
  if (const cudaError_t failed = find_kernel(function, config->stream, &kernel); failed != cudaSuccess) {
    return streamsan::nullcudart::remember(failed);
  }
  // The attributes of both interfaces have the same numbers and layout.
  CUlaunchConfig driver_config{};
  driver_config.gridDimX = config->gridDim.x;
  driver_config.gridDimY = config->gridDim.y;
  driver_config.gridDimZ = config->gridDim.z;
  driver_config.blockDimX = config->blockDim.x;
  driver_config.blockDimY = config->blockDim.y;
  driver_config.blockDimZ = config->blockDim.z;
  driver_config.sharedMemBytes = static_cast<unsigned>(config->dynamicSmemBytes);
  driver_config.hStream = config->stream;
  driver_config.attrs = reinterpret_cast<CUlaunchAttribute*>(config->attrs);
  driver_config.numAttrs = config->numAttrs;
  NC_RETURN(cuLaunchKernelEx(&driver_config, as_function(kernel), arguments, nullptr));
}

NC_EXPORT cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  NC_RETURN(cuLaunchHostFunc(stream, function, data));
}
