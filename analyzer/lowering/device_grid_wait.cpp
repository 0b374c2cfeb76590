// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads tokens of a file as they are written, also those that the preprocessor skips. See device_grid_wait.h.
#include "analyzer/lowering/device_grid_wait.h"

#include <algorithm>
#include <array>
#include <string>

#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "clang/AST/Stmt.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Lex/Lexer.h"

namespace streamsan::analyzer::device {
namespace {

using clang::Token;

constexpr llvm::StringRef kWait = "griddepcontrol.wait";
constexpr llvm::StringRef kTrigger = "griddepcontrol.launch_dependents";

/// Small letters alone: cudaGridDependencySynchronize and GRID_DEPENDENCY_SYNCHRONIZE are one name.
std::string bare(llvm::StringRef name) {
  std::string result;
  for (const char c : name)
    if (c != '_') result += llvm::toLower(c);
  return result;
}

bool has(llvm::StringRef text, std::initializer_list<llvm::StringRef> words) {
  return std::any_of(words.begin(), words.end(), [&](llvm::StringRef word) { return text.contains(word); });
}

/// Reads the tokens of one file from `begin` to `end`.
class Reader {
 public:
  Reader(const clang::SourceManager& sources, const clang::LangOptions& options, clang::FileID file, unsigned begin,
         unsigned end)
      : text_(sources.getBufferData(file)),
        end_(end),
        lexer_(sources.getLocForStartOfFile(file), options, text_.begin(), text_.begin() + begin, text_.end()),
        sources_(sources) {}

  bool next(Token& token) {
    lexer_.LexFromRawLexer(token);
    at_ = sources_.getFileOffset(token.getLocation());
    return token.isNot(clang::tok::eof) && at_ < end_;
  }
  [[nodiscard]] unsigned at() const { return at_; }
  [[nodiscard]] llvm::StringRef spelling(const Token& token) const { return text_.substr(at_, token.getLength()); }

 private:
  llvm::StringRef text_;
  unsigned end_;
  clang::Lexer lexer_;
  const clang::SourceManager& sources_;
  unsigned at_ = 0;
};

/// The parts of a function that only one architecture has: what is called there is not seen.
class Regions {
 public:
  /// `text` begins with the hash of a directive.
  void directive(llvm::StringRef text) {
    const llvm::StringRef line = text.drop_front().take_until([](char c) { return c == '\n'; }).ltrim();
    if (line.starts_with("if")) {
      open_.push_back(line.contains("__CUDA_ARCH"));
    } else if (line.starts_with("endif") && !open_.empty()) {
      open_.pop_back();
    }
  }
  [[nodiscard]] bool unseen() const { return std::ranges::find(open_, true) != open_.end(); }
  /// Under conditions that are the same for the host.
  [[nodiscard]] bool as_for_host() const { return !open_.empty() && !unseen(); }
  /// And under no other condition: that one may leave it out everywhere.
  [[nodiscard]] bool unseen_only() const { return unseen() && std::ranges::find(open_, false) == open_.end(); }

