// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C++ text for functions that libtorch defines and its headers do not. See torch_text.cpp.
#pragma once

#include <span>

namespace clang {
class ASTContext;
}

namespace streamsan::analyzer {

/// Does the translation unit include PyTorch's headers?
bool has_torch(clang::ASTContext& context);

/// The pieces of text. Each is parsed by itself: a piece that does not suit the version of the headers is left out.
/// Only the first one is required.
std::span<const char* const> torch_text();

// Functions of the text that the interpreter calls, and functions of the interpreter that the text calls.
inline constexpr const char* kTorchPut = "streamsan_torch_put";  ///< void(at::Tensor*, About*)
/// void(vector<at::Tensor>*, About**, size_t)
inline constexpr const char* kTorchPutList = "streamsan_torch_put_list";
inline constexpr const char* kTorchReplace = "streamsan_torch_replace";  ///< void(at::Tensor*, About*)
/// at::Tensor(unsigned long number and sizes, TensorSizes)
inline constexpr const char* kGivenTensor = "streamsan_given_tensor";
inline constexpr const char* kTorchCalled = "streamsan_torch_called";  ///< void(): a call of the caller's is over
/// c10::cuda::CUDAStream(unsigned long)
inline constexpr const char* kGivenTorchStream = "streamsan_given_torch_stream";

}  // namespace streamsan::analyzer
