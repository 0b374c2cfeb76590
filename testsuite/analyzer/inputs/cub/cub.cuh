// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../cuda_runtime.h"

namespace cub {
struct DeviceReduce {
  template <typename In, typename Out, typename N>
  static cudaError_t Sum(void* d_temp_storage, size_t& temp_storage_bytes, In d_in, Out d_out, N num_items,
                         cudaStream_t stream = nullptr);
  template <typename In, typename Out, typename N>
  static cudaError_t Max(void* d_temp_storage, size_t& temp_storage_bytes, In d_in, Out d_out, N num_items,
                         cudaStream_t stream = nullptr);
};
struct DeviceScan {
  template <typename In, typename Out, typename N>
  static cudaError_t ExclusiveSum(void* d_temp_storage, size_t& temp_storage_bytes, In d_in, Out d_out, N num_items,
                                  cudaStream_t stream = nullptr);
  template <typename In, typename Out, typename N>
  static cudaError_t InclusiveSum(void* d_temp_storage, size_t& temp_storage_bytes, In d_in, Out d_out, N num_items,
                                  cudaStream_t stream = nullptr);
};
struct DeviceRadixSort {
  template <typename K, typename N>
  static cudaError_t SortKeys(void* d_temp_storage, size_t& temp_storage_bytes, const K* d_keys_in, K* d_keys_out,
                              N num_items, int begin_bit = 0, int end_bit = sizeof(K) * 8,
                              cudaStream_t stream = nullptr);
  template <typename K, typename V, typename N>
  static cudaError_t SortPairs(void* d_temp_storage, size_t& temp_storage_bytes, const K* d_keys_in, K* d_keys_out,
                               const V* d_values_in, V* d_values_out, N num_items, int begin_bit = 0,
                               int end_bit = sizeof(K) * 8, cudaStream_t stream = nullptr);
};
struct DeviceSelect {
  template <typename In, typename Flags, typename Out, typename Count, typename N>
  static cudaError_t Flagged(void* d_temp_storage, size_t& temp_storage_bytes, In d_in, Flags d_flags, Out d_out,
                             Count d_num_selected_out, N num_items, cudaStream_t stream = nullptr);
};
template <typename T, int kThreads>
struct BlockReduce {
  struct TempStorage {};
  __device__ explicit BlockReduce(TempStorage& storage);
  __device__ T Sum(T value);
};
}  // namespace cub
