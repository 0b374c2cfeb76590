// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "there_is_no_such_header.h"
