// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the formats for CI services have in common (sarif.h, junit.h, github.h): which findings they list, and what they
// are given besides the findings.
//
// Unlike the JSON file, which has all findings, they list those that a person should look at: the severities that are
// shown as text, hints, and of the synchronising calls those that could be removed or replaced.
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
