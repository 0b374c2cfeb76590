// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function that orders or touches memory and is not modelled yet is forwarded, counted and named at the end: silence
// must not be mistaken for cleanliness. (The null driver does not implement it, which does not matter here.)
//
// RUN: %build_driver %s -o %t
// RUN: %expect 0 %run %t 2>&1 | %filecheck %s
// RUN: %build_driver -DMODELLED %s -o %t.modelled
// RUN: %expect 0 %run %t.modelled 2>&1 | %filecheck %s --check-prefix=MODELLED
//
// MODELLED-NOT: cuGraphConditional
// MODELLED: made no operation
// CHECK: {{cuGraphConditionalHandleCreate.*3|3.*cuGraphConditionalHandleCreate}}
#include <cuda.h>

#include "first_device.h"
#include "must.h"

int main() {
  use_first_device();
#ifndef MODELLED
  for (int i = 0; i < 3; ++i) (void)cuGraphConditionalHandleCreate(nullptr, nullptr, nullptr, 0, 0);
#endif
}
