// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernel launches. Compiled twice, see kDefaultStream in call.h.
//
// A kernel does nothing, unless a test registered a body for its name (code.h). Limits of a launch are checked as a
// device of compute capability 9.0 would. A function of a module runs in the streams of its context only, a kernel of a
// library in the stream it is given. A launch that is captured keeps a copy of its arguments (graph_nodes.h).

#include "testsuite/nulldriver/code.h"
#include "testsuite/nulldriver/graph_nodes.h"

#include <utility>

namespace streamsan::null {
namespace {

struct Extents {
  unsigned grid[3];
  unsigned block[3];
};

bool valid(const Extents& extents) {
  constexpr unsigned kGrid[] = {0x7fffffff, 65535, 65535};
  constexpr unsigned kBlock[] = {1024, 1024, 64};
  unsigned threads = 1;
  for (int i = 0; i < 3; ++i) {
    if (extents.grid[i] == 0 || extents.grid[i] > kGrid[i]) return false;
    if (extents.block[i] == 0 || extents.block[i] > kBlock[i]) return false;
    threads *= extents.block[i];
  }
  return threads <= 1024;
}

CUresult launch(CUfunction function, const Extents& extents, CUstream handle, void** parameters, void** extra) {
  KernelBody body = nullptr;
  CUstream stream = nullptr;
  {
    const Lock lock = lock_state();
    Code* code = nullptr;
    std::string name;
    if (const CUresult unknown = find_function(function, &code, &name); unknown != CUDA_SUCCESS) return unknown;
    if (!valid(extents) || (parameters != nullptr && extra != nullptr)) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult refused = resolve_for_work(handle, kDefaultStream, &stream); refused != CUDA_SUCCESS) {
      return refused;
    }
    if (CUcontext home = home_of(function); home != nullptr && home != stream->context) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
    body = body_of(name);
    if (body != nullptr && extra != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
    if (stream->capture) {
      Work work;
      NodeParameters node;
      node.kernel = {.func = function,
                     .gridDimX = extents.grid[0],
                     .gridDimY = extents.grid[1],
                     .gridDimZ = extents.grid[2],
                     .blockDimX = extents.block[0],
                     .blockDimY = extents.block[1],
                     .blockDimZ = extents.block[2],
                     .kernelParams = parameters};
      if (const CUresult refused = plan_kernel(node, &work); refused != CUDA_SUCCESS) return refused;
      return add_captured(stream, CU_GRAPH_NODE_TYPE_KERNEL, std::move(work), std::move(node));
    }
  }
  submitted(stream);
  if (body != nullptr) body(parameters);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace streamsan::null

using namespace streamsan::null;

SS_EXPORT cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                         unsigned block_y, unsigned block_z, unsigned, CUstream stream, void** parameters,
                         void** extra) {
  SS_CALL(cuLaunchKernel);
  return launch(function, {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}}, stream, parameters, extra);
}

SS_EXPORT cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                    unsigned block_x, unsigned block_y, unsigned block_z, unsigned, CUstream stream,
                                    void** parameters) {
  SS_CALL(cuLaunchCooperativeKernel);
  return launch(function, {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}}, stream, parameters, nullptr);
}

SS_EXPORT cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
  SS_CALL(cuLaunchKernelEx);
  if (config == nullptr || (config->numAttrs != 0 && config->attrs == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  return launch(function,
                {{config->gridDimX, config->gridDimY, config->gridDimZ},
                 {config->blockDimX, config->blockDimY, config->blockDimZ}},
                config->hStream, parameters, extra);
}
