// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Other libraries have functions whose names begin like the driver's (cuFileDriverOpen, ...). Looking one up succeeds
// and leaves no error behind, also when the driver is loaded and does not have it; a name that nobody has still fails.
//
// RUN: %build_host %s -o %t -rdynamic -ldl
// RUN: %expect 0 %run %t 2>&1 | %filecheck %s --check-prefix=ALONE
//
// ALONE-NOT: {{.}}
// ALONE: {{^}}streamsan: WARNING: nothing was checked{{.*$}}
// ALONE-NOT: {{.}}
#include <dlfcn.h>

extern "C" int cuZebraDriverOpen() { return 7; }

int main() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  void* self = dlopen(nullptr, RTLD_NOW);
  if (!driver || !self) return 97;
  dlerror();
  void* found = dlsym(self, "cuZebraDriverOpen");
  if (dlerror() || reinterpret_cast<int (*)()>(found)() != 7) return 1;
  if (dlsym(self, "cuZebraDriverClose") || !dlerror()) return 2;
  return 0;
}
