// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The names of Clang's declarations in the models' language, and what the models know of them. See symbols.cpp.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "analyzer/ir/ir.h"
#include "analyzer/lowering/device_only.h"
#include "analyzer/models/model.h"
#include "llvm/ADT/DenseMap.h"

namespace clang {
class ASTContext;
class CXXRecordDecl;
class Decl;
class FunctionDecl;
class NamedDecl;
class QualType;
class SourceManager;
}  // namespace clang

namespace streamsan::analyzer {

class Symbols {
 public:
  Symbols(clang::ASTContext& context, const Models& models);

  struct Known {
    Callee callee;
    const Model* model = nullptr;
    bool harmless = false;
  };
  /// What is known of a function, cached by canonical declaration.
  const Known& known(const clang::FunctionDecl& function);

  /// "std::vector::data": inline and anonymous namespaces and template arguments dropped.
  static std::string qualified(const clang::NamedDecl& declaration);
  /// As shown to users: "Pool<float>::acquire".
  std::string shown(const clang::FunctionDecl& function) const;
  static std::string usr(const clang::Decl& declaration);

  /// References are what they refer to.
  ir::TypeKind kind(clang::QualType type);
  /// The class that a type is, references and cv dropped; nullptr: none.
  static const clang::CXXRecordDecl* record(clang::QualType type);
  std::optional<Models::Owner> owner(clang::QualType type);
  /// An owner that shares its block, which its allocator gets back in the order of a stream.
  bool is_tensor(clang::QualType type);
  /// The memory of the block of a host container or smart pointer, by its allocator or deleter.
  std::optional<ordering::MemoryKind> block_memory(clang::QualType type);
  Policy policy(clang::QualType type);
  /// std::unique_ptr and its kin: the object holds a pointer and is not indexed itself.
  bool points(clang::QualType type);
  /// Its elements live in a block of their own: std::vector, std::string, thrust::device_vector.
  bool has_block(clang::QualType type);
  /// Elements are taken away at its front: std::deque, std::list, std::queue.
  bool queues(clang::QualType type);
  /// std::queue, std::stack: what push() and pop() mean is theirs.
  bool adapts(clang::QualType type);
  /// An iterator of a library's container.
  bool is_tuple(clang::QualType type);
  bool is_map(clang::QualType type);
  bool iterates(clang::QualType type);
  /// std::span, std::string_view: `$data` is a pointer into somebody else's memory.
  bool views(clang::QualType type);

  [[nodiscard]] bool in_system_header(const clang::Decl& declaration) const;
  [[nodiscard]] const Models& models() const { return models_; }
  [[nodiscard]] clang::ASTContext& context() const { return context_; }

 private:
  ir::TypeKind compute_kind(clang::QualType type);
  const std::string& class_name(clang::QualType type);

  clang::ASTContext& context_;
  const Models& models_;
  llvm::DenseMap<const clang::FunctionDecl*, std::unique_ptr<Known>> known_;
  llvm::DenseMap<const void*, ir::TypeKind> kinds_;
  llvm::DenseMap<const clang::CXXRecordDecl*, std::string> class_names_;
};

}  // namespace streamsan::analyzer
