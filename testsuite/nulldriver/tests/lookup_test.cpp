// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuGetProcAddress hands out the versioned exports themselves, as the real driver does.

#include <dlfcn.h>

#include <map>
#include <string>
#include <vector>

#include "testsuite/nulldriver/tests/fixture.h"

namespace {

class Lookup : public NullDriver {
 protected:
  static void* get(const char* name, int version, cuuint64_t flags = CU_GET_PROC_ADDRESS_DEFAULT) {
    void* address = nullptr;
    return cuGetProcAddress(name, &address, version, flags, nullptr) == CUDA_SUCCESS ? address : nullptr;
  }
  static void* exported(const char* symbol) { return dlsym(RTLD_DEFAULT, symbol); }
};

TEST_F(Lookup, PicksNewestVersionNotNewerThanAsked) {
  EXPECT_EQ(exported("cuMemAlloc"), get("cuMemAlloc", 2000));
  EXPECT_EQ(exported("cuMemAlloc"), get("cuMemAlloc", 3019));
  EXPECT_EQ(exported("cuMemAlloc_v2"), get("cuMemAlloc", 3020));
  EXPECT_EQ(exported("cuMemAlloc_v2"), get("cuMemAlloc", 13000));
  EXPECT_EQ(exported("cuCtxCreate_v3"), get("cuCtxCreate", 12040));
  EXPECT_EQ(exported("cuCtxCreate_v4"), get("cuCtxCreate", 12050));
  EXPECT_NE(nullptr, exported("cuCtxCreate_v4"));
}

TEST_F(Lookup, PerThreadFlagPicksVariantIfThereIsOne) {
  constexpr cuuint64_t kFlag = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  EXPECT_EQ(exported("cuLaunchKernel_ptsz"), get("cuLaunchKernel", 13000, kFlag));
  EXPECT_EQ(exported("cuLaunchKernel"), get("cuLaunchKernel", 13000, CU_GET_PROC_ADDRESS_LEGACY_STREAM));
  EXPECT_EQ(exported("cuMemcpyHtoD_v2_ptds"), get("cuMemcpyHtoD", 13000, kFlag));
  EXPECT_EQ(exported("cuMemAlloc_v2"), get("cuMemAlloc", 13000, kFlag));
}

TEST_F(Lookup, EveryFunctionTypeOfTheToolkitLeadsToAnExport) {
  struct Type {
    const char* name;
    int version;
    const char* suffix;
  };
  constexpr Type kTypes[] = {
#define SS_VERSION(base, since, suffix) {#base, since, suffix},
#include "null_versions.inc"
#undef SS_VERSION
  };
  std::map<void*, std::string> seen;
  for (const Type& type : kTypes) {
    const cuuint64_t flags =
        type.suffix[0] != '\0' ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : CU_GET_PROC_ADDRESS_LEGACY_STREAM;
    void* address = get(type.name, type.version, flags);
    ASSERT_NE(nullptr, address) << type.name << " " << type.version << type.suffix;
    Dl_info info{};
    ASSERT_NE(0, dladdr(address, &info));
    // Each (name, version, suffix) is an export of its own, with that suffix.
    const std::string symbol = info.dli_sname;
    EXPECT_EQ(address, exported(symbol.c_str())) << symbol;
    EXPECT_TRUE(symbol.starts_with(type.name)) << symbol;
    EXPECT_TRUE(symbol.ends_with(type.suffix)) << symbol;
    EXPECT_TRUE(seen.emplace(address, symbol).second) << symbol << " handed out twice";
  }
  EXPECT_GT(seen.size(), 600u);
}

TEST_F(Lookup, SaysWhyThereIsNothing) {
  void* address = &address;
  CUdriverProcAddressQueryResult status{};
  EXPECT_EQ(CUDA_ERROR_NOT_FOUND, cuGetProcAddress("cuNoSuchThing", &address, 13000, 0, &status));
  EXPECT_EQ(nullptr, address);
  EXPECT_EQ(CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, status);
  EXPECT_EQ(CUDA_ERROR_NOT_FOUND, cuGetProcAddress("cuLibraryLoadData", &address, 11000, 0, &status));
  EXPECT_EQ(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT, status);
  EXPECT_EQ(CUDA_ERROR_NOT_FOUND, cuGetProcAddress("", &address, 13000, 0, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress("cuInit", nullptr, 13000, 0, nullptr));
}

TEST_F(Lookup, OldShapeHasNoStatus) {
  using Old = CUresult (*)(const char*, void**, int, cuuint64_t);
  const auto old = reinterpret_cast<Old>(exported("cuGetProcAddress"));
  void* address = nullptr;
  EXPECT_CU(old("cuGetProcAddress", &address, 11030, 0));
  EXPECT_EQ(exported("cuGetProcAddress"), address);
  EXPECT_CU(old("cuGetProcAddress", &address, 12000, 0));
  EXPECT_EQ(exported("cuGetProcAddress_v2"), address);
}

TEST_F(Lookup, WhatIsNotImplementedIsNotSupported) {
  CUarray array = nullptr;
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuArrayGetPlane(&array, nullptr, 0));
  EXPECT_EQ(nullptr, array);
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuMulticastUnbind(0, 0, 0, 0));
  const void* table = &table;
  const CUuuid id{};
  EXPECT_EQ(CUDA_ERROR_NOT_FOUND, cuGetExportTable(&table, &id));
  EXPECT_EQ(nullptr, table);
}

}  // namespace
