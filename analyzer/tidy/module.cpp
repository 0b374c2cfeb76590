// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The clang-tidy module: one class for all checks, registered once for each row of checks.def.
//
// All checks of a translation unit read one analysis. The first whose matcher fires makes it, and it is dropped when
// the translation unit ends; the AST context tells translation units apart. clang-tidy runs one translation unit at a
// time in a process, so the shared analysis needs no lock.
//
// The only matcher is for the translation unit itself: the lowering does its own walk.
#include <algorithm>
#include <memory>
#include <optional>

#include "analyzer/models/types.h"
#include "analyzer/tidy/places.h"
#include "analyzer/tidy/settings.h"
#include "analyzer/tidy/sidecar.h"
#include "analyzer/tidy/translation_unit.h"
#include "clang-tidy/ClangTidyCheck.h"
#include "clang-tidy/ClangTidyModule.h"
#include "clang/AST/ASTContext.h"
#include "clang/ASTMatchers/ASTMatchFinder.h"

namespace streamsan::analyzer {
namespace {

using clang::DiagnosticIDs;
using clang::tidy::ClangTidyContext;
using clang::tidy::ClangTidyOptions;

/// Diagnostics are formats; messages are not.
std::string escaped(const std::string& message) {
  std::string result;
  for (const char c : message) {
    result += c == '%' ? "%%" : std::string(1, c);
  }
  return result;
}

std::string written_place(const ir::Site& site) {
  return site.line == 0 ? std::string{} : " (" + site.file + ":" + std::to_string(site.line) + ")";
}

/// False: no name in it is one of a GPU's. Then there is nothing to analyse, and the tables need not be made.
bool may_use_gpus(const clang::ASTContext& context) {
  if (context.getExternalSource() != nullptr) return true;  // whose names come when they are asked for
  return std::ranges::any_of(context.Idents, [](const auto& entry) { return is_gpu_name(entry.first()); });
}

class StreamCheck : public clang::tidy::ClangTidyCheck {
 public:
  StreamCheck(Check check, llvm::StringRef name, ClangTidyContext* context)
      : ClangTidyCheck(name, context), check_(check), context_(*context) {
    if (llvm::StringSet<>* names = context->getOptionsCollector()) {  // --verify-config asks which options exist
      for (const std::string& setting : setting_names(check)) {
        names->insert(setting);
      }
    }
  }

  bool isLanguageVersionSupported(const clang::LangOptions& language) const override { return language.CPlusPlus; }

  void registerPPCallbacks(const clang::SourceManager&, clang::Preprocessor* preprocessor,
                           clang::Preprocessor*) override {
    preprocessor_ = preprocessor;
  }

  void registerMatchers(clang::ast_matchers::MatchFinder* finder) override {
    finder->addMatcher(clang::ast_matchers::translationUnitDecl(), this);
  }

  void check(const clang::ast_matchers::MatchFinder::MatchResult& result) override {
    for (const Finding& finding : analysis(*result.Context).findings) {
      if (finding.check == check_) {
        tell(finding, *result.Context);
      }
    }
  }

  void onEndOfTranslationUnit() override { shared().reset(); }

  void storeOptions(ClangTidyOptions::OptionMap& options) override {
    std::vector<std::string> complaints;
    store_settings(read_settings(context_.getOptions().CheckOptions, complaints), check_, options);
  }

 private:
  struct Shared {
    const clang::ASTContext* context = nullptr;
    Analysis analysis;
  };
  static std::optional<Shared>& shared() {
    static std::optional<Shared> instance;
    return instance;
  }

  const Analysis& analysis(clang::ASTContext& context) {
    std::optional<Shared>& known = shared();
    if (!known || known->context != &context) {
      std::vector<std::string> complaints;
      const Settings settings = read_settings(context_.getOptions().CheckOptions, complaints);
      for (const std::string& complaint : complaints) {
        configurationDiag(escaped(complaint));
      }
      const bool is_asked =
          !settings.model_files.empty() || !settings.summaries_out.empty() || !settings.summaries_in.empty();
      known.emplace(Shared{&context, {}});
      if (is_asked || may_use_gpus(context)) {
        known->analysis = analyze_translation_unit(context, settings, preprocessor_);
      }
      for (const std::string& error : known->analysis.errors) {
        configurationDiag(escaped(error), DiagnosticIDs::Error);
      }
      std::erase_if(known->analysis.hidden, [this](const Finding& finding) {
        return group(finding.check) != Group::Correctness ||
               !context_.isCheckEnabled(std::string("streamsan-") + id(finding.check));
      });
      note_analysed(known->analysis);
      // All that streamsan-tidy runs are these checks, and none of them has another matcher: clang-tidy need not walk
      // through the whole AST for it. (In a plugin it has other checks, too.)
      if (is_worker()) context.setTraversalScope({});
    }
    return known->analysis;
  }

  void tell(const Finding& finding, clang::ASTContext& context) {
    const clang::SourceManager& sources = context.getSourceManager();
    clang::SourceLocation place = locate(finding.site, context);
    std::string message = escaped(finding.message);
    if (place.isInvalid()) {
      // It stands in another translation unit, of which only the summary is known.
      place = sources.getLocForStartOfFile(sources.getMainFileID());
      message += escaped(written_place(finding.site));
    }
    note_reported(finding, place, sources);
    {
      auto warning = diag(place, message);
      for (const clang::FixItHint& hint : repairs(finding.fixes, context)) {
        warning << hint;
      }
    }
    for (const Note& note : finding.notes) {
      const clang::SourceLocation there = locate(note.site, context);
      if (there.isValid()) {
        diag(there, escaped(note.message), DiagnosticIDs::Note);
      } else {
        diag(place, escaped(note.message + written_place(note.site)), DiagnosticIDs::Note);
      }
    }
  }

  const Check check_;
  clang::Preprocessor* preprocessor_ = nullptr;
  ClangTidyContext& context_;
};

class StreamModule : public clang::tidy::ClangTidyModule {
 public:
  void addCheckFactories(clang::tidy::ClangTidyCheckFactories& factories) override {
    for (const Check check : kChecks) {
      factories.registerCheckFactory(std::string("streamsan-") + id(check),
                                     [check](llvm::StringRef name, ClangTidyContext* context) {
                                       return std::make_unique<StreamCheck>(check, name, context);
                                     });
    }
  }
};

const clang::tidy::ClangTidyModuleRegistry::Add<StreamModule> kRegistered("streamsan-module", "CUDA stream ordering");

}  // namespace
}  // namespace streamsan::analyzer
