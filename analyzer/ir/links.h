// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ties a translation unit to others: which of them have to be looked at again once it is known what the others do.
//
// A translation unit learns something from another one that defines a function which it only calls, or that has a
// function of its own which uses the same global variable or the same field of a class: a method that is written
// elsewhere may wait, store another stream, or free. Functions that both have (of a common header) tell nothing new.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer::ir {

struct Links {
  /// With a body, by USR: the fields and globals that each uses.
  std::map<std::string, std::set<std::string>> functions;
  std::set<std::string> calls;  ///< USRs of functions without a body here
};

Links links_of(const Program& program);

/// By the position of each: does any other tell it something new?
std::vector<bool> depend_on_others(const std::vector<Links>& units);

}  // namespace streamsan::analyzer::ir
