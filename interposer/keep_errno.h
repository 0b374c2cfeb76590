// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The guest must not find the errno of what we do between its calls.
#pragma once

#include <cerrno>

namespace streamsan::recorder {

class KeepErrno {
 public:
  KeepErrno() : kept_(errno) {}
  ~KeepErrno() { errno = kept_; }
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;

 private:
  int kept_;
};

}  // namespace streamsan::recorder
