// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One translation unit, from AST to findings.
//
// Every function is analysed for itself, with its callees inlined. So an error in a helper is raised in the helper and
// again in each of its callers; findings of one check and one pair of sites are one finding, and that of the surest
// level with the fewest calls in between is reported. Structural hazards are looked for in the function as written,
// where no callee is part of it.
//
// Functions that call each other are closed and analysed again for every one that leads to them, and their number is
// the only limit to that. So a translation unit has a number of steps to spend, the small functions first: those that
// are left out are few, and they are named.
//
// Summaries are written before others are read: a file holds what this translation unit knows by itself.
#include "analyzer/tidy/translation_unit.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <ranges>
#include <set>
#include <tuple>

#include "analyzer/analysis/bare_copies.h"
#include "analyzer/analysis/class_protocols.h"
#include "analyzer/analysis/duties.h"
#include "analyzer/analysis/engine.h"
#include "analyzer/analysis/event_protocols.h"
#include "analyzer/analysis/kept_graphs.h"
#include "analyzer/analysis/omitted_stream.h"
#include "analyzer/analysis/round_by_round.h"
#include "analyzer/analysis/structure.h"
#include "analyzer/analysis/workspaces.h"
#include "analyzer/analysis/wrong_devices.h"
#include "analyzer/interpreter/follow.h"
#include "analyzer/ir/copies.h"
#include "analyzer/ir/field_memory.h"
#include "analyzer/ir/graph_launches.h"
#include "analyzer/ir/inline.h"
#include "analyzer/ir/lambdas.h"
#include "analyzer/ir/naming.h"
#include "analyzer/ir/paths.h"
#include "analyzer/ir/size_queries.h"
#include "analyzer/ir/text.h"
#include "analyzer/tidy/fingerprint.h"
#include "analyzer/tidy/instances.h"
#include "analyzer/tidy/lanes.h"
#include "analyzer/tidy/runs.h"
#include "analyzer/tidy/sides.h"
#include "analyzer/tidy/summary_files.h"
#include "clang/AST/ASTContext.h"
#include "clang/Basic/SourceManager.h"

