// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions that are one and the same to the analysis: instances of a template for types of one size, most of all.
//
// A file that dispatches over types has dozens of them, each closed over the same callees. Where one of them showed
// nothing, and nothing was asked of it that depends on who calls it, the others show nothing either. Where one was
// given up, so is whatever is built like it, wherever that stands: no site has a say in that, nor the name of a kernel.
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

  /// Of one that is the same: why it was given up, or empty if it showed nothing. nullptr: none is known.
  [[nodiscard]] const std::string* gave_up(const ir::Function& closed) const;
  /// There are others that are declared at the same place, or it is so large that it may be given up.
  [[nodiscard]] bool is_worth_keeping(const ir::Function& closed) const;
  void keep(ir::Function closed, const std::string& gave_up);

 private:
  std::map<Position, std::size_t> declared_;
  struct GivenUp {
    ir::Function closed;
    std::string why;
  };
  std::map<Position, std::vector<ir::Function>> shows_nothing_;
  std::vector<GivenUp> given_up_;
};

}  // namespace streamsan::analyzer
