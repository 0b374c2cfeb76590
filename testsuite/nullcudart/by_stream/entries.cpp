// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entry points of one flavour: see runtime.h.

#include "testsuite/nullcudart/runtime.h"

namespace streamsan::nullcudart {
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
inline namespace per_thread {
#else
inline namespace legacy {
#endif
namespace {

Entries ask_for_all() {
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
  constexpr cuuint64_t kFlags = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
#else
  constexpr cuuint64_t kFlags = CU_GET_PROC_ADDRESS_LEGACY_STREAM;
#endif
  Entries result{};
#define NC_ENTRY_AT(name, version) \
  get_proc_address(#name, reinterpret_cast<void**>(&result.name), version, kFlags, nullptr);
#define NC_ENTRY(name) get_proc_address(#name, reinterpret_cast<void**>(&result.name), CUDART_VERSION, kFlags, nullptr);
#include "testsuite/nullcudart/entries.def"
#undef NC_ENTRY
#undef NC_ENTRY_AT
  return result;
}

}  // namespace

const Entries& entries() {
  static const Entries instance = ask_for_all();
  return instance;
}

}  // namespace legacy / per_thread
}  // namespace streamsan::nullcudart
