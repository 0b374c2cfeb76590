// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyzer/tool/source_order.h"

#include <algorithm>
#include <map>

#include "clang/Basic/LangOptions.h"
#include "clang/Lex/Lexer.h"

namespace streamsan::analyzer {
namespace {

/// Follows declarations at namespace level, token by token.
class Definitions {
 public:
  explicit Definitions(Mentions& found) : found_(found) {}

  void see(const clang::Token& token, llvm::StringRef name) {
    if (inside_ > 0) {
      if ((token.is(clang::tok::l_paren) || token.is(clang::tok::less)) && !last_.empty())
        found_.calls.insert(last_.str());
      last_ = name;
      inside_ += token.is(clang::tok::l_brace) ? 1 : token.is(clang::tok::r_brace) ? -1 : 0;
      if (inside_ == 0) begin();
      return;
    }
    if (token.is(clang::tok::raw_identifier)) {
      if (name == "namespace" || name == "extern") opens_namespace_ = true;
      if (name == "static") own_ = true;
      if (parentheses_ == 0) last_ = name;
      return;
    }
    switch (token.getKind()) {
      case clang::tok::l_paren:
        if (parentheses_++ == 0 && function_.empty()) function_ = last_;
        break;
      case clang::tok::r_paren:
        --parentheses_;
        break;
      case clang::tok::semi:
      case clang::tok::r_brace:  // of a namespace
        begin();
        break;
      case clang::tok::l_brace:
        if (!function_.empty() && !own_) found_.defines.insert(function_.str());
        if (function_.empty() && opens_namespace_)
          begin();
        else
          inside_ = 1;
        break;
      default:
        break;
    }
  }

 private:
  void begin() {
    last_ = function_ = {};
    opens_namespace_ = own_ = false;
    parentheses_ = 0;
  }

  Mentions& found_;
  llvm::StringRef last_, function_;
  bool opens_namespace_ = false, own_ = false;
  int parentheses_ = 0;
  int inside_ = 0;  ///< braces of a body
};

}  // namespace

Mentions mentions_in(std::string_view text) {
  Mentions found;
  const std::string terminated(text);
  clang::LangOptions language;
  language.CPlusPlus = language.CPlusPlus11 = language.LineComment = true;
  clang::Lexer lexer(clang::SourceLocation(), language, terminated.data(), terminated.data(),
                     terminated.data() + terminated.size());
  Definitions definitions(found);
  clang::Token token;
  bool directive = false;
  while (!lexer.LexFromRawLexer(token)) {
    if (token.isAtStartOfLine()) directive = token.is(clang::tok::hash);
    if (directive) continue;
    const llvm::StringRef name = token.is(clang::tok::raw_identifier) ? token.getRawIdentifier() : llvm::StringRef();
    definitions.see(token, name);
  }
  return found;
}

SourceOrder order_of(const std::vector<Mentions>& files) {
  constexpr std::size_t kSeveral = static_cast<std::size_t>(-1);
  std::map<std::string, std::size_t> defined_in;
  for (std::size_t i = 0; i < files.size(); ++i)
    for (const std::string& name : files[i].defines)
      if (const auto [known, fresh] = defined_in.emplace(name, i); !fresh) known->second = kSeveral;

  std::vector<std::set<std::size_t>> uses(files.size()), used_by(files.size());
  for (std::size_t i = 0; i < files.size(); ++i)
    for (const std::string& name : files[i].calls)
      if (const auto found = defined_in.find(name);
          found != defined_in.end() && found->second != i && found->second != kSeveral) {
        uses[i].insert(found->second);
        used_by[found->second].insert(i);
      }

  SourceOrder result;
  result.after.resize(files.size());
  std::vector<std::set<std::size_t>> open = uses;  // without those that have their place
  std::set<std::size_t> ready, left;
  for (std::size_t i = 0; i < files.size(); ++i) (open[i].empty() ? ready : left).insert(i);
  const auto place = [&](std::size_t file) {
    result.order.push_back(file);
    for (const std::size_t other : uses[file])
      if (!open[file].contains(other)) result.after[file].push_back(other);
    for (const std::size_t user : used_by[file]) {
      open[user].erase(file);
      if (open[user].empty() && left.erase(user) != 0) ready.insert(user);
    }
  };
  while (!ready.empty() || !left.empty()) {
    if (!ready.empty()) {
      place(ready.extract(ready.begin()).value());
      continue;
    }
    const auto waiting_for = [&](std::size_t file) {
      return std::ranges::count_if(used_by[file], [&](std::size_t user) { return left.contains(user); });
    };
    const std::size_t first = *std::ranges::max_element(left, {}, waiting_for);
    left.erase(first);
    place(first);
  }
  return result;
}

}  // namespace streamsan::analyzer
