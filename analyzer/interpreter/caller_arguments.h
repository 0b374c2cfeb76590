// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arguments that a made-up caller gives. See callers.cpp.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/interpreter/caller_numbers.h"
#include "analyzer/interpreter/caller_text.h"
#include "analyzer/interpreter/torch_text.h"

namespace clang {
class ClassTemplateSpecializationDecl;
class DeclContext;
class FunctionProtoType;
}  // namespace clang

namespace streamsan::analyzer {

/// The defined class that a reference, a pointer or a std::shared_ptr refers to; nullptr: none.
const clang::CXXRecordDecl* referred(clang::QualType type);

/// Writes lines of a caller: for each argument a variable of its type, with a value in it.
class CallerArguments {
 public:
  CallerArguments(Symbols& symbols, const Way& way, const KnownOfFile& file, Caller& caller)
      : symbols_(symbols),
        context_(symbols.context()),
        way_(way),
        file_(file),
        torch_(has_torch(context_)),
        caller_(caller) {}

  void line(const std::string& text, Caller::Line what = Caller::Line::Other);

  /// The text is too long to be worth its parsing.
  [[nodiscard]] bool is_long() const { return caller_.lines.size() > 2000; }

  /// The list of arguments for a call, after the lines that make them. nullopt: they cannot be made.
  /// `again`: the objects that the first call of the function referred to are given once more.
  std::optional<std::string> given(const clang::FunctionDecl& function, bool again = false);

  /// Gives `other` the objects that the call of `first` got for parameters of the same types. Not aggregates: such an
  /// object is no more than its fields. False: the two share no type.
  bool share(const clang::FunctionDecl& first, const clang::FunctionDecl& other);

  /// True: the next arguments are a constructor's, whose numbers have the size Way::own. False: a method's.
  void make_object(bool yes) {
    makes_ = yes;
    fixed_ = yes && way_.own == Way::Size::Smaller;
  }
  /// The next call is made by another user, who has streams of its own.
  void next_user() { ++user_; }

  /// The objects that the last call got by reference or shares, with the names of their variables.
  [[nodiscard]] const std::vector<std::pair<const clang::CXXRecordDecl*, std::string>>& objects() const {
    return lent_;
  }
  [[nodiscard]] std::string spelled(clang::QualType type) const;

 private:
  std::string fresh() { return "a" + std::to_string(++variables_); }
  [[nodiscard]] std::string cast(clang::QualType type, const std::string& value) const;
  [[nodiscard]] std::string moved(clang::QualType type, const std::string& value) const;
  bool lend(clang::QualType type, const std::string& name);
  void declare(const std::string& spelling, const std::string& name, const std::string& value);

  std::optional<std::string> list_of(const clang::FunctionDecl& function, int depth);
  /// The name of a variable with a value in it, or, for a number or a pointer, an expression that is used once.
  /// nullopt: no value can be made.
  std::optional<std::string> value(clang::QualType type, llvm::StringRef called, int depth);
  /// As value(), but always the name of a variable.
  std::optional<std::string> variable(clang::QualType type, llvm::StringRef called, int depth);
  std::optional<std::string> shared(clang::QualType type, llvm::StringRef called, int depth);
  std::string number(llvm::StringRef called, int depth, Meaning otherwise = Meaning::HowMuch);
  std::optional<std::string> pointer(clang::QualType type, llvm::StringRef called, int depth);
  std::string stream(int depth);
  std::string memory(clang::QualType of);
  [[nodiscard]] std::string or_missing(const std::string& value, llvm::StringRef field) const;

