// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the source of kernels shows of their waits for the grid in front, without any launch. See grid_waits.cpp.
#pragma once

#include <string>
#include <vector>

#include "analyzer/ir/ir.h"

namespace clang {
class ASTContext;
}

namespace streamsan::analyzer {

class KernelEffects;
class Sites;

/// A wait that orders less than it seems.
struct GridWait {
  ir::Site site;          ///< the access, or the wait itself if it has no clobber
  std::string kernel;     ///< or the function that has a wait without a clobber
  std::string parameter;  ///< of the access: `a`, or `args.a`
  ir::Mode mode = ir::Mode::Unknown;
  bool no_clobber = false;
};

std::vector<GridWait> grid_waits(clang::ASTContext& context, const Sites& sites, KernelEffects& kernels);

}  // namespace streamsan::analyzer
