// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../thrust/execution_policy.h"
#include "mr/device/per_device_resource.hpp"

namespace rmm {
class exec_policy : public thrust::cuda_cub::execution_policy<exec_policy> {
 public:
  explicit exec_policy(cuda_stream_view stream = cuda_stream_default,
                       device_async_resource_ref mr = mr::get_current_device_resource_ref());
};
class exec_policy_nosync : public thrust::cuda_cub::execution_policy<exec_policy_nosync> {
 public:
  explicit exec_policy_nosync(cuda_stream_view stream = cuda_stream_default,
                              device_async_resource_ref mr = mr::get_current_device_resource_ref());
};
}  // namespace rmm
