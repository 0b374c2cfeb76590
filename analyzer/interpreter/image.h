// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The module in memory: its variables, its constants, and an address for each function.
#pragma once

#include <map>
#include <string>
#include <unordered_map>

#include "analyzer/interpreter/memory.h"
#include "llvm/ADT/DenseMap.h"

namespace llvm {
class Constant;
class DataLayout;
class Function;
class GlobalVariable;
class Module;
class Value;
}  // namespace llvm

namespace streamsan::analyzer::interpreter {

class Image {
 public:
  Image(const llvm::Module& module, Memory& memory);

  [[nodiscard]] const llvm::DataLayout& layout() const { return layout_; }
  /// Some of it found no room: what it is is then wrong.
  [[nodiscard]] bool full() const { return full_; }
  const Byte* constant(const llvm::Constant& value);
  /// The address of a variable, an alias or a function.
  Word address_of(const llvm::Value& global);
  /// The variable that begins there; nullptr: there is none.
  [[nodiscard]] const llvm::GlobalVariable* variable_at(Word address) const;
  /// Room for a variable, with its initial value.
  Byte* fresh(const llvm::GlobalVariable& global);
  /// nullptr: there is none.
  [[nodiscard]] const llvm::Function* function_at(Word address) const;
  /// The symbol of a type_info of another file; nullptr: it is none.
  [[nodiscard]] const std::string* outside_type(Word address) const;
  /// The type_info of that name, of which only the name is known. 0: there is no memory.
  Word outside_type(const std::string& name);

 private:
  void write_constant(const llvm::Constant& value, Byte* to);
  Byte* variable(const llvm::GlobalVariable& global);

  const llvm::DataLayout& layout_;
  Memory& memory_;
  bool full_ = false;
  llvm::DenseMap<const llvm::Constant*, Byte*> constants_;
  llvm::DenseMap<const llvm::Value*, Byte*> globals_;
  std::unordered_map<Word, const llvm::GlobalVariable*> variables_;
  std::unordered_map<Word, const llvm::Function*> functions_;
  std::map<Word, std::string> outside_types_;
};

}  // namespace streamsan::analyzer::interpreter
