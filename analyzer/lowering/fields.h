// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which fields of classes own the streams and events that they hold. See fields.cpp.
#pragma once

#include <map>
#include <string>

#include "analyzer/ir/ir.h"
#include "analyzer/models/model.h"

namespace clang {
class ASTContext;
class FieldDecl;
class QualType;
}  // namespace clang

namespace streamsan::analyzer {

/// Stream or Event, through arrays, pointers and containers of handles; Other for anything else.
ir::TypeKind handle_kind(clang::QualType type, const Models& models);

/// "ns::Class::field", as in Program::fields. All instantiations of a class template have one.
std::string field_key(const clang::FieldDecl& field);

/// Every field that holds streams or events, as handles, arrays, std::array or vectors of handles, in classes outside
/// of system headers.
std::map<std::string, ir::HandleField> handle_fields(clang::ASTContext& context, const Models& models);

}  // namespace streamsan::analyzer
