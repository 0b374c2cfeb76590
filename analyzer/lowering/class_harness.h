// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which classes keep streams of their own, and how to make, use and end an object of each. See class_harness.cpp.
#pragma once

#include <string>
#include <vector>

#include "analyzer/ir/class_harness.h"

namespace streamsan::analyzer {

namespace host {
struct Unit;
}

/// In source order. `program`: with its fields; public methods that nothing in it calls are added.
std::vector<ir::ClassHarness> class_harnesses(host::Unit& unit, ir::Program& program);

}  // namespace streamsan::analyzer
