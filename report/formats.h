// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the formats for CI services have in common (sarif.h, junit.h, github.h): which findings they list, and what they
// are given besides the findings.
//
// They list what a person is to look at, and so, unlike the JSON file, which has all: findings of the severities that
// are shown as text, what was asked for (hints), and of the calls that synchronise those that could go or do less. A
// call that is needed is no finding to anybody.
#pragma once

#include <string>

#include "report/finding.h"
#include "report/source_root.h"

namespace streamsan::report {

struct FormatContext {
  SourceRoot root;
  Severity least = Severity::Latent;  ///< least severity listed
  int exit_code = 0;                  ///< with which the command will end
};

bool is_listed(const Finding& finding, Severity least);

}  // namespace streamsan::report
