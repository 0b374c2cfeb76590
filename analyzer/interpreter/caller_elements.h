// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a made-up caller makes the elements of arrays and containers. See callers.cpp.
#pragma once

#include <utility>

#include "analyzer/interpreter/caller_arguments.h"
#include "analyzer/interpreter/caller_numbers.h"
#include "clang/AST/DeclCXX.h"

namespace streamsan::analyzer {

inline bool is_named(clang::QualType type, llvm::StringRef name) {
  const clang::TagDecl* tag = type->getAsTagDecl();
  return tag != nullptr && tag->getName() == name;
}

/// The type costs much to create or to work on, so a list gets fewer elements.
inline bool is_costly(clang::QualType type) {
  return is_named(type, "Tensor") || is_named(type, "pair") || is_named(type, "function");
}

/// Writes a loop that makes `many` elements. `called`: the name of the container.
template <typename Use>
bool CallerArguments::each(const std::string& many, const Use& use, clang::QualType of, llvm::StringRef called,
                           int depth) {
  const std::string counter = "i" + std::to_string(++variables_), name = one_of(called);
  const std::string outside = std::exchange(element_, counter);
  const auto objects = objects_;
  // Each element is a new object.
  clang::QualType itself = of;
  if (itself->isPointerType()) itself = itself->getPointeeType();
  if (const clang::CXXRecordDecl* record = itself->getAsCXXRecordDecl()) objects_.erase(record->getCanonicalDecl());
  const int collection = std::exchange(collection_, ++collections_);
  line("for (unsigned long " + counter + " = 0; " + counter + " < " + many + "; ++" + counter + ") {");
  const bool is_number = of->isIntegerType() && !of->isBooleanType() && !of->isEnumeralType();
  lists_ += is_number ? 1 : 0;
  const auto one =
      is_number ? std::optional(cast(of, number(name, depth + 1, Meaning::Which))) : value(of, name, depth + 1);
  if (one) use(*one);
  line("}");
  collection_ = collection;
  element_ = outside;
  objects_ = objects;
  return one.has_value();
}

}  // namespace streamsan::analyzer
