// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From Clang's AST and CFG to the stream IR. lowering.cpp explains it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analyzer/ir/class_harness.h"
#include "analyzer/ir/ir.h"
#include "analyzer/lowering/grid_waits.h"
#include "analyzer/models/model.h"

namespace clang {
class ASTContext;
class FunctionDecl;
}  // namespace clang

namespace streamsan::analyzer {

struct LoweringOptions {
  bool per_thread_default_stream = false;  ///< also set by CUDA_API_PER_THREAD_DEFAULT_STREAM in the source
  std::uint32_t most_cfg_blocks = 2000;    ///< of one function; past it the function is incomplete
};

/// A function that was not lowered whole, for "N functions could not be analysed".
struct Skipped {
  std::string function;
  std::string file;
  std::uint32_t line = 0;
  std::string reason;
};

struct Lowered {
  ir::Program program;  ///< every function with a body outside system headers that touches streams, events or
                        ///< memory in flight, and whatever those call
  std::vector<std::string> roots;         ///< USRs of the functions to analyse, in source order
  std::vector<ir::ClassHarness> classes;  ///< those that keep streams of their own
  std::vector<Skipped> skipped;
  std::vector<GridWait> grid_waits;
  std::uint32_t functions_seen = 0;
};

Lowered lower(clang::ASTContext& context, const Models& models, const LoweringOptions& options);

}  // namespace streamsan::analyzer
