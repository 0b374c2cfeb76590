// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stream-ordered allocation. Compiled twice, see kDefaultStream in call.h.
//
// As all work is done at the call, memory is there and gone at the call. Memory of a graph is there from the capture of
// its allocation on, and stays: a free node does nothing.

#include "testsuite/nulldriver/pool.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace streamsan::null {
namespace {

/// Without a pool: from the current one of the stream's device.
CUresult allocate_from(CUdeviceptr* out, std::size_t bytes, std::optional<CUmemoryPool> wanted, CUstream handle) {
  CUstream stream = nullptr;
  if (const CUresult refused = resolve_for_work(handle, kDefaultStream, &stream); refused != CUDA_SUCCESS)
    return refused;
  if (stream->capture && stream->capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (const CUresult refused = stream->capture ? CUDA_SUCCESS : check_unsafe(); refused != CUDA_SUCCESS) return refused;
  CUmemoryPool pool = wanted ? *wanted : current_pool(stream->context->device);
  if (!state().pools.alive(pool)) return CUDA_ERROR_INVALID_HANDLE;
  const std::uintptr_t base = allocate(pool_heap(pool->device), bytes, MemoryKind::Pool, 0, stream->context);
  if (base == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  Allocation& allocation = allocations().at(base);
  allocation.pool = pool;
  allocation.device = pool->device;
  pool->used += bytes;
  pool->used_high = std::max(pool->used_high, pool->used);
  *out = base;
  if (!stream->capture) return CUDA_SUCCESS;
  NodeParameters node;
  node.allocation.bytesize = bytes;
  node.allocation.dptr = base;
  return add_captured(stream, CU_GRAPH_NODE_TYPE_MEM_ALLOC, {}, std::move(node));
}

}  // namespace
}  // namespace streamsan::null

using namespace streamsan::null;

SS_EXPORT cuMemAllocAsync(CUdeviceptr* out, size_t bytes, CUstream stream) {
  SS_CALL(cuMemAllocAsync);
  if (out == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  return allocate_from(out, bytes, std::nullopt, stream);
}

SS_EXPORT cuMemAllocFromPoolAsync(CUdeviceptr* out, size_t bytes, CUmemoryPool pool, CUstream stream) {
  SS_CALL(cuMemAllocFromPoolAsync);
  if (out == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  return allocate_from(out, bytes, pool, stream);
}

/// Also takes classic allocations, as the driver does.
SS_EXPORT cuMemFreeAsync(CUdeviceptr pointer, CUstream handle) {
  SS_CALL(cuMemFreeAsync);
  const Lock lock = lock_state();
  CUstream stream = nullptr;
  if (const CUresult refused = resolve_for_work(handle, kDefaultStream, &stream); refused != CUDA_SUCCESS)
    return refused;
  if (stream->capture) {
    NodeParameters node;
    node.freed = pointer;
    return add_captured(stream, CU_GRAPH_NODE_TYPE_MEM_FREE, {}, std::move(node));
  }
  if (pointer == 0) return CUDA_SUCCESS;
  const auto found = allocations().find(pointer);
  if (found == allocations().end()) return CUDA_ERROR_INVALID_VALUE;
  if (found->second.kind != MemoryKind::Pool && found->second.kind != MemoryKind::Device) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  release(found);
  return CUDA_SUCCESS;
}
