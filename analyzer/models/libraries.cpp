// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CUDA's libraries by name: the rows of libraries.def. Functions without a row are in families.cpp.
//
// A role that a row gives is what the library's manual says; `updates` stands where a scalar decides whether a result
// is only written (beta == 0). Thrust's iterators and CUB's overloads come in many shapes: roles there name what all
// shapes share, and an argument that is no pointer in one of them makes its role void (see Role).
#include "analyzer/models/shorthand.h"

namespace streamsan::analyzer {

namespace {

using namespace shorthand;

constexpr ModelRow kLibraryRows[] = {
#define SS_MODEL(pattern_, ...) {.pattern = pattern_, .facts = {__VA_ARGS__}},
#define SS_MODEL_N(pattern_, arguments_, ...) {.pattern = pattern_, .arguments = arguments_, .facts = {__VA_ARGS__}},
#include "analyzer/models/libraries.def"
#undef SS_MODEL_N
#undef SS_MODEL
};

}  // namespace

void add_libraries(Catalog& catalog) { catalog.add(kLibraryRows); }

}  // namespace streamsan::analyzer
