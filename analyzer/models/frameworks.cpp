// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PyTorch's C++ side, RMM and libcu++ by name: the rows of frameworks.def.
//
// What these share is that streams, events and memory are objects: positions are kObject where CUDA's functions have an
// argument, and kResult where a handle is the value of the call. Tensors are made on the current stream and end when
// their last copy does; views share the memory of the tensor they are made of, and where a call may return either
// (contiguous, to) nothing is known of its value.
#include "analyzer/models/shorthand.h"

namespace streamsan::analyzer {

namespace {

using namespace shorthand;

constexpr ModelRow kFrameworkRows[] = {
#define SS_MODEL(pattern_, ...) {.pattern = pattern_, .facts = {__VA_ARGS__}},
#define SS_MODEL_N(pattern_, arguments_, ...) {.pattern = pattern_, .arguments = arguments_, .facts = {__VA_ARGS__}},
#include "analyzer/models/frameworks.def"
#undef SS_MODEL_N
#undef SS_MODEL
};

}  // namespace

void add_frameworks(Catalog& catalog) { catalog.add(kFrameworkRows); }

}  // namespace streamsan::analyzer
