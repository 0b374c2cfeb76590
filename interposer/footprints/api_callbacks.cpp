// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/footprints/api_callbacks.h"

#include <dlfcn.h>

#include <algorithm>

namespace streamsan::footprints {
namespace {

constexpr unsigned char kTableId[sizeof(CUuuid)] = {0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74,
                                                    0x93, 0xf2, 0x08, 0x00, 0x20, 0x0c, 0x0a, 0x66};

struct Table {
  std::size_t bytes;  // of the table
  const void* unknown;
  void (*get_flags)(void** flags, std::size_t* count);
  const void* others[4];
};

/// The loaded object that holds the address; null: none.
const void* object_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) ? info.dli_fbase : nullptr;
}

std::uint32_t load(const std::uint32_t& flag) { return __atomic_load_n(&flag, __ATOMIC_RELAXED); }

}  // namespace

void ApiCallbacks::remember(decltype(&::cuGetExportTable) get_table) {
  flags_ = nullptr;
  CUuuid id;
  __builtin_memcpy(&id, kTableId, sizeof id);
  const void* exported = nullptr;
  if (!get_table || get_table(&exported, &id) != CUDA_SUCCESS || !exported) return;
  const auto& table = *static_cast<const Table*>(exported);
  if (table.bytes != sizeof(Table) || !table.get_flags) return;
  const void* driver = object_of(exported);
  if (!driver || object_of(reinterpret_cast<const void*>(table.get_flags)) != driver) return;
  void* found = nullptr;
  std::size_t count = 0;
  table.get_flags(&found, &count);
  auto* flags = static_cast<std::uint32_t*>(found);
  const auto lies_in_driver = [driver](const std::uint32_t* flag) { return object_of(flag) == driver; };
  if (!flags || count != kOfRuntime || !lies_in_driver(flags) || !lies_in_driver(flags + kOfRuntime - 1)) return;
  count_ = kOfRuntime + (lies_in_driver(flags + kOfRuntime + kMostOfDriver - 1) ? kMostOfDriver : 0);
  for (std::size_t i = 0; i < count_; ++i) before_[i] = load(flags[i]);
  if (std::any_of(before_, before_ + kOfRuntime, [](std::uint32_t flag) { return flag > 1; })) return;
  flags_ = flags;
}

void ApiCallbacks::restore() {
  if (!flags_) return;
  const auto was_set = [this](std::size_t i) { return before_[i] == 0 && load(flags_[i]) == 1; };
  std::size_t end = kOfRuntime;
  while (end < count_ && was_set(end)) ++end;
  if (end - kOfRuntime < kFewestOfDriver) end = kOfRuntime;
  for (std::size_t i = 0; i < end; ++i) {
    if (was_set(i)) __atomic_store_n(&flags_[i], 0, __ATOMIC_RELAXED);
  }
}

}  // namespace streamsan::footprints
