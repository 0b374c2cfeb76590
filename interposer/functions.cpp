// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/functions.h"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include "interposer/driver.h"
#include "interposer/footprints/agent.h"
#include "interposer/fork.h"
#include "interposer/handle_table.h"
#include "interposer/hot.h"
#include "interposer/process.h"
#include "interposer/writer.h"

namespace streamsan::recorder {
namespace {

constexpr unsigned kMostParameters = 1024;
constexpr std::size_t kLongestName = kStreamSanLongestName;

constinit HandleTable<const Function*, 1u << 17> g_functions{};
/// A cache in front of the table; the handle chooses the place.
constexpr std::size_t kRecent = 256;
STREAMSAN_HOT_TABLE constinit std::atomic<const Function*> g_recent[kRecent] = {};
constinit HandleTable<std::uint32_t, 1u << 17> g_kernels{};  // handles that are CUkernel
// A fork keeps g_next_id, g_unloads: they only count up. And g_warned_no_layout: the driver is the same. And block,
// used: the memory is the child's own copy.
constinit std::atomic<std::uint32_t> g_next_id{1};
STREAMSAN_HOT_DATA constinit std::atomic<std::uint32_t> g_unloads{0};
constinit std::atomic<bool> g_warned_no_layout{false};

constinit std::atomic<bool> g_arena_busy{false};

/// Bump allocator; what it gives is never returned, because function descriptions live as long as the process. Needed
/// once for each kernel, so a spinning lock will do; its holder takes no other.
void* arena(std::size_t bytes) {
  constexpr std::size_t kBlock = std::size_t{1} << 20;
  static constinit char* block = nullptr;
  static constinit std::size_t used = kBlock;
  bytes = (bytes + 15) & ~std::size_t{15};
  while (g_arena_busy.exchange(true, std::memory_order_acquire)) sched_yield();
  void* given = nullptr;
  if (used + bytes > kBlock) {
    void* fresh = mmap(nullptr, kBlock, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fresh != MAP_FAILED) {
      block = static_cast<char*>(fresh);
      used = 0;
    }
  }
  if (used + bytes <= kBlock) {
    given = block + used;
    used += bytes;
  }
  g_arena_busy.store(false, std::memory_order_release);
  return given;
}

bool parameter_info(std::uint64_t handle, bool is_kernel, std::size_t index, Parameter& out) {
  std::size_t offset = 0;
  std::size_t size = 0;
  CUresult result = CUDA_ERROR_NOT_FOUND;
  if (is_kernel) {
    if (auto get = SS_DRIVER(cuKernelGetParamInfo))
      result = get(reinterpret_cast<CUkernel>(handle), index, &offset, &size);
  } else {
    if (auto get = SS_DRIVER(cuFuncGetParamInfo))
      result = get(reinterpret_cast<CUfunction>(handle), index, &offset, &size);
  }
  out = {static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(size)};
  return result == CUDA_SUCCESS;
}

const char* function_name(std::uint64_t handle, bool is_kernel) {
  const char* name = nullptr;
  CUresult result = CUDA_ERROR_NOT_FOUND;
  if (is_kernel) {
    if (auto get = SS_DRIVER(cuKernelGetName)) result = get(&name, reinterpret_cast<CUkernel>(handle));
  } else {
    if (auto get = SS_DRIVER(cuFuncGetName)) result = get(&name, reinterpret_cast<CUfunction>(handle));
  }
  return result == CUDA_SUCCESS && name ? name : "";
}

/// A kernel without parameters and a driver that cannot tell look alike from outside: the first index fails for both.
/// So ask whether the driver has the function at all.
bool driver_tells_layouts(bool is_kernel) {
  bool tells = driver_entry(is_kernel ? api::Index::cuKernelGetParamInfo : api::Index::cuFuncGetParamInfo) != nullptr;
  if (!tells && !g_warned_no_layout.exchange(true)) {
    warn(
        "this driver does not tell kernel parameter layouts (needs CUDA 12.4 or later): memory used by kernels is not "
        "seen, only copies, fills and frees are checked");
  }
  return tells;
}

std::atomic<const Function*>& recent_place(std::uint64_t handle) { return g_recent[mix_bits(handle) % kRecent]; }

/// `unloads`: how many there had been before the driver was asked.
const Function* describe(std::uint64_t handle, std::uint32_t unloads) {
  const bool is_kernel = is_kernel_handle(handle);
  Parameter parameters[kMostParameters];
  unsigned count = 0;
  bool known = driver_tells_layouts(is_kernel);
  while (known && count < kMostParameters && parameter_info(handle, is_kernel, count, parameters[count])) ++count;
  const char* name = function_name(handle, is_kernel);
  std::size_t length = std::strlen(name);
  if (length > kLongestName) length = kLongestName;
  auto* made = static_cast<Function*>(arena(sizeof(Function) + count * sizeof(Parameter) + length + 1));
  if (!made) return nullptr;
  auto* layout = reinterpret_cast<Parameter*>(made + 1);
  auto* own_name = reinterpret_cast<char*>(layout + count);
  std::memcpy(own_name, name, length);
  own_name[length] = '\0';
  made->handle = handle;
  made->parameters = layout;
  made->name = own_name;
  made->epoch = unloads;
  made->id = g_next_id.fetch_add(1, std::memory_order_relaxed);
  made->count = count;
  made->bytes = 0;
  for (unsigned i = 0; i < count; ++i) made->bytes = std::max(made->bytes, parameters[i].offset + parameters[i].size);
  made->layout_known = known;
  std::memcpy(layout, parameters, count * sizeof(Parameter));
  using Words = trace::Words<trace::Kind::Function>;
  write_text<trace::Kind::Function>({.id = made->id, .handle = handle}, &Words::name_bytes, own_name, length);
  return made;
}

}  // namespace

void function_looked_up(std::uint64_t handle, bool is_kernel) {
  if (is_kernel) {
    g_kernels.insert(handle);
  } else {
    g_kernels.erase(handle);
  }
}

bool is_kernel_handle(std::uint64_t handle) { return g_kernels.find(handle) != nullptr; }

void kernels_going() { g_unloads.fetch_add(1, std::memory_order_release); }

STREAMSAN_HOT_CODE const Function* function_info(std::uint64_t handle) {
  std::atomic<const Function*>& recent = recent_place(handle);
  const std::uint32_t unloads = g_unloads.load(std::memory_order_acquire);
  const Function* known = recent.load(std::memory_order_acquire);
  if (known && known->handle == handle && known->epoch == unloads) [[likely]]
    return known;
  auto* entry = g_functions.insert(handle);
  if (!entry) return nullptr;
  known = entry->value.load(std::memory_order_acquire);
  if (!known || known->epoch != unloads) {
    known = describe(handle, unloads);
    if (!known) return nullptr;
    // Two threads may describe the same kernel at once: both records are true.
    entry->value.store(known, std::memory_order_release);
  }
  recent.store(known, std::memory_order_release);
  return known;
}

STREAMSAN_HOT_CODE void expect_function(std::uint64_t handle) { prefetch(&recent_place(handle)); }

STREAMSAN_HOT_CODE void expect_description(std::uint64_t handle) {
  const Function* known = recent_place(handle).load(std::memory_order_relaxed);
  if (!known) return;
  prefetch(known);
  prefetch(reinterpret_cast<const char*>(known) + kLineBytes);
}

void in_child::functions() {
  for (std::atomic<const Function*>& place : g_recent) place.store(nullptr, std::memory_order_relaxed);
  g_arena_busy.store(false);
  g_functions.clear();
  g_kernels.clear();
}

}  // namespace streamsan::recorder
