// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/poison.h"

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <cstring>

#include "interposer/driver.h"
#include "interposer/fork.h"
#include "interposer/handle_table.h"
#include "interposer/learning.h"
#include "interposer/process.h"
#include "trace/format.h"

namespace streamsan::recorder {

namespace detail {
// A fork keeps g_poison: an option.
constinit std::atomic<bool> g_poison{false};
}  // namespace detail

namespace {

using ordering::MemoryKind;

/// First address -> size in bytes, and the MemoryKind in the upper eight bits.
constinit HandleTable<std::uint64_t, 1u << 16> g_live{};
constexpr unsigned kKindShift = 56;

struct Live {
  std::uint64_t bytes = 0;  ///< 0: not known
  MemoryKind kind = MemoryKind::Device;
};

/// What is known of the allocation, which is forgotten now: as soon as the driver has it back another thread may be
/// given the address.
Live take(std::uint64_t address) {
  auto* entry = address > 1 ? g_live.find(address) : nullptr;
  if (!entry) return {};
  const std::uint64_t word = entry->value.load(std::memory_order_relaxed);
  g_live.erase(address);
  return {word & ((std::uint64_t{1} << kKindShift) - 1), static_cast<MemoryKind>(word >> kKindShift)};
}

template <class Value>
bool ask_pointer(std::uint64_t address, CUpointer_attribute which, Value& value) {
  auto ask = SS_DRIVER(cuPointerGetAttribute);
  return ask && ask(static_cast<void*>(&value), which, address) == CUDA_SUCCESS;
}

/// May work in the current context write to this memory of the device, so that a fill cannot fault? A fault would be
/// the end of the context. `managed`: pages may be anywhere.
bool is_in_reach(std::uint64_t address, bool managed) {
  auto ask_device = SS_DRIVER(cuCtxGetDevice);
  CUdevice device = 0;
  if (!ask_device || ask_device(&device) != CUDA_SUCCESS) return false;
  if (managed) {
    auto ask = SS_DRIVER(cuDeviceGetAttribute);
    int concurrent = 0;
    return ask && ask(&concurrent, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, device) == CUDA_SUCCESS && concurrent;
  }
  // Stream-ordered memory belongs to a device, other memory to a context.
  CUcontext owner = nullptr;
  if (ask_pointer(address, CU_POINTER_ATTRIBUTE_CONTEXT, owner) && owner &&
      reinterpret_cast<std::uint64_t>(owner) != current_context())
    return false;
  int home = -1;
  return ask_pointer(address, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, home) && home == device;
}

/// Is the stream one of the current context?
bool is_of_current_context(StreamArgument stream) {
  if (stream.handle <= trace::kPerThreadStream) return true;
  auto ask = SS_DRIVER(cuStreamGetCtx);
  CUcontext context = nullptr;
  return ask && ask(reinterpret_cast<CUstream>(stream.handle), &context) == CUDA_SUCCESS &&
         reinterpret_cast<std::uint64_t>(context) == current_context();
}

bool submit_fill(std::uint64_t address, std::uint64_t bytes, CUstream stream) {
  auto fill = SS_DRIVER(cuMemsetD8Async);
  return fill && fill(address, kPoison, bytes, stream) == CUDA_SUCCESS;
}

void fill_in_stream(std::uint64_t address, std::uint64_t bytes, StreamArgument stream) {
  if (!stream.handle || !is_of_current_context(stream) || is_being_captured(stream)) return;
  submit_fill(address, bytes, reinterpret_cast<CUstream>(stream.handle));
}

/// The fill is done on return; nothing else was waited for.
void fill_now(std::uint64_t address, std::uint64_t bytes) {
  // Among what a capture may forbid other threads.
  if (any_capture()) return;
  auto create = SS_DRIVER(cuStreamCreate);
  auto wait = SS_DRIVER(cuStreamSynchronize);
  auto destroy = SS_DRIVER(cuStreamDestroy_v2);
  CUstream own = nullptr;
  if (!create || !wait || !destroy || create(&own, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS) return;
  if (submit_fill(address, bytes, own)) wait(own);
  destroy(own);
}

}  // namespace

void start_poisoning() {
  detail::g_poison.store(options().poison != 0, std::memory_order_relaxed);
  if (!poisoning()) return;
  for (std::size_t row :
       {api::Index::cuPointerGetAttribute, api::Index::cuCtxGetDevice, api::Index::cuDeviceGetAttribute,
        api::Index::cuStreamGetCtx, api::Index::cuStreamIsCapturing, api::Index::cuMemsetD8Async})
    driver_entry(row);
}

void allocated(std::uint64_t address, std::uint64_t bytes, MemoryKind kind, StreamArgument stream) {
  if (address <= 1 || !bytes || bytes >> kKindShift) return;
  if (kind == MemoryKind::DeviceAsync) {
    // An allocation of a graph: it exists when the graph runs.
    if (!stream.handle || is_being_captured(stream)) return not_ours(address);
    if (is_in_reach(address, false)) fill_in_stream(address, bytes, stream);
  }
  if (auto* entry = g_live.insert(address))
    entry->value.store(bytes | static_cast<std::uint64_t>(kind) << kKindShift, std::memory_order_relaxed);
}

void not_ours(std::uint64_t address) { take(address); }

void poison_before_free(std::uint64_t address) {
  const Live live = take(address);
  if (!live.bytes || live.kind == MemoryKind::Pinned) return;
  if (is_in_reach(address, live.kind == MemoryKind::Managed)) fill_now(address, live.bytes);
}

void poison_before_free_async(std::uint64_t address, StreamArgument stream) {
  const Live live = take(address);
  if (!live.bytes || live.kind == MemoryKind::Pinned || live.kind == MemoryKind::Managed) return;
  if (is_in_reach(address, false)) fill_in_stream(address, live.bytes, stream);
}

void poison_before_free_host(std::uint64_t address) {
  const Live live = take(address);
  if (live.bytes && live.kind == MemoryKind::Pinned)
    std::memset(reinterpret_cast<void*>(address), kPoison, static_cast<std::size_t>(live.bytes));
}

void poison_block(std::uint64_t address, std::uint64_t bytes, StreamArgument stream) {
  if (!bytes) return;
  unsigned managed = 0;
  unsigned type = 0;
  if (!ask_pointer(address, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, type)) return;  // memory CUDA does not know
  if (!ask_pointer(address, CU_POINTER_ATTRIBUTE_IS_MANAGED, managed)) managed = 0;
  if (type != CU_MEMORYTYPE_HOST && !is_in_reach(address, managed != 0)) return;
  if (stream.handle) {
    fill_in_stream(address, bytes, stream);
  } else if (type == CU_MEMORYTYPE_HOST) {
    std::memset(reinterpret_cast<void*>(address), kPoison, static_cast<std::size_t>(bytes));
  } else {
    fill_now(address, bytes);
  }
}

void forget_poison() {
  if (poisoning()) g_live.clear();
}

void in_child::poison() { forget_poison(); }

}  // namespace streamsan::recorder
