// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ties a translation unit to others: which of them have to be looked at again once it is known what the others do.
//
// A translation unit learns something from another one that defines a function which it only calls, or that has a
// function of its own which does something to the same global variable or the same field of a class: it may wait, store
// another stream, or free. Work that is enqueued there tells nothing, unless both are methods of one class. Functions that both have (of a common header) tell nothing new.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer::ir {

struct Links {
  struct Uses {
    std::set<std::string> used;  ///< fields and globals that the function names
    std::set<std::string> told;  ///< those of which it tells others something: it writes, waits, records, frees; and
                                 ///< the fields of the object that it is a method of
  };
  std::map<std::string, Uses> functions;  ///< with a body, by USR
  std::set<std::string> calls;            ///< USRs of functions without a body here
};

Links links_of(const Program& program);

/// By the position of each: does any other tell it something new?
std::vector<bool> depend_on_others(const std::vector<Links>& units);

}  // namespace streamsan::analyzer::ir
