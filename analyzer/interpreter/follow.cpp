// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From main() to hazards.
#include "analyzer/interpreter/follow.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "analyzer/interpreter/cuda.h"
#include "analyzer/interpreter/library.h"
#include "analyzer/interpreter/machine.h"
#include "analyzer/interpreter/module.h"
#include "analyzer/lowering/sites.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "clang/Basic/FileManager.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Lex/Lexer.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugLoc.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CrashRecoveryContext.h"

namespace streamsan::analyzer {
namespace {

using namespace interpreter;
using ordering::AccessSource;
using ordering::HazardKind;

class Follower : public World, public ordering::HazardSink {
 public:
  Follower(clang::ASTContext& context, const Models& models, const HostModule& host, const FollowOptions& options,
           Followed& followed)
      : context_(context),
        sources_(context.getSourceManager()),
        sites_(context),
        models_(models),
        host_(host),
        followed_(followed),
        cuda_(context, models, host, *this, options.per_thread_default_stream) {}

  Outcome call(Machine& machine, const llvm::Function& function, const Arguments& arguments, Byte* result,
               std::size_t size) override {
    machine_ = &machine;
    if (!library_.on_free)
      library_.on_free = [this, &machine](Word address, std::size_t bytes) {
        cuda_.host_freed(machine, address, bytes);
      };
    Outcome outcome = library_.call(machine, function, arguments, result, size);
    if (outcome == Outcome::Unknown) outcome = cuda_.call(machine, function, arguments, result);
    if (outcome == Outcome::Unknown) {
      not_known(machine, function);
    }
    return outcome;
  }
  bool takes(const llvm::Function& function) override { return cuda_.takes(function); }
  void polled(Machine& machine) override { cuda_.may_wait(machine); }
  void touch(Machine& machine, Word address, std::size_t size, bool write) override {
    cuda_.touch(machine, address, size, write);
  }

  void hazard(const ordering::Hazard& hazard) override;
  bool wants_common_bytes(const ordering::Hazard&) override { return false; }

  /// Tells what the host has touched last.
  void end() { cuda_.flush(); }

 private:
  void not_known(Machine& machine, const llvm::Function& function);
  clang::SourceLocation location(const llvm::Instruction& instruction) const;
  Where where(ordering::SiteId site) const;
  analyzer::Action action(const ordering::Access& access) const;
  Thing stream(ordering::StreamId stream) const;
  std::string first_argument(const Where& where) const;
  std::string function_of(ordering::SiteId site) const;

