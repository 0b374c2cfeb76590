// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models of in-house wrappers, from a file that their authors write: docs/analyzer-models.md.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analyzer/models/catalog.h"
#include "analyzer/models/types.h"

namespace streamsan::analyzer {

struct UserModel {
  std::string function;
  int arguments = kAnyArguments;
  Model model;
};

struct UserModels {
  std::vector<UserModel> models;
  std::vector<std::pair<std::string, TypeFacts>> types;
};

/// False on a bad file, with "FILE:LINE:COL: reason" in `error`.
bool read_yaml(const std::string& path, UserModels& out, std::string& error);

}  // namespace streamsan::analyzer
