// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions that are the same except for what their kernels compute:
//
//     void abs(const float* in, float* out, cudaStream_t s) { abs_kernel<<<8, 256, 0, s>>>(in, out); }
//     void op_abs(Context& context, Tensor* out) { abs(out->from, out->data, context.stream()); }
//     void neg(const float* in, float* out, cudaStream_t s) { neg_kernel<<<8, 256, 0, s>>>(in, out); }
//     void op_neg(Context& context, Tensor* out) { neg(out->from, out->data, context.stream()); }
//
// A library has dozens of them, and all use streams as the first two do. Two functions are alike if they have the same
// statements, with the same types, names and values, and if the functions that they call are the same ones or alike.
// Two kernels are alike if they take the same parameters and write through the same ones. An instance of a template is
// treated like any function. Two classes are the same or different: their members, destructors included, are not
// compared.
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

  /// Was it asked about two functions before that are like this one?
  bool is_one_more(const clang::FunctionDecl& function);

 private:
  friend class FunctionShape;
  /// Functions that are alike have the same number.
  using Number = std::uintptr_t;
  using Words = std::vector<Number>;
  Number shape_of(const clang::FunctionDecl& definition);
  Number callee(const clang::FunctionDecl& function);

  const clang::SourceManager& sources_;
  std::map<Words, Number> shapes_;
  std::map<const clang::FunctionDecl*, Number> known_;  ///< by definition
  std::map<Number, int> asked_;                         ///< how many functions of a shape it was asked about
};

}  // namespace streamsan::analyzer
