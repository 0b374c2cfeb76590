// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/footprints/runtime_callbacks.h"

#include <dlfcn.h>

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

void RuntimeCallbacks::remember(decltype(&::cuGetExportTable) get_table) {
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
  if (!flags || count != kFlags || object_of(flags) != driver || object_of(flags + kFlags - 1) != driver) return;
  for (std::size_t i = 0; i < kFlags; ++i) {
    const std::uint32_t flag = load(flags[i]);
    if (flag > 1) return;
    were_set_[i] = flag != 0;
  }
  flags_ = flags;
}

void RuntimeCallbacks::restore() {
  if (!flags_) return;
  for (std::size_t i = 0; i < kFlags; ++i) {
    if (!were_set_[i] && load(flags_[i]) == 1) __atomic_store_n(&flags_[i], 0, __ATOMIC_RELAXED);
  }
}

}  // namespace streamsan::footprints
