// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuGetProcAddress answers a program as it would without StreamSan: result, status and whether there is an address are
// the same for known and unknown names, for versions that are too old, for an empty name and for missing
// out-parameters. dlsym on the driver finds what is there and nothing more.
//
// RUN: %build_host %s -o %t -ldl
// RUN: %t > %t.plain
// RUN: %run %t > %t.under
// RUN: diff %t.plain %t.under
// RUN: %filecheck %s --input-file %t.under
//
// CHECK: cuMemcpyHtoDAsync 12000 0: 0 status 0 address 1
// CHECK: cuNoSuchFunction 12000 0: {{.*}} address 0
#include <cuda.h>
#include <dlfcn.h>

#include <initializer_list>

#include "must.h"

using Lookup = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

int main() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) return 97;
  must(reinterpret_cast<CUresult (*)(unsigned)>(dlsym(library, "cuInit"))(0));
  auto lookup = reinterpret_cast<Lookup>(dlsym(library, "cuGetProcAddress_v2"));
  for (const char* name : {"cuMemcpyHtoDAsync", "cuNoSuchFunction", "cuMemAllocAsync", "cuGetProcAddress", ""}) {
    for (int version : {2000, 11030, 12000, 13000}) {
      for (cuuint64_t flags : {cuuint64_t{0}, cuuint64_t{2}}) {
        void* address = nullptr;
        auto status = static_cast<CUdriverProcAddressQueryResult>(77);
        CUresult result = lookup(name, &address, version, flags, &status);
        std::printf("%s %d %d: %d status %d address %d\n", name, version, static_cast<int>(flags), result, status,
                    address != nullptr);
      }
    }
  }
  std::printf("no status: %d\n", [&] {
    void* address = nullptr;
    return lookup("cuInit", &address, 12000, 0, nullptr);
  }());
  for (const char* name : {"cuInit", "cuNoSuchFunction", "dlsym", "printf"}) {
    std::printf("dlsym %s: %d\n", name, dlsym(library, name) != nullptr);
  }
  dlsym(library, "cuNoSuchFunction");
  std::printf("dlerror: %d\n", dlerror() != nullptr);
}