namespace streamsan::analyzer {
namespace {

namespace fs = std::filesystem;

std::string main_file(const clang::ASTContext& context) {
  const clang::SourceManager& sources = context.getSourceManager();
  const auto entry = sources.getFileEntryRefForID(sources.getMainFileID());
  return entry ? entry->getName().str() : "input";
}

bool has_stream_operations(const ir::Function& function) {
  for (const ir::Block& block : function.blocks) {
    for (const ir::Op& op : block.ops) {
      switch (op.kind) {
        case ir::OpKind::Assign:
        case ir::OpKind::Fresh:
        case ir::OpKind::EndOfLife:
        case ir::OpKind::HostAccess:
        case ir::OpKind::Call:
        case ir::OpKind::Return:
        case ir::OpKind::Escape:
        case ir::OpKind::MaySync:
          break;
        default:
          return true;
      }
    }
  }
  return false;
}

/// Functions without a body here, nor in a summary, that are given a stream or an event: what they order is not seen.
std::vector<std::string> not_followed(const ir::Program& program) {
  std::set<std::string> out;
  for (const auto& [usr, function] : program.functions) {
    const auto is_given = [&function](const ir::Operand& operand) {
      if (operand.kind != ir::Operand::Kind::Value && operand.kind != ir::Operand::Kind::Address) return false;
      const ir::TypeKind type = function[operand.place].type;
      return type == ir::TypeKind::Stream || type == ir::TypeKind::Event;
    };
    for (const ir::Block& block : function.blocks) {
      for (const ir::Op& op : block.ops) {
        if (op.kind == ir::OpKind::Call && !program.functions.contains(op.callee) &&
            std::ranges::any_of(op.arguments, is_given)) {
          out.insert(op.callee);
        }
      }
    }
  }
  return {out.begin(), out.end()};
}

/// As it is, and with its loops written out.
Verdict look_at(ir::Function closed, const ir::Program& program, const EngineOptions& limits, const Roles& roles,
                bool with_streams) {
  std::optional<ir::WrittenOut> written = with_streams ? ir::write_out_loops(closed) : std::nullopt;
  ir::tell_paths_apart(closed);
  ir::complete_copies(closed);
  const std::optional<Duty> duty = owe(closed, program);
  Verdict verdict = analyze(closed, program, limits, &roles, duty ? &*duty : nullptr);
  if (written && verdict.gave_up.empty()) {
    EngineOptions left = limits;
    left.most_steps -= std::min(left.most_steps, verdict.steps);
    look_round_by_round(std::move(*written), program, left, roles, verdict);
  }
  return verdict;
}

/// So does any other that does the same: it shows nothing, and no caller of its own was asked, or is too large.
bool is_for_all(const Verdict& verdict) {
  if (!verdict.gave_up.empty()) return verdict.gave_up != kNoStepsLeft;
  return !verdict.of_callers && verdict.hazards.empty() && verdict.duties.empty() && verdict.settled.empty();
}

Hazard hazard_of(const GridWait& wait) {
  Hazard hazard;
  hazard.check = Check::UnorderedGridWait;
  hazard.level = wait.no_clobber ? Level::Definite : Level::Maybe;
  hazard.function = wait.kernel;
  hazard.later = {.where = {.site = wait.site, .calls = {}}, .what = "kernel '" + wait.kernel + "'", .mode = wait.mode};
  hazard.buffer.name = wait.parameter;
  if (wait.no_clobber) {
    hazard.which = CheckCase::NoClobber;
  } else {
    hazard.condition = std::string("a kernel in front ") + (wait.mode == ir::Mode::Read ? "writes" : "uses") + " it";
  }
  return hazard;
}

/// One finding for a pair of sites; in source order.
std::vector<Finding> without_duplicates(std::vector<Finding> findings) {
  const auto key = [](const Finding& finding) {
    std::vector<Position> sites;
    for (const ir::Site& site : finding.sites) {
      sites.push_back(position(site));
    }
    return std::make_tuple(position(finding.site), finding.check, std::move(sites));
  };
  std::stable_sort(findings.begin(), findings.end(), [&](const Finding& a, const Finding& b) {
    return std::tuple_cat(key(a), std::make_tuple(a.level, a.depth)) <
           std::tuple_cat(key(b), std::make_tuple(b.level, b.depth));
  });
  findings.erase(std::unique(findings.begin(), findings.end(),
                             [&](const Finding& a, const Finding& b) { return key(a) == key(b); }),
                 findings.end());
  return findings;
}

/// Gives other translation units what this one's functions do, and reads what they gave.
void share_summaries(ir::Program& program, const std::string& source, const Settings& settings, Analysis& result) {
  std::error_code ignored;
  static std::map<std::string, unsigned> compilations;  // of a worker's source
  const std::string path = fs::absolute(source, ignored).lexically_normal().string();
  const std::string summary = summary_name(path, compilations[path]++);
  const ir::Links links = ir::links_of(program, source);
  if (!settings.summaries_out.empty()) {
    result.summary = summary;
    write_summaries(program, links, summary, settings.summaries_out, result.errors);
  }
  if (!settings.summaries_in.empty())
    result.read_summaries = read_summaries(program, links, summary, settings.summaries_in, result.errors);
}

/// The functions of the unit as the checks look at them.
Lowered lower_unit(clang::ASTContext& context, const Models& models, const Settings& settings, Analysis& result) {
  LoweringOptions options;
  options.per_thread_default_stream = settings.per_thread_default_stream;
  Lowered lowered = lower(context, models, options);
  result.functions_seen = lowered.functions_seen;
  result.skipped = std::move(lowered.skipped);
  if (settings.dump_ir) {
    for (const std::string& usr : lowered.roots) {
      result.dump += ir::print(lowered.program.functions.at(usr)) + "\n";
    }
  }
  if (!settings.summaries_out.empty() || !settings.summaries_in.empty())
    share_summaries(lowered.program, main_file(context), settings, result);

  result.not_followed = not_followed(lowered.program);
  ir::drop_size_queries(lowered.program);
  ir::forget_updated_graphs(lowered.program);
  lowered.program.memory = ir::field_memory(lowered.program);
  return lowered;
}

/// Asks all checks, from what is most certain to what is least: functions, calls of them, classes, runs.
class Checks {
 public:
  Checks(Lowered& lowered, const Settings& settings, Analysis& result)
      : lowered_(lowered),
        settings_(settings),
        result_(result),
        inliner_(lowered.program),
        roles_(lowered.program),
        instances_(lowered.program, lowered.roots) {
    limits_.most_steps = settings.most_steps;
  }

  /// Each function of the unit, with what it calls.
  void ask_functions() {
    for (const std::string& usr : lowered_.roots) {
      if (lowered_.program.functions.at(usr).incomplete.empty()) {  // else the lowering has said why
        roots_.push_back({usr, inliner_.weight(usr), {}, {}});
      }
    }
    std::vector<Root*> smallest_first;
    for (Root& root : roots_) {
      smallest_first.push_back(&root);
    }
    std::ranges::stable_sort(smallest_first, {}, &Root::weight);
    for (Root* root : smallest_first) ask_function(*root);
    for (Root& root : roots_) word_function(root);
    for (const Finding& finding : findings_) {
      reported_.emplace(finding.check, position(finding.site));
      if (finding.level == Level::Definite || finding.level == Level::Likely) {
        shown_.emplace(finding.check, position(finding.site));
        pairs_.insert(two_sides(finding));
      }
    }
  }

