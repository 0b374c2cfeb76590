// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuGetProcAddress, with both of its shapes, and cuGetExportTable.
//
// The answer is the address of the versioned export itself, as with the real driver: the newest version that is not
// newer than the caller asked for; with the per-thread flag the newest such _ptds or _ptsz variant, or the plain export
// if there is none. Which version number belongs to which export comes from the toolkit: CMake reads the PFN_ type
// names of cudaTypedefs.h into null_versions.inc, and the k-th oldest version of a name is its k-th export (name,
// name_v2, name_v3). A test holds both lists against each other.

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#define __CUDA_API_VERSION_INTERNAL
#include "testsuite/nulldriver/call.h"

#include <cudaProfiler.h>

namespace streamsan::null {
namespace {

struct Version {
  int since;
  void* address;
};

struct Name {
  std::vector<Version> legacy;  ///< oldest first
  std::vector<Version> per_thread;
};

using Names = std::map<std::string, Name, std::less<>>;

// Tables, not statements: a thousand insertions in one function are slow to compile.
struct Export {
  const char* name;
  bool per_thread;
  void* address;
};

struct Since {
  const char* name;
  int version;
  const char* suffix;
};

Names make_names() {
  static const Export kExports[] = {
#define SS_API(symbol, base, group, default_stream, ...) \
  {#base, api::DefaultStream::default_stream == api::DefaultStream::PerThread, reinterpret_cast<void*>(&::symbol)},
#include "ordering/api/cuda_api.def"
#undef SS_API
  };
  static constexpr Since kVersions[] = {
#define SS_VERSION(base, since, suffix) {#base, since, suffix},
#include "null_versions.inc"
#undef SS_VERSION
  };

  Names names;
  for (const Export& row : kExports) {
    Name& name = names[row.name];
    (row.per_thread ? name.per_thread : name.legacy).push_back({0, row.address});
  }
  // The rows are sorted by symbol, so the exports of one list stand in the order of their versions.
  std::map<std::pair<std::string, bool>, std::vector<int>> versions;
  for (const Since& row : kVersions) versions[{row.name, row.suffix[0] != '\0'}].push_back(row.version);
  for (auto& [key, numbers] : versions) {
    const auto found = names.find(key.first);
    if (found == names.end()) continue;
    auto& list = key.second ? found->second.per_thread : found->second.legacy;
    std::sort(numbers.begin(), numbers.end());
    for (std::size_t i = 0; i < list.size() && i < numbers.size(); ++i) list[i].since = numbers[i];
  }
  return names;
}

const Version* newest(const std::vector<Version>& list, int asked) {
  const Version* best = nullptr;
  for (const Version& version : list) {
    if (version.since <= asked) best = &version;
  }
  return best;
}

CUdriverProcAddressQueryResult find(std::string_view name, int asked, cuuint64_t flags, void** address) {
  static const Names& names = *new Names(make_names());
  const auto found = names.find(name);
  if (found == names.end()) return CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  const Version* version = nullptr;
  if (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) version = newest(found->second.per_thread, asked);
  if (version == nullptr) version = newest(found->second.legacy, asked);
  if (version == nullptr) return CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
  *address = version->address;
  return CU_GET_PROC_ADDRESS_SUCCESS;
}

CUresult get_proc_address(const char* symbol, void** pfn, int version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult* status) {
  constexpr cuuint64_t kKnown = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if (symbol == nullptr || pfn == nullptr || (flags & ~kKnown) != 0 || flags == kKnown) return CUDA_ERROR_INVALID_VALUE;
  *pfn = nullptr;
  const CUdriverProcAddressQueryResult result = find(symbol, version, flags, pfn);
  if (status != nullptr) *status = result;
  return result == CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

}  // namespace
}  // namespace streamsan::null

using namespace streamsan::null;

SS_EXPORT cuGetProcAddress(const char* symbol, void** pfn, int version, cuuint64_t flags) {
  SS_CALL(cuGetProcAddress);
  return get_proc_address(symbol, pfn, version, flags, nullptr);
}

SS_EXPORT cuGetProcAddress_v2(const char* symbol, void** pfn, int version, cuuint64_t flags,
                              CUdriverProcAddressQueryResult* status) {
  SS_CALL(cuGetProcAddress_v2);
  return get_proc_address(symbol, pfn, version, flags, status);
}

SS_EXPORT cuGetExportTable(const void** table, const CUuuid* id) {
  SS_CALL(cuGetExportTable);
  if (table == nullptr || id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *table = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}
