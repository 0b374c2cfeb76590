// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "interposer/options.h"

namespace streamsan::testing {

/// What recorder::options() returns.
recorder::Options& test_options();

}  // namespace streamsan::testing
