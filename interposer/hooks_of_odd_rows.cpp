// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The wrappers of rows 1, 3, 5 and so on.
#include "interposer/hooks.h"

extern "C" {
void* const streamsan_odd_wrappers[] = {
#define SS_API(symbol_, ...) SS_HOOK_OF_ROW(true, symbol_)
#include "ordering/api/cuda_api.def"
#undef SS_API
};
}
