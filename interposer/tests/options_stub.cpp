// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stand-in for the recorder's options; tests set them.
#include "interposer/tests/options_stub.h"

#include "interposer/process.h"

namespace streamsan {

recorder::Options& testing::test_options() {
  static recorder::Options options{};
  return options;
}

const recorder::Options& recorder::options() { return testing::test_options(); }

}  // namespace streamsan
