// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory as device code names it: a Path from a parameter, a local variable or a temporary through fields and pointers.
//
// Kernel effects need to know one thing of a pointer expression: from which parameter its memory is reached. So a Path
// keeps no indices (all elements of an array are one), the value of a pointer is the set of Paths it may point to, and
// Memory collects what was ever stored where, without regard to the order of statements. This is Andersen's analysis
// for one function, with the callees' results applied at their calls. A variable of the program that lives on the
// device (device_variable) is named as if a pointer to it were given: its memory is what lies behind. It errs by saying
// too much: a pointer variable that first walks over `a` and then over `b` points to both for the whole function. Paths
// that grow past a bound (lists, trees) are dropped: what lies that deep belongs to no parameter that a launch could be
// blamed for.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "llvm/ADT/DenseSet.h"

namespace clang {
class FieldDecl;
class ValueDecl;
class VarDecl;
}  // namespace clang

namespace streamsan::analyzer::device {

struct Path {
  const void* base = nullptr;                  ///< a VarDecl; an Expr for a temporary; kThis
  std::vector<const clang::FieldDecl*> steps;  ///< nullptr: what the pointer there points to
  friend auto operator<=>(const Path&, const Path&) = default;

  /// Number of pointers followed.
  [[nodiscard]] unsigned depth() const;
};
using Paths = std::set<Path>;

/// A variable of the program that lives on the device: `__device__`, `__constant__`, `__managed__`. Not a volatile one,
/// which is a flag, nor what the compiler brings (threadIdx). Its canonical declaration; nullptr: it is none.
const clang::VarDecl* device_variable(const clang::ValueDecl& declaration);

/// The object of a member function: a Path starts with kThis, nullptr. The address is all that counts.
extern const char kThis;

class Memory {
 public:
  /// `base` came from the caller: what its pointers point to at first is named after them.
  void add_parameter(const void* base) {
    if (!parameters_.insert(base).second) return;
    learn(base);
    grew_ = grew_ || taken_for_own_.contains(base);
  }
  [[nodiscard]] bool is_parameter(const Path& path) const {
    if (parameters_.contains(path.base)) return true;
    taken_for_own_.insert(path.base);
    return false;
  }

  /// The pointer at `place` may hold the address of each of `values`.
  void store(const Paths& places, const Paths& values);
  /// The object at `place` may be a copy of each of `sources`.
  void copy(const Paths& places, const Paths& sources);
  /// Where the pointer at `places` may point. `typed` says that it is known to be a pointer: an integer holds an
  /// address only if one was stored there.
  [[nodiscard]] Paths load(const Paths& places, bool typed = true) const;
  /// Everything stored in the object at `places`, at any depth of fields.
  [[nodiscard]] Paths inside(const Paths& places) const;

  [[nodiscard]] const std::map<Path, Paths>& stored() const { return stored_; }
  [[nodiscard]] const std::map<Path, Paths>& copied() const { return copied_; }
  /// Since the last call something was learned that had been asked for before, in vain.
  bool grew();
  /// More was stored than is worth following.
  [[nodiscard]] bool overflowed() const { return overflowed_; }

 private:
  void learn(const void* base) { grew_ = grew_ || asked_all_ || asked_.contains(base); }
  void load(const Path& place, bool typed, unsigned deep, Paths& out) const;
  void add(std::map<Path, Paths>& to, const Paths& places, const Paths& what);

  std::set<const void*> parameters_;
  std::map<Path, Paths> stored_;
  std::map<Path, Paths> copied_;
  bool grew_ = false;
  // Since grew() was called: the bases of places that were asked for, or all.
  mutable llvm::DenseSet<const void*> asked_;
  mutable bool asked_all_ = false;
  mutable llvm::DenseSet<const void*> taken_for_own_;  // and those that were no parameters so far
  bool overflowed_ = false;
};

/// `places` with one more step; those that grow too long are left out.
Paths step(const Paths& places, const clang::FieldDecl* field);

}  // namespace streamsan::analyzer::device