  /// What functions owe their callers, and how they use the events of classes.
  void ask_callers() {
    // A record that fails is reported at a wait for its event, where one is known.
    std::set<Position> waited_for;
    for (const Finding& finding : findings_)
      if (finding.check == Check::EventWaitWithoutRecord)
        for (const Note& note : finding.notes) waited_for.insert(position(note.site));
    std::erase_if(failing_records_,
                  [&](const Hazard& hazard) { return waited_for.contains(position(hazard.later.where.site)); });
    // What its caller shows is not reported again: the caller's work is there to be named.
    std::ranges::stable_sort(duties_, {}, [](const Hazard& hazard) { return hazard.later.where.calls.size(); });
    for (const std::vector<Hazard>& hazards :
         {event_protocols(lowered_.program, lowered_.roots), failing_records_, duties_}) {
      for (const Hazard& hazard : hazards) {
        if (Finding finding = word(hazard); reported_.emplace(finding.check, position(finding.site)).second) {
          findings_.push_back(std::move(finding));
        }
      }
    }
    std::ranges::transform(lowered_.grid_waits, std::back_inserter(findings_),
                           [](const GridWait& wait) { return word(hazard_of(wait)); });
  }

  /// What a function shows with certainty is not reported again as what its class does.
  void ask_classes() {
    std::vector<Hazard> of_classes = launches_after_free(captured_, lowered_.program, inliner_);
    std::ranges::move(launches_on_replaced_memory(lowered_.program, lowered_.roots, inliner_),
                      std::back_inserter(of_classes));
    std::ranges::move(class_protocols(lowered_.classes, lowered_.program, inliner_, roles_, limits_.most_steps),
                      std::back_inserter(of_classes));
    for (const Hazard& hazard : of_classes) {
      Finding finding = word(hazard);
      if (!shown_.contains({finding.check, position(finding.site)}) && pairs_.insert(two_sides(finding)).second) {
        if (hazard.of_calls && hazard.earlier) left_to_runs_.add(findings_.size(), hazard, LeftToRuns::Supposed::Calls);
        findings_.push_back(std::move(finding));
      }
    }
  }

  /// Follows main(), or made-up callers.
  void ask_runs(clang::ASTContext& context, const Models& models, clang::Preprocessor* preprocessor) {
    if (!settings_.follow_main || result_.with_streams == 0 || !has_lanes(lowered_.program)) return;
    FollowOptions how;
    how.per_thread_default_stream = settings_.per_thread_default_stream;
    for (const ir::ClassHarness& harness : lowered_.classes)
      for (const ir::ClassHarness::Member& constructor : harness.constructors)
        if (!harness.exposed.empty())
          how.exposing.insert(constructor.usr);
        else if (!harness.offers_wait)
          how.closed.insert(constructor.usr);
    how.wants_runs = !left_to_runs_.empty();
    Followed followed = follow_main(context, models, preprocessor, how);
    if (!followed.there && preprocessor != nullptr) followed = follow_callers(context, models, *preprocessor, how);
    left_to_runs_.settle(followed, findings_);
    add_found_by_runs(followed, findings_);
    if (settings_.dump_ir) result_.dump += text_of(followed);
  }

  std::vector<Finding> take() { return without_duplicates(std::move(findings_)); }

 private:
  struct Root {
    const std::string& usr;
    std::uint64_t weight;
    std::string gave_up;
    std::vector<Hazard> hazards;
  };

  /// Closes the function and follows it, if there are steps left.
  Verdict follow(const std::string& usr, bool& with_streams) {
    Verdict verdict{.duties = {}, .hazards = {}, .gave_up = kNoStepsLeft};
    if (limits_.most_steps == 0) return verdict;
    ir::Function closed = inliner_.close(usr);
    ir::drop_unused(closed);
    const std::string* known = instances_.gave_up(closed);
    std::optional<ir::Function> as_closed;
    if (known == nullptr && instances_.is_worth_keeping(closed)) as_closed = closed;
    ir::expand_graph_launches(closed);
    std::ranges::move(records_on_wrong_devices(closed, lowered_.program), std::back_inserter(failing_records_));
    with_streams = has_stream_operations(closed);
    verdict.gave_up = known == nullptr ? "" : *known;
    if (known == nullptr) verdict = look_at(std::move(closed), lowered_.program, limits_, roles_, with_streams);
    if (as_closed && is_for_all(verdict)) instances_.keep(std::move(*as_closed), verdict.gave_up);
    limits_.most_steps -= std::min(limits_.most_steps, verdict.steps);
    return verdict;
  }