  clang::ASTContext& context_;
  const clang::SourceManager& sources_;
  Sites sites_;
  const Models& models_;
  const HostModule& host_;
  Followed& followed_;
  Cuda cuda_;
  Library library_;
  const Machine* machine_ = nullptr;
  std::set<std::pair<Place, Place>> seen_;
  std::set<std::tuple<Check, std::string, unsigned, std::string, unsigned>> told_;
};

/// It may have waited for the GPU, unless it is one of the C and C++ libraries. One that says which stream to use says
/// what is not known.
void Follower::not_known(Machine& machine, const llvm::Function& function) {
  const std::string symbol = function.getName().str();
  const auto* called = llvm::dyn_cast_or_null<clang::FunctionDecl>(host_.declaration(symbol));
  Callee callee;
  callee.qualified = callee.name = called == nullptr ? symbol : called->getNameAsString();
  callee.in_system_header = called != nullptr && sources_.isInSystemHeader(called->getLocation());
  const bool standard = symbol.starts_with("_ZNSt") || symbol.starts_with("_ZNKSt") || symbol.starts_with("_ZSt");
  if (standard || (callee.in_system_header && models_.harmless(callee))) return;
  if (std::ranges::find(followed_.unknown, callee.name) == followed_.unknown.end())
    followed_.unknown.push_back(callee.name);
  cuda_.may_wait(machine);
  if (called == nullptr) return;
  const ir::TypeKind kind = models_.type(called->getReturnType().getUnqualifiedType().getAsString());
  if (kind == ir::TypeKind::Stream || kind == ir::TypeKind::Event)
    machine.stop("a stream or event of a function that is not seen");
}

/// Invalid: not of the program's own files.
clang::SourceLocation Follower::location(const llvm::Instruction& instruction) const {
  const llvm::DebugLoc& at = instruction.getDebugLoc();
  if (!at || at.getLine() == 0) return {};
  if (instruction.getFunction()->getName().contains("__device_stub__")) return {};
  const llvm::DIFile* file = at->getFile();
  const llvm::StringRef name = file->getFilename();
  auto entry = sources_.getFileManager().getFileRef(name);
  if (!entry) {
    llvm::consumeError(entry.takeError());
    entry = sources_.getFileManager().getFileRef((file->getDirectory() + "/" + name).str());
    if (!entry) {
      llvm::consumeError(entry.takeError());
      return {};
    }
  }
  const clang::SourceLocation place =
      sources_.translateFileLineCol(&entry->getFileEntry(), at.getLine(), std::max(at.getCol(), 1U));
  return place.isInvalid() || sources_.isInSystemHeader(place) ? clang::SourceLocation() : place;
}

Where Follower::where(ordering::SiteId site) const {
  Where result;
  bool first = true;
  for (const llvm::Instruction* instruction : cuda_.place(site)) {
    if (instruction == nullptr) continue;
    const clang::SourceLocation place = location(*instruction);
    if (place.isInvalid()) continue;
    ir::Site at = sites_.at(place);
    if (const auto* function =
            llvm::dyn_cast_or_null<clang::NamedDecl>(host_.declaration(instruction->getFunction()->getName().str())))
      at.function = function->getNameAsString();
    if (first) {
      result.site = std::move(at);
      first = false;
    } else {
      result.calls.push_back(std::move(at));
    }
  }
  return result;
}

/// "d_in" of `cudaMalloc((void**)&d_in, n)`.
std::string Follower::first_argument(const Where& where) const {
  if (where.site.begin == 0) return {};
  const auto place = clang::SourceLocation::getFromRawEncoding(where.site.begin);
  bool invalid = false;
  const char* text = sources_.getCharacterData(place, &invalid);
  if (invalid) return {};
  std::string_view rest(text, std::min<std::size_t>(std::strlen(text), 300));
  const std::size_t call = rest.find("cuda");
  if (call == std::string_view::npos) return {};
  std::size_t open = rest.find('(', call);
  if (open == std::string_view::npos || rest.find_first_of(";{}", 0) < open) return {};
  rest.remove_prefix(open + 1);
  std::string result;
  int depth = 0;
  for (const char c : rest) {
    if (c == '(' || c == '[' || c == '<') ++depth;
    const bool arrow = c == '>' && result.ends_with('-');
    if (!arrow && (c == ')' || c == ']' || c == '>') && --depth < 0) break;
    if (c == ',' && depth == 0) break;
    result += c;
  }
  while (!result.empty() && (result.front() == ' ' || result.front() == '&' || result.front() == '(')) {
    if (result.front() == '(') {
      const std::size_t close = result.find(')');
      if (close == std::string::npos) return {};
      result.erase(0, close + 1);
    } else {
      result.erase(0, 1);
    }
  }
  return result;
}

Thing Follower::stream(ordering::StreamId stream) const {
  const ordering::StreamKind kind = cuda_.kind(stream);
  if (kind == ordering::StreamKind::Legacy || kind == ordering::StreamKind::PerThread) {
    Thing thing = unnamed(UnnamedStream::Default);
    thing.stream_kind = kind;
    return thing;
  }
  Thing thing;
  thing.stream_kind = kind;
  if (const auto made = cuda_.made(stream)) {
    thing.origin = where(*made);
    thing.name = first_argument(*thing.origin);
    thing.origin->site.text = cuda_.name(*made);
  }
  return thing;
}

analyzer::Action Follower::action(const ordering::Access& access) const {
  analyzer::Action result;
  result.where = where(access.site);
  if (access.source != AccessSource::Host || access.op != ordering::OpId{}) result.what = cuda_.name(access.site);
  result.mode = access.mode == ordering::AccessMode::Read ? ir::Mode::Read : ir::Mode::Write;
  if (access.mode == ordering::AccessMode::Unknown || access.mode == ordering::AccessMode::Doubtful)
    result.mode = ir::Mode::Unknown;
  result.work = access.source == AccessSource::Kernel ? ir::Work::Kernel
                : access.source == AccessSource::Copy ? ir::Work::Copy
                                                      : ir::Work::Other;
  if (access.on_stream && access.source != AccessSource::Host) result.stream = stream(access.stream);
  return result;
}

Cause cause_of(ordering::NearestEdge edge) {
  using ordering::NearestEdge;
  switch (edge) {
    case NearestEdge::EventRecordedTooEarly:
      return Cause::RecordedTooEarly;
    case NearestEdge::EventNeverRecorded:
      return Cause::NeverRecorded;
    case NearestEdge::EventNotWaitedFor:
      return Cause::NeverWaited;
    case NearestEdge::NonBlockingStream:
      return Cause::NonBlocking;
    default:
      return Cause::NoEdge;
  }
}

void Follower::hazard(const ordering::Hazard& found) {
  if (found.certainty != ordering::Certainty::Certain || found.order != ordering::Order::Unordered) return;
  // A loop shows one conflict many times.
  if (!seen_.emplace(cuda_.place(found.later.site), cuda_.place(found.earlier.site)).second) return;
  Hazard made;
  made.level = Level::Likely;  // of one run, in which some values were made up
  made.earlier = action(found.earlier);
  made.later = action(found.later);
  if (made.earlier->stream.name == made.later.stream.name && !made.later.stream.name.empty() &&
      found.earlier.stream != found.later.stream) {
    // Made by one call: the first of them, the second, ...
    made.earlier->stream.name += " (" + std::to_string(cuda_.number(found.earlier.stream)) + ")";
    made.later.stream.name += " (" + std::to_string(cuda_.number(found.later.stream)) + ")";
  }
  made.buffer.memory_kind = found.allocation.kind;
  made.buffer.origin = where(found.allocation.site);
  made.buffer.allocated = true;
  made.buffer.name = first_argument(*made.buffer.origin);
  made.buffer.origin->site.text = cuda_.name(found.allocation.site);
  made.cause = cause_of(found.explanation.nearest);
  if (found.explanation.record_site != ordering::kNoSite) made.edge = where(found.explanation.record_site);
  if (made.cause == Cause::NeverRecorded && found.explanation.wait_site != ordering::kNoSite)
    made.edge = where(found.explanation.wait_site);
  if (const auto event = cuda_.made(found.explanation.event)) {
    made.event.origin = where(*event);
    made.event.name = first_argument(*made.event.origin);
    made.event.origin->site.text = cuda_.name(*event);
  }
  switch (found.kind) {
    case HazardKind::ReadAfterWrite:
    case HazardKind::WriteAfterRead:
    case HazardKind::WriteAfterWrite:
    case HazardKind::UseBeforeAllocate:
      if (found.later.source == AccessSource::Host) {
        made.check =
            found.later.mode == ordering::AccessMode::Read ? Check::HostReadBeforeDone : Check::HostWriteBeforeDone;
      } else {
        made.check = found.explanation.nearest == ordering::NearestEdge::NonBlockingStream ? Check::NonblockingVsDefault
                                                                                           : Check::CrossStreamRace;
      }
      break;
    case HazardKind::FreeWhileInUse:
      made.check = Check::PrematureFree;
      break;
    case HazardKind::UseAfterFree:
      made.check = Check::PrematureFree;
      made.which = CheckCase::UseAfterFree;
      break;
    default:
      return;
  }
  if (found.explanation.nearest == ordering::NearestEdge::DependentLaunch) {
    made.check = Check::DependentLaunchRace;
    made.which = found.explanation.use == ordering::DependentUse::NeverWaits   ? CheckCase::NeverWaits
                 : found.explanation.use == ordering::DependentUse::BeforeWait ? CheckCase::BeforeWait
                                                                               : CheckCase::NotPassedOn;
    made.edge.reset();
  }
  if (made.later.where.site.line == 0 || made.earlier->where.site.line == 0) return;
  if (!told_
           .emplace(made.check, made.later.where.site.file, made.later.where.site.line, made.earlier->where.site.file,
                    made.earlier->where.site.line)
           .second)
    return;
  made.function = made.later.where.site.function;
  made.evidence.push_back(
      {machine_->cut() ? "main() was followed to here, with zeros for what the GPU computes; a long loop was cut short"
                       : "main() was followed to here, with zeros for what the GPU computes",
       made.later.where});
  followed_.hazards.push_back(std::move(made));
}

}  // namespace

Followed follow_main(clang::ASTContext& context, const Models& models, const FollowOptions& options) {
  Followed result;
  if (context.getDiagnostics().hasUncompilableErrorOccurred()) return result;
  const clang::FunctionDecl* main = nullptr;
  for (const clang::Decl* declaration : context.getTranslationUnitDecl()->decls()) {
    const auto* function = llvm::dyn_cast<clang::FunctionDecl>(declaration);
    if (function != nullptr && function->isMain() && function->doesThisDeclarationHaveABody()) main = function;
  }
  if (main == nullptr) return result;
  result.there = true;
  // Clang's code generator gives up on some code by a crash; what was found up to then stays.
  llvm::CrashRecoveryContext guard;
  llvm::CrashRecoveryContext::Enable();
  const bool whole = guard.RunSafely([&] {
    const HostModule host(context);
    const llvm::Function* entry = host.module() == nullptr ? nullptr : host.module()->getFunction("main");
    if (entry == nullptr || entry->isDeclaration()) {
      result.stopped = "no code could be made of it";
      return;
    }
    Follower follower(context, models, host, options, result);
    Machine machine(*host.module(), follower, options.most_steps);
    machine.run(*entry);
    follower.end();
    result.steps = machine.steps();
    result.stopped = machine.stopped();
  });
  llvm::CrashRecoveryContext::Disable();
  if (!whole) result.stopped = "a crash";
  return result;
}

}  // namespace streamsan::analyzer
