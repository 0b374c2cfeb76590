// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an expression of the source is by itself, whatever was lowered before it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace clang {
class ASTContext;
class CXXConstructExpr;
class CXXConstructorDecl;
class ClassTemplateSpecializationDecl;
class Expr;
class QualType;
}  // namespace clang

namespace streamsan::analyzer::host {

/// The expression without the parts that do not change which object or value it means.
const clang::Expr* strip(const clang::Expr* expression);
/// What is taken off includes a cast to an integer that is smaller than an int: the value may be another.
bool narrows(const clang::Expr* expression, const clang::ASTContext& context);
/// The integer that it is, also where that is cast to a handle: (cudaStream_t)2.
std::optional<std::int64_t> constant(const clang::Expr* expression_or_null, const clang::ASTContext& context);
/// The number of elements of an array, or of a std::array.
std::optional<std::uint64_t> fixed_size(clang::QualType type);
/// The class of a std::array; nullptr: another type.
const clang::ClassTemplateSpecializationDecl* std_array(clang::QualType type);
/// What the constructor of a std::array does to each of its elements: their default construction. nullptr: nothing.
const clang::CXXConstructExpr* construction_of_elements(const clang::CXXConstructorDecl& constructor);
/// No std::array of the class is copied, moved or swapped anywhere: each element ends where its array does.
bool elements_stay(const clang::ClassTemplateSpecializationDecl& array);
/// As it is written, white space normalised, cut off where it is long.
std::string source_text(const clang::Expr* expression, const clang::ASTContext& context);

}  // namespace streamsan::analyzer::host
