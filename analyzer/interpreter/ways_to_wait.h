// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether others than a made-up caller may wait for the work of the objects that it uses. See ways_to_wait.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>

namespace clang {
class CXXRecordDecl;
class FunctionDecl;
class QualType;
}  // namespace clang

namespace streamsan::analyzer {

class Symbols;

/// Can whoever has an object of this type wait for work by means of it (a stream, an event, a ticket)? Not by a tensor
/// or by numbers.
bool may_wait(Symbols& symbols, clang::QualType type, int depth = 0);

/// What the functions of one file do that somebody may wait by. Made by one walk through the file's own code.
class WaysToWait {
 public:
  /// All canonical.
  using Functions = std::set<const clang::FunctionDecl*>;
  using Classes = std::set<const clang::CXXRecordDecl*>;

  explicit WaysToWait(Symbols& symbols);
  ~WaysToWait();

  enum class Offer : std::uint8_t {
    Nothing,
    OwnHandles,  ///< the user gives something to wait by for its own work
    Anything,
  };
  /// Is there a way to wait for work of objects of these classes, one of which is that of their user, beside the
  /// functions that `called` call? `used`: the file calls them, so what they give is for the file.
  [[nodiscard]] Offer offered(const clang::CXXRecordDecl& user, Classes classes, const Functions& called,
                              const Functions& used) const;

 private:
  struct Body;
  struct Kept;
  class Walk;
  [[nodiscard]] bool waits(const clang::FunctionDecl& function, bool for_all) const;
  [[nodiscard]] bool lets_wait(clang::QualType type, const Classes& classes) const;
  [[nodiscard]] bool gives(const clang::FunctionDecl& function, const Classes& classes) const;
  [[nodiscard]] Functions reached_by(const Functions& called) const;
  void add_related(Classes& classes) const;

  Symbols& symbols_;
  std::unique_ptr<Kept> kept_;
};

}  // namespace streamsan::analyzer