  /// A loop that makes `many` elements and calls use() for each.
  template <typename Use>
  bool each(const std::string& many, const Use& use, clang::QualType of, llvm::StringRef called, int depth);
  std::optional<std::string> pointers(clang::QualType type, llvm::StringRef called, int depth);
  std::optional<std::string> array(clang::QualType type, llvm::StringRef called, int depth);
  std::optional<std::string> object(clang::QualType type, const clang::CXXRecordDecl& record, llvm::StringRef called,
                                    int depth);
  /// nullopt: the class needs nothing special; empty: no value can be made.
  std::optional<std::string> of_standard(const clang::ClassTemplateSpecializationDecl& record, clang::QualType type,
                                         llvm::StringRef called, int depth);
  std::optional<std::string> of_torch(llvm::StringRef class_name, const std::string& spelling, const std::string& name,
                                      clang::QualType of, int depth);
  std::optional<std::string> sequence(const std::string& spelling, const std::string& name, clang::QualType of,
                                      llvm::StringRef called, int depth);
  [[nodiscard]] std::string tensors_for(clang::QualType back);
  [[nodiscard]] std::string callback(const clang::FunctionProtoType& signature);
  [[nodiscard]] bool is_shape(clang::QualType of) const;
  void fill(const std::string& name, const clang::CXXRecordDecl& record, int depth);
  bool fill_array(const std::string& name, clang::QualType type, llvm::StringRef called, int depth);
  bool is_object(clang::QualType pointer);
  bool is_pointer_to_object(clang::QualType type);
  const clang::ParmVarDecl* counted_array(const clang::FunctionDecl& function);

  [[nodiscard]] std::string how_many() const { return way_.own == Way::Size::Few ? "3" : std::to_string(kUsual); }
  [[nodiscard]] std::string elements() const {
    return std::to_string(way_.own == Way::Size::Few ? kFewElements : kUsual);
  }

  [[nodiscard]] std::string elements_needed(clang::QualType of) const;

  Symbols& symbols_;
  clang::ASTContext& context_;
  const Way way_;
  const KnownOfFile& file_;
  const bool torch_;  ///< PyTorch is used: tensors may be small, so that slots are used again
  Caller& caller_;
  bool makes_ = false;  ///< the object whose life the caller follows is being constructed
  bool fixed_ = false;  ///< numbers are small
  bool bytes_ = false;  ///< the current argument list has a number of bytes
  int variables_ = 0;
  bool alone_ = false;                           ///< a pointer is to one object: numbers of objects are 1
  const clang::ParmVarDecl* counted_ = nullptr;  ///< the parameter that points to many objects
  bool kept_ = false;                            ///< objects live until the end of the caller
  bool called_back_ = false;                     ///< the current value is returned by a callback
  int streams_ = 0;
  int collections_ = 0;  ///< arrays and containers that were made
  int collection_ = 0;   ///< the one whose elements are being made
  int user_ = 0;
  int which_ = 0;
  int lists_ = 0;                                               ///< lists of numbers in this call
  int unnamed_ = 0;                                             ///< numbers in this call whose names say nothing
  int calls_ = 0;                                               ///< calls for which arguments were made
  std::string element_;                                         ///< the counter of the loop that makes elements
  std::map<const clang::CXXRecordDecl*, std::string> objects_;  ///< objects of the program's classes in this call
  /// Classes whose fields are being filled, one inside the other, each with the element_ at that time.
  std::multimap<const clang::CXXRecordDecl*, std::string> filling_;
  std::string begins_at_;                          ///< the value of the last number that is a begin
  const clang::DeclContext* begins_in_ = nullptr;  ///< the function or class that declares it
  std::set<std::uint64_t> compared_;               ///< numbers of this call that were chosen by a comparison
  bool again_ = false;
  std::map<const clang::ParmVarDecl*, std::string> first_;  ///< objects that the first call referred to
  std::vector<std::pair<const clang::CXXRecordDecl*, std::string>> lent_;
  const clang::Decl* filled_ = nullptr;                 ///< the parameter or field that gets a value
  std::map<const clang::Decl*, std::size_t> given_as_;  ///< numbers of the parameters and fields that got memory
  std::size_t tensors_ = 0;                             ///< tensors that it has got so far
  std::map<std::pair<const clang::Decl*, std::size_t>, std::size_t> given_tensors_;  ///< numbers of the tensors
};

}  // namespace streamsan::analyzer
