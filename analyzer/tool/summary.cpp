// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counting. A finding in a header that several files include is one; functions are counted for each file that has them.
// Only functions that have to do with CUDA are counted, those that were analysed and those that could not be: the
// thousands of others in a translation unit would hide what was left out.
#include "analyzer/tool/summary.h"

#include <set>
#include <sstream>

#include "analyzer/tool/text_output.h"

namespace streamsan::analyzer {

Summary::Summary(const std::vector<FileResults>& files) : files_(files) {
  std::set<std::string> with_findings;
  for (const FileResults& file : files) {
    analysed_ += file.functions_analyzed;
    relevant_ += file.functions_analyzed + file.skipped.size();
    looked_at_ += file.analysed ? 1 : 0;
    known_ += file.known_fingerprints.size();
    hidden_.insert(file.hidden.begin(), file.hidden.end());
    not_followed_.insert(file.not_followed.begin(), file.not_followed.end());
    if (!file.problem.empty()) {
      problems_.push_back(shown_path(file.file));
    }
    for (const Result& result : file.results) {
      if (result.repeated) {
        continue;
      }
      if (result.known) {
        ++known_;
        continue;
      }
      ++shown_;
      if (result.level) ++levels_[*result.level];
      with_findings.insert(result.site.place.file);
      counts_ = counts_ || result.counts();
    }
  }
  with_findings_ = with_findings.size();
}

std::string Summary::text(const Baseline* baseline, bool across_files) const {
  std::ostringstream text;
  text << plural(shown_, "finding");
  if (shown_ > 0) {
    std::string parts;
    for (const auto& [level, count] : levels_) {
      parts += (parts.empty() ? "" : ", ") + std::to_string(count) + " " + name(level);
    }
    text << (parts.empty() ? "" : " (" + parts + ")") << " in " << plural(with_findings_, "file");
  }
  if (!hidden_.empty()) {
    text << "; " << hidden_.size() << " latent not shown (--levels=definite,likely,latent)";
  }
  if (baseline != nullptr) {
    text << "; baseline: " << shown_ << " new, " << known_ << " known, " << baseline->fixed(files_) << " fixed";
  }
  text << "; " << analysed_ << " of " << plural(relevant_, "function") << " analysed in " << plural(looked_at_, "file");
  if (analysed_ < relevant_) {
    text << " (--show-skipped names the others)";
  }
  if (!not_followed_.empty() && !across_files) {
    text << "; " << plural(not_followed_.size(), "function") << " of other files "
         << (not_followed_.size() == 1 ? "is" : "are")
         << " given streams or events and not followed (--cross-tu follows "
         << (not_followed_.size() == 1 ? "it" : "them") << " into the files that are given, too)";
  }
  for (std::size_t i = 0; i < problems_.size(); ++i) {
    text << (i == 0 ? "; not analysed, or not whole: " : ", ") << problems_[i];
  }
  return text.str();
}

}  // namespace streamsan::analyzer
