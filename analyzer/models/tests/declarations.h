// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every declaration of the runtime API. Run through the preprocessor, its text has the names and the types of
// parameters that the rows of runtime.def speak of by position.
#pragma once

#include <cuda_runtime_api.h>
