// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions that are one and the same to the analysis: instances of a template for types of one size, most of all.
//
// A file that dispatches over types has dozens of them, each closed over the same callees. Where one of them showed
// nothing, and nothing was asked of it that depends on who calls it, the others show nothing either.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analyzer/ir/ir.h"
#include "analyzer/tidy/sides.h"

namespace streamsan::analyzer {

class Instances {
 public:
  Instances(const ir::Program& program, const std::vector<std::string>& usrs);

  /// One that was analysed is equal to it in all but its name, and showed nothing.
  [[nodiscard]] bool is_known(const ir::Function& closed) const;
  /// Worth keeping: there are others that are declared at the same place.
  [[nodiscard]] bool has_others(const ir::Function& closed) const;
  void keep(ir::Function closed);

 private:
  std::map<Position, std::size_t> declared_;
  std::map<Position, std::vector<ir::Function>> shows_nothing_;
};

}  // namespace streamsan::analyzer
