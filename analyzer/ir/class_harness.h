// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the life of an object in stream IR: construct it, call its methods in some order, destroy it. Lowered by
// lowering/class_harness.cpp, lived by analysis/class_protocols.cpp.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer::ir {

struct ClassHarness {
  /// A constructor or method with a body in sight.
  struct Member {
    std::string usr;
    std::string name;               ///< qualified, as shown to users
    std::vector<Place> parameters;  ///< of kind Parameter
    Site site;                      ///< where it is defined
  };

  std::string name;  ///< of the class, as shown to users
  Site site;
  Function frame;  ///< the tables that `object` and `end` belong to; no blocks
  PlaceId object = kNoPlace;
  std::vector<Member> constructors;
  std::vector<Member> methods;  ///< public ones that have to do with streams or memory
  std::vector<Op> end;          ///< what destroys the object

  std::set<std::string> streams;  ///< "Class::field" of streams in the object
  std::set<std::string> exposed;  ///< those of them that other code can get
  /// A public method that may wait for the object's work: by its name, or its body is elsewhere.
  bool offers_wait = false;
};

}  // namespace streamsan::analyzer::ir