 private:
  std::vector<bool> open_;
};

bool is_harmless(llvm::StringRef name) {
  return name.starts_with("__") || name == "asm" || name == "defined" || name == "if" || name == "for" ||
         name == "while" || name == "switch" || name == "sizeof" || name == "volatile" || name == "static_assert";
}

}  // namespace

GridCall grid_call(llvm::StringRef function_name) {
  const std::string name = bare(function_name);
  if (!has(name, {"griddep", "dependentgrid", "pdl", "gdc", "griddependenc", "programmaticlaunch", "pregrid"}))
    return GridCall::None;
  if (has(name, {"launchdependent", "trigger", "completion", "launchnext"})) return GridCall::Trigger;
  return has(name, {"wait", "sync"}) ? GridCall::Wait : GridCall::None;
}

GridCall grid_assembly(llvm::StringRef text) {
  if (text.contains(kWait)) return GridCall::Wait;
  return text.contains(kTrigger) ? GridCall::Trigger : GridCall::None;
}

namespace {

/// Then a call of it that the tree does not have is not compiled for the device either.
bool is_function(llvm::StringRef name, clang::ASTContext& context) {
  const clang::DeclContextLookupResult found =
      context.getTranslationUnitDecl()->lookup(clang::DeclarationName(&context.Idents.get(name)));
  return std::any_of(found.begin(), found.end(),
                     [](const clang::NamedDecl* each) { return llvm::isa<clang::FunctionDecl>(each); });
}

}  // namespace

std::vector<Mark> marks_in(const clang::FunctionDecl& definition) {
  const clang::SourceManager& sources = definition.getASTContext().getSourceManager();
  const clang::Stmt* body = definition.getBody();
  if (body == nullptr || body->getBeginLoc().isMacroID() || body->getEndLoc().isMacroID()) return {};
  const auto [file, begin] = sources.getDecomposedLoc(body->getBeginLoc());
  const auto [end_file, end] = sources.getDecomposedLoc(body->getEndLoc());
  if (file != end_file || end <= begin) return {};
  const llvm::StringRef text = sources.getBufferData(file).slice(begin, end);
  const auto mentions = [&](llvm::StringRef word) { return text.contains_insensitive(word); };
  constexpr std::array kWords = {"__CUDA_ARCH", "griddep", "grid_dep", "dependentgrid", "dependent_grid",
                                 "pdl",         "gdc",     "pregrid",  "pre_grid",      "programmatic"};
  if (std::none_of(kWords.begin(), kWords.end(), mentions)) return {};

  std::vector<Mark> marks;
  Reader reader(sources, definition.getASTContext().getLangOpts(), file, begin, end);
  Regions regions;
  std::string name;  // of the token before, if it may be a function
  unsigned name_at = 0;
  for (Token token; reader.next(token);) {
    if (token.is(clang::tok::hash) && token.isAtStartOfLine()) {
      regions.directive(text.drop_front(reader.at() - begin));
    } else if (clang::tok::isStringLiteral(token.getKind())) {
      const GridCall call = grid_assembly(reader.spelling(token));
      if (call != GridCall::None) marks.push_back({reader.at(), call});
    } else if (token.is(clang::tok::l_paren) && !name.empty()) {
      const GridCall call = grid_call(name);
      if (call != GridCall::None) {
        if (!regions.as_for_host() || !is_function(name, definition.getASTContext())) marks.push_back({name_at, call});
      } else if (regions.unseen() && !is_harmless(name)) {
        marks.push_back({name_at, GridCall::PerhapsWait});
      }
    }
    name = token.is(clang::tok::raw_identifier) ? reader.spelling(token).str() : std::string();
    name_at = reader.at();
  }
  return marks;
}

namespace {

void visible_unfenced(const clang::Stmt* statement, std::vector<clang::SourceLocation>& found) {
  if (statement == nullptr) return;
  if (const auto* assembly = llvm::dyn_cast<clang::GCCAsmStmt>(statement);
      assembly != nullptr && llvm::StringRef(assembly->getAsmString()).contains(kWait)) {
    bool fenced = false;
    for (unsigned i = 0; i < assembly->getNumClobbers(); ++i) fenced |= assembly->getClobber(i) == "memory";
    if (!fenced) found.push_back(assembly->getAsmLoc());
  }
  for (const clang::Stmt* child : statement->children()) visible_unfenced(child, found);
}

}  // namespace

std::vector<clang::SourceLocation> unfenced_waits(const clang::FunctionDecl& definition) {
  std::vector<clang::SourceLocation> found;
  const clang::Stmt* body = definition.getBody();
  if (body == nullptr) return found;
  const clang::SourceManager& sources = definition.getASTContext().getSourceManager();
  const auto [file, begin] = sources.getDecomposedExpansionLoc(body->getBeginLoc());
  const auto [end_file, end] = sources.getDecomposedExpansionLoc(body->getEndLoc());
  if (file != end_file || end <= begin) return found;
  const llvm::StringRef text = sources.getBufferData(file).slice(begin, end);
  if (!text.contains("grid") && !text.contains("GRID") && !text.contains("asm")) return found;
  visible_unfenced(body, found);
  if (!text.contains(kWait) || !text.contains("__CUDA_ARCH")) return found;

  // In the parts for one architecture.
  Reader reader(sources, definition.getASTContext().getLangOpts(), file, begin, end);
  Regions regions;
  clang::SourceLocation statement, wait;
  bool fenced = false;
  unsigned deep = 0;
  for (Token token; reader.next(token);) {
    const llvm::StringRef spelled = reader.spelling(token);
    if (token.is(clang::tok::hash) && token.isAtStartOfLine()) {
      regions.directive(text.drop_front(reader.at() - begin));
    } else if (deep == 0) {
      if (token.is(clang::tok::raw_identifier) && (spelled == "asm" || spelled == "__asm__" || spelled == "__asm")) {
        statement = token.getLocation();
        wait = {};
        fenced = false;
      } else if (token.is(clang::tok::l_paren) && statement.isValid()) {
        deep = 1;
      } else if (spelled != "volatile" && spelled != "__volatile__" && spelled != "__volatile") {
        statement = {};
      }
    } else if (token.is(clang::tok::l_paren)) {
      ++deep;
    } else if (token.is(clang::tok::r_paren)) {
      if (--deep != 0) continue;
      if (wait.isValid() && !fenced && regions.unseen_only() && std::ranges::find(found, wait) == found.end())
        found.push_back(wait);
      statement = {};
    } else if (clang::tok::isStringLiteral(token.getKind())) {
      if (spelled.contains(kWait)) wait = statement;
      fenced = fenced || spelled == "\"memory\"";
    }
  }
  return found;
}

}  // namespace streamsan::analyzer::device
