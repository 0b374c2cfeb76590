// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether code other than a made-up caller may wait for the work of the objects that it uses. See ways_to_wait.cpp.
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

/// Can code wait for work by means of an object of this type (a stream, an event, a ticket)? Not by a tensor or by
/// numbers.
bool may_wait(Symbols& symbols, clang::QualType type, int depth = 0);

/// The functions of one file that wait, or give others something to wait by. Made by one walk through the file's code.
class WaysToWait {
 public:
  /// All canonical.
  using Functions = std::set<const clang::FunctionDecl*>;
  using Classes = std::set<const clang::CXXRecordDecl*>;

  explicit WaysToWait(Symbols& symbols);
  ~WaysToWait();

  enum class Offer : std::uint8_t {
    Nothing,
    OwnHandles,  ///< the user's class gives something by which others can wait for its own work
    Anything,
  };
  /// The ways to wait for work of objects of these classes, one of which is the class of their user. The functions that
  /// `called` call do not count. `used`: the file calls these functions, so their results are for the file.
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