  void ask_function(Root& root) {
    const ir::Function& function = lowered_.program.functions.at(root.usr);
    bool with_streams = false;
    Verdict verdict = follow(root.usr, with_streams);
    root.gave_up = verdict.gave_up;
    // What needs no steps.
    const std::optional<ir::Function> with_lambdas = ir::with_lambdas(lowered_.program, root.usr);
    const ir::Function& written = with_lambdas ? *with_lambdas : function;
    for (const std::vector<Hazard>& hazards : {omitted_streams(written, lowered_.program),
                                               bare_copies(written, lowered_.program), structural_hazards(function)}) {
      std::ranges::copy(hazards, std::back_inserter(root.hazards));
    }
    if (!root.gave_up.empty()) {
      return;
    }
    ++result_.functions_analyzed;
    result_.with_streams += with_streams ? 1 : 0;
    std::ranges::move(verdict.duties, std::back_inserter(duties_));
    for (const auto& [release, use] : verdict.settled) {
      settled_.emplace(position(release.site), position(use.site));
    }
    std::ranges::copy_if(verdict.hazards, std::back_inserter(captured_),
                         [](const Hazard& hazard) { return hazard.which == CheckCase::Captured; });
    std::ranges::copy(verdict.hazards, std::back_inserter(root.hazards));
  }

  void word_function(Root& root) {
    const ir::Function& function = lowered_.program.functions.at(root.usr);
    const bool of_main = function.name == "main";
    for (Hazard& hazard : root.hazards) {
      const bool by_values =
          of_main && (hazard.earlier ? is_race(hazard) : hazard.check == Check::EventWaitWithoutRecord);
      if (hazard.supposed || by_values)
        left_to_runs_.add(findings_.size(), hazard,
                          by_values ? LeftToRuns::Supposed::Values : LeftToRuns::Supposed::Rounds);
      // The caller has the order that is missing here.
      if (hazard.at_the_end &&
          settled_.contains({position(hazard.later.where.site), position(hazard.earlier->where.site)})) {
        hazard.level = Level::Maybe;
      }
      findings_.push_back(word(hazard));
    }
    if (!root.gave_up.empty()) {
      const ir::Site site = function.site == ir::kNoSite ? ir::Site{} : function[function.site];
      result_.skipped.push_back({function.name, site.file, site.line, root.gave_up});
    }
  }

  Lowered& lowered_;
  const Settings& settings_;
  Analysis& result_;
  ir::Inliner inliner_;
  const Roles roles_;
  Instances instances_;
  EngineOptions limits_;
  std::vector<Root> roots_;
  std::vector<Hazard> captured_, duties_, failing_records_;
  std::set<std::pair<Position, Position>> settled_;
  std::vector<Finding> findings_;
  LeftToRuns left_to_runs_;
  std::set<std::pair<Check, Position>> reported_, shown_;
  std::set<std::pair<Position, Position>> pairs_;  ///< in flight together, whichever comes first
};

/// Those that are known already, those that are shown, and those of a level that is not.
void sort_out(std::vector<Finding> findings, const Settings& settings, Analysis& result) {
  std::set<std::string> known;
  if (!settings.baseline.empty()) {
    std::string error;
    known = read_baseline(settings.baseline, error);
    if (!error.empty()) {
      result.errors.push_back(error);
    }
  }
  for (Finding& finding : findings) {
    if (known.contains(finding.fingerprint)) {
      result.known.push_back(std::move(finding));  // also where its level is not shown: it is not fixed
    } else if (settings.shows(finding.check, finding.level)) {
      result.findings.push_back(std::move(finding));
    } else if (finding.level == Level::Latent) {
      result.hidden.push_back(std::move(finding));
    }
  }
}

}  // namespace

Analysis analyze_translation_unit(clang::ASTContext& context, const Settings& settings,
                                  clang::Preprocessor* preprocessor) {
  Analysis result;
  Models models;
  for (const std::string& file : settings.model_files) {
    std::string error;
    if (!models.read_yaml(file, error)) {
      result.errors.push_back(error);
    }
  }
  Lowered lowered = lower_unit(context, models, settings, result);
  Checks checks(lowered, settings, result);
  checks.ask_functions();
  checks.ask_callers();
  checks.ask_classes();
  checks.ask_runs(context, models, preprocessor);
  std::vector<Finding> findings = checks.take();
  fingerprint(findings);
  sort_out(std::move(findings), settings, result);
  return result;
}

}  // namespace streamsan::analyzer
