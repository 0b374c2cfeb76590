// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions that the toolkit's cuda_runtime_api.h declares, with the text of each parameter.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace streamsan::analyzer {

/// By name; "enum cudaMemcpyKind kind" is the text of a parameter.
const std::map<std::string, std::vector<std::string>>& declared_runtime_functions();

}  // namespace streamsan::analyzer
