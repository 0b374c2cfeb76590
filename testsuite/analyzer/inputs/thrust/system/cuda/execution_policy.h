// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../../../cuda_runtime.h"

namespace thrust {
namespace detail {
template <typename Derived>
struct execution_policy_base {};
template <typename Allocator, template <typename> class Base>
struct execute_with_allocator : Base<execute_with_allocator<Allocator, Base>> {};
template <template <typename> class Base>
struct allocator_aware_execution_policy {
  template <typename Allocator>
  execute_with_allocator<Allocator&, Base> operator()(Allocator& allocator) const;
};
}  // namespace detail
namespace cuda_cub {
template <typename Derived>
struct execution_policy : detail::execution_policy_base<Derived> {};
template <typename Derived>
struct execute_on_stream_base : execution_policy<Derived> {
  Derived on(const cudaStream_t& stream) const;
};
template <typename Derived>
struct execute_on_stream_nosync_base : execution_policy<Derived> {
  Derived on(const cudaStream_t& stream) const;
};
struct execute_on_stream : execute_on_stream_base<execute_on_stream> {
  explicit execute_on_stream(cudaStream_t stream);
};
struct execute_on_stream_nosync : execute_on_stream_nosync_base<execute_on_stream_nosync> {
  explicit execute_on_stream_nosync(cudaStream_t stream);
};
struct par_t : execution_policy<par_t>, detail::allocator_aware_execution_policy<execute_on_stream_base> {
  execute_on_stream on(const cudaStream_t& stream) const;
};
struct par_nosync_t : execution_policy<par_nosync_t>,
                      detail::allocator_aware_execution_policy<execute_on_stream_nosync_base> {
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
