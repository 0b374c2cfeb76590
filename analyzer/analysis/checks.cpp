// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The names of checks.
//
// All of it comes from checks.def. The strings are part of the program's interface: they stand in command lines, in
// NOLINT comments and in baselines. A switch without a default makes the compiler report a row that was forgotten.
#include "analyzer/analysis/hazard.h"

namespace streamsan::analyzer {

const char* id(Check check) {
  switch (check) {
#define SS_CHECK(enumerator, id, group, summary) \
  case Check::enumerator:                        \
    return id;
#include "analyzer/analysis/checks.def"
#undef SS_CHECK
  }
  return "";
}

const char* summary(Check check) {
  switch (check) {
#define SS_CHECK(enumerator, id, group, summary) \
  case Check::enumerator:                        \
    return summary;
#include "analyzer/analysis/checks.def"
#undef SS_CHECK
  }
  return "";
}

Group group(Check check) {
  switch (check) {
#define SS_CHECK(enumerator, id, group, summary) \
  case Check::enumerator:                        \
    return Group::group;
#include "analyzer/analysis/checks.def"
#undef SS_CHECK
  }
  return Group::Correctness;
}

}  // namespace streamsan::analyzer
