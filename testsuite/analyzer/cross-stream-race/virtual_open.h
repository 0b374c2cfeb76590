// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Classes that other files can see, and derive from.
#pragma once

#include <cuda_runtime.h>

class Executor {
 public:
  virtual ~Executor() = default;
  virtual void finish() = 0;
  virtual void before_use(cudaStream_t) {}
};
class Inline : public Executor {
 public:
  void finish() override {}
};
