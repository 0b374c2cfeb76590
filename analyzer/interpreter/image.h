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
  /// There was not enough memory, so some values are wrong.
  [[nodiscard]] bool full() const { return full_; }
  const Byte* constant(const llvm::Constant& value);
  /// The address of a variable, an alias or a function.
  Word address_of(const llvm::Value& global);
  /// The variable that begins there; nullptr: there is none.
  [[nodiscard]] const llvm::GlobalVariable* variable_at(Word address) const;
  /// New memory for a variable, with its initial value.
  Byte* fresh(const llvm::GlobalVariable& global);
  /// The function at this address; nullptr: there is none.
  [[nodiscard]] const llvm::Function* function_at(Word address) const;
  /// The symbol of the type_info at this address, if it is one of another file; nullptr: it is not.
  [[nodiscard]] const std::string* outside_type(Word address) const;
  /// The type_info of another file with this symbol. 0: there is no memory.
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
