// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "cuda_runtime_api.h"
