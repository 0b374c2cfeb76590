// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../cuda_runtime.h"

namespace thrust {
namespace cuda_cub {
struct execute_on_stream {
  explicit execute_on_stream(cudaStream_t stream);
};
struct execute_on_stream_nosync {
  explicit execute_on_stream_nosync(cudaStream_t stream);
};
struct par_t {
  execute_on_stream on(const cudaStream_t& stream) const;
};
struct par_nosync_t {
  execute_on_stream_nosync on(const cudaStream_t& stream) const;
};
static const par_t par{};
static const par_nosync_t par_nosync{};
}  // namespace cuda_cub
namespace cuda {
using cuda_cub::par;
using cuda_cub::par_nosync;
}  // namespace cuda
}  // namespace thrust
