// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the doctor's guest does: as the CUDA run-time, it opens libcuda.so.1, looks up cuGetProcAddress_v2 with dlsym
// and asks it for an entry point. Both must be the recorder's. Nothing of CUDA is initialised, so this works without a
// GPU.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "cli/doctor.h"

namespace streamsan::cli {
namespace {

/// File of the library that an address belongs to.
const char* owner(void* address) {
  Dl_info info{};
  return address && dladdr(address, &info) && info.dli_fname ? info.dli_fname : "";
}

}  // namespace

int probe() {
  // Any symbol of the recorder shows that the loader loaded it.
  std::printf("preload %s\n", owner(dlsym(RTLD_DEFAULT, "dlsym")));
  std::printf("nvtx %s\n", owner(dlsym(RTLD_DEFAULT, "InitializeInjectionNvtxExtension")));
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!driver) {
    std::printf("driver-error %s\n", dlerror());
    return 0;
  }
  void* version = dlsym(driver, "cuDriverGetVersion");
  std::printf("driver %s\n", owner(version));
  int number = 0;
  if (version && reinterpret_cast<int (*)(int*)>(version)(&number) == 0) std::printf("driver-version %d\n", number);
  void* lookup = dlsym(driver, "cuGetProcAddress_v2");
  std::printf("lookup %s\n", owner(lookup));
  using Lookup = int (*)(const char*, void**, int, std::uint64_t, void*);
  void* launch = nullptr;
  if (lookup && reinterpret_cast<Lookup>(lookup)("cuLaunchKernel", &launch, 12000, 0, nullptr) == 0) {
    std::printf("entry %s\n", owner(launch));
  }
  return 0;
}

}  // namespace streamsan::cli
