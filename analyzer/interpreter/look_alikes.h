// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions that are the same but for what the kernels compute that they launch:
//
//     void abs(const float* in, float* out, cudaStream_t s) { abs_kernel<<<8, 256, 0, s>>>(in, out); }
//     void op_abs(Context& context, Tensor* out) { abs(out->from, out->data, context.stream()); }
//     void neg(const float* in, float* out, cudaStream_t s) { neg_kernel<<<8, 256, 0, s>>>(in, out); }
//     void op_neg(Context& context, Tensor* out) { neg(out->from, out->data, context.stream()); }
//
// A library has dozens of them, and what the first two do with streams the others do, too. Two functions are alike if
// they have the same statements, with the same types, names and values in them; the functions that they call are the
// same ones, or alike; and so are kernels that take the same parameters and write through the same ones. An
// instance of a template is analysed as any function is. A class, and with it what its objects do at their end, is
// the same or another one: it is not looked into.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace clang {
class FunctionDecl;
class SourceManager;
}  // namespace clang

namespace streamsan::analyzer {

class LookAlikes {
 public:
  explicit LookAlikes(const clang::SourceManager& sources) : sources_(sources) {}

  /// Has it been asked about two that are like this one?
  bool is_one_more(const clang::FunctionDecl& function);

 private:
  friend class FunctionShape;
  /// Those that are alike have one.
  using Number = std::uintptr_t;
  using Words = std::vector<Number>;
  Number shape_of(const clang::FunctionDecl& definition);
  Number callee(const clang::FunctionDecl& function);

  const clang::SourceManager& sources_;
  std::map<Words, Number> shapes_;
  std::map<const clang::FunctionDecl*, Number> known_;  ///< by definition
  std::map<Number, int> asked_;                         ///< about how many of a shape
};

}  // namespace streamsan::analyzer
