// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two copies of PyTorch's autograd, each opened apart from the other, of which one has not PyTorch's name: each
// evaluates its own nodes. An evaluation that throws ends as it would without us, in a process that has not called
// CUDA, too, and with any library that unwinds.
//
// RUN: %build_host -std=c++20 -shared -fPIC -fsemantic-interposition -Wl,-soname,libtorch_cpu.so %S/../python/inputs/autograd.cpp -o %t.1.so -ldl
// RUN: %build_host -std=c++20 -shared -fPIC -fsemantic-interposition -Wl,-soname,libother.so %S/../python/inputs/autograd.cpp -o %t.2.so -ldl
// RUN: %build_host %s -o %t -ldl
// RUN: %t %t.1.so %t.2.so | %filecheck %s
// RUN: env LD_PRELOAD=%preload %t %t.1.so %t.2.so | %filecheck %s
// RUN: env LD_PRELOAD=%preload %t %t.2.so %t.1.so | %filecheck %s
// RUN: %expect 0 %run %t %t.1.so %t.2.so | %filecheck %s
//
// CHECK: 3 by the first, 1 by the second
#include <dlfcn.h>

#include <cstdio>

int main(int, char** argv) {
  void* engine[2];
  for (int i = 0; i < 2; ++i) {
    engine[i] = dlopen(argv[1 + i], RTLD_NOW | RTLD_LOCAL);
    if (!engine[i]) return 97;
  }
  const auto forward = [&](int i) { return reinterpret_cast<void* (*)()>(dlsym(engine[i], "forward"))(); };
  const auto fail = [&](int i, void* node) { reinterpret_cast<void (*)(void*)>(dlsym(engine[i], "fail"))(node); };
  const auto evaluated = [&](int i) { return reinterpret_cast<int (*)()>(dlsym(engine[i], "evaluated"))(); };
  fail(0, forward(0));
  fail(1, forward(1));
  fail(0, forward(0));
  fail(0, forward(0));
  std::printf("%d by the first, %d by the second\n", evaluated(0), evaluated(1));
}
