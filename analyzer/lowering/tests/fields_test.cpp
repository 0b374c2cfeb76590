// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which fields own their handles: "C::s:blocking", "C::e:timed", "C::s:owned" where the kind is not agreed or not
// known, "C::s:copied" where objects may share it, "C::s:-" where the field is not owned. Each owned field has a twin
// that only looks alike.
#include "analyzer/lowering/fields.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "analyzer/lowering/tests/mock_unit.h"

namespace streamsan::analyzer {
namespace {

std::string spell(const ir::HandleField& field) {
  if (!field.owned) return "-";
  if (field.copied) return "copied";
  if (field.stream_kind) return *field.stream_kind == ordering::StreamKind::NonBlocking ? "nonblocking" : "blocking";
  if (field.timing) return *field.timing ? "timed" : "untimed";
  return "owned";
}

std::string fields_of(const std::string& source) {
  const std::string prologue =
      "#include <cuda_runtime.h>\n#include <array>\n#include <utility>\n#include <vector>\n"
      "#define CHECK(call) do { cudaError_t error_ = (call); if (error_ != cudaSuccess) throw error_; } while (0)\n";
  const auto unit = mock_unit(prologue + source, "fields.cu");
  if (unit == nullptr) return "does not compile";
  const Models models;
  std::string text;
  for (const auto& [key, field] : handle_fields(*unit, models)) {
    text += (text.empty() ? "" : " ") + key + ":" + spell(field);
  }
  return text;
}

class FieldsTest : public testing::TestWithParam<Case> {};

TEST_P(FieldsTest, AreAsWritten) { EXPECT_EQ(fields_of(GetParam().source), GetParam().expected); }

const Case kMade[] = {
    {"Constructor",
     "class C { public: C() { cudaStreamCreate(&s_); } ~C() { cudaStreamDestroy(s_); }"
     " private: cudaStream_t s_; };",
     "C::s_:blocking"},
    {"ConstructorFromOutside", "class C { public: explicit C(cudaStream_t s) : s_(s) {} private: cudaStream_t s_; };",
     "C::s_:-"},
    {"Flags", "struct C { cudaStream_t s; C() { cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking); } };",
     "C::s:nonblocking"},
    {"Priority", "struct C { cudaStream_t s; C() { cudaStreamCreateWithPriority(&s, cudaStreamDefault, -1); } };",
     "C::s:blocking"},
    {"FlagsNotKnown", "struct C { cudaStream_t s; C(unsigned f) { cudaStreamCreateWithFlags(&s, f); } };",
     "C::s:owned"},
    {"FlagsDisagree",
     "struct C { cudaStream_t s; C(bool b) { if (b) cudaStreamCreate(&s);"
     " else cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking); } };",
     "C::s:owned"},
    {"Event", "struct C { cudaEvent_t e; C() { cudaEventCreate(&e); } };", "C::e:timed"},
    {"EventFlags", "struct C { cudaEvent_t e; C() { cudaEventCreateWithFlags(&e, cudaEventDisableTiming); } };",
     "C::e:untimed"},
    {"EventOverload", "struct C { cudaEvent_t e; C() { cudaEventCreate(&e, cudaEventDisableTiming); } };",
     "C::e:untimed"},
    {"NeverMade", "struct C { cudaStream_t s; };", "C::s:-"},
    {"Macro", "struct C { cudaStream_t s; C() { CHECK(cudaStreamCreate(&s)); } };", "C::s:blocking"},
    {"OutOfLine", "struct C { cudaStream_t s; C(); }; C::C() { cudaStreamCreate(&s); }", "C::s:blocking"},
    {"Method", "struct C { cudaStream_t s = nullptr; void open() { if (!s) cudaStreamCreate(&s); } };",
     "C::s:blocking"},
    {"PlainStruct", "struct C { cudaStream_t s; }; void open(C* c) { cudaStreamCreate(&c->s); }", "C::s:blocking"},
    {"PlainStructAssigned",
     "struct C { cudaStream_t s; }; void open(C* c, cudaStream_t s) { cudaStreamCreate(&c->s);"
     " c->s = s; }",
     "C::s:-"},
    {"Cleared",
     "struct C { cudaStream_t s; C() : s(nullptr) { cudaStreamCreate(&s); }"
     " ~C() { cudaStreamDestroy(s); s = nullptr; } };",
     "C::s:blocking"},
    {"DefaultStream",
     "struct C { cudaStream_t s; C(bool b) { if (b) cudaStreamCreate(&s); else s = cudaStreamPerThread; } };",
     "C::s:-"},
    {"InClassInitializer",
     "extern cudaStream_t shared; struct C { cudaStream_t s = shared; void f() { cudaStreamCreate(&s); } };", "C::s:-"},
    {"Aggregate", "struct C { int n; cudaStream_t s; }; void f() { C c{1, nullptr}; cudaStreamCreate(&c.s); }",
     "C::s:blocking"},
    {"AggregateFromOutside",
     "struct C { int n; cudaStream_t s; }; void f(cudaStream_t s) { C c{1, s};"
     " cudaStreamCreate(&c.s); }",
     "C::s:-"},
    {"TwoFields", "struct C { cudaStream_t a, b; C() { cudaStreamCreate(&a); b = a; } };", "C::a:blocking C::b:-"},
    {"Namespaces", "namespace n { struct C { struct D { cudaStream_t s; D() { cudaStreamCreate(&s); } }; }; }",
     "n::C::D::s:blocking"},
    {"ClassTemplate",
     "template <typename T> struct C { cudaStream_t s; T t; C() { cudaStreamCreate(&s); } };"
     "void f() { C<int> a; C<float> b; }",
     "C::s:blocking"},
};

const Case kConditions[] = {
    {"Created",
     "struct C { cudaStream_t s; C(bool b) { if (b) cudaStreamCreate(&s); } cudaStream_t get() { return s; } };",
     "C::s:-"},
    {"CreatedEitherWay",
     "struct C { cudaStream_t s; C(int n) { if (n > 1) { if (n > 2) cudaStreamCreate(&s); else cudaStreamCreate(&s); }"
     " else cudaStreamCreate(&s); } cudaStream_t get() { return s; } };",
     "C::s:blocking"},
    {"CreatedInMostCases",
     "struct C { cudaStream_t s; C(int n) { if (n > 1) { if (n > 2) cudaStreamCreate(&s); }"
     " else cudaStreamCreate(&s); } cudaStream_t get() { return s; } };",
     "C::s:-"},
    {"CreatedInOneConstructor",
     "struct C { cudaStream_t s; C() { cudaStreamCreate(&s); } C(bool b) { if (b) cudaStreamCreate(&s); }"
     " cudaStream_t get() { return s; } };",
     "C::s:-"},
    {"CreatedAgain",
     "struct C { cudaStream_t s; C() { cudaStreamCreate(&s); } void again() { if (s) { cudaStreamDestroy(s);"
     " cudaStreamCreate(&s); } } cudaStream_t get() { return s; } };",
     "C::s:blocking"},
    {"Event", "struct C { cudaEvent_t e; C(bool b) { if (b) cudaEventCreate(&e); } cudaEvent_t get() { return e; } };",
     "C::e:timed"},
    {"Vector",
     "struct C { std::vector<cudaStream_t> v; C(bool b) { if (b) { v.resize(2); for (auto& s : v)"
     " cudaStreamCreate(&s); } } cudaStream_t get() { return v[0]; } };",
     "C::v:blocking"},
    {"ArrayCreated",
     "struct C { cudaStream_t v[2]; C(bool b) { if (b) for (auto& s : v) cudaStreamCreate(&s); }"
     " cudaStream_t get() { return v[0]; } };",
     "C::v:-"},
    {"CheckedCall",
     "struct C { cudaStream_t s; C() { if (cudaStreamCreate(&s) != cudaSuccess) throw 1; }"
     " cudaStream_t get() { return s; } };",
     "C::s:blocking"},
    {"LazyGetter",
     "struct C { cudaStream_t s = nullptr; cudaStream_t get() { if (s == nullptr) { CHECK(cudaStreamCreate(&s)); }"
     " return s; } };",
     "C::s:blocking"},
    {"LazyGetterAndUse",
     "struct C { cudaStream_t s = nullptr; cudaStream_t get() { if (s == nullptr) cudaStreamCreate(&s); return s; }"
     " void sync() { cudaStreamSynchronize(s); } };",
     "C::s:-"},
    {"LazyGetterAndGuardedUse",
     "struct C { cudaStream_t s = nullptr; cudaStream_t get() { if (nullptr == s) cudaStreamCreate(&s); return s; }"
     " ~C() { if (s != 0) { cudaStreamSynchronize(s); cudaStreamDestroy(s); } } };",
     "C::s:blocking"},
    {"LazyAndMore",
     "struct C { cudaStream_t s = nullptr; bool b; cudaStream_t get() { if (!s && b) cudaStreamCreate(&s);"
     " return s; } };",
     "C::s:-"},
    {"LazyInABranch",
     "struct C { cudaStream_t s = nullptr; cudaStream_t get(bool b) { if (b) { if (!s) cudaStreamCreate(&s); }"
     " return s; } };",
     "C::s:-"},
    {"LazyWithinABranch",
     "struct C { cudaStream_t s = nullptr; cudaStream_t get(bool b) { if (b) { if (!s) cudaStreamCreate(&s); return s; "
     "}"
     " return nullptr; } };",
     "C::s:blocking"},
    {"LazyAfterUse",
     "struct C { cudaStream_t s = nullptr; void f() { cudaStreamSynchronize(s); if (!s) cudaStreamCreate(&s); } };",
     "C::s:-"},
    {"LazyInAFunctionCalledBefore",
     "struct C { cudaStream_t s = nullptr; void open() { if (!s) cudaStreamCreate(&s); }"
     " void f() { open(); cudaStreamSynchronize(s); } };",
     "C::s:blocking"},
    {"LazyInAFunctionCalledPerhaps",
     "struct C { cudaStream_t s = nullptr; void open() { if (!s) cudaStreamCreate(&s); }"
     " void f(bool b) { if (b) open(); cudaStreamSynchronize(s); } };",
     "C::s:-"},
    {"OfAnotherField",
     "struct C { cudaStream_t s = nullptr, t = nullptr; C() { cudaStreamCreate(&t); }"
     " cudaStream_t get() { if (!t) cudaStreamCreate(&s); return s; } };",
     "C::s:- C::t:blocking"},
    {"SetToNull", "struct C { cudaStream_t s; C() { cudaStreamCreate(&s); } void reset() { s = nullptr; } };",
     "C::s:-"},
    {"SetToNullBefore", "struct C { cudaStream_t s; void init() { s = nullptr; cudaStreamCreate(&s); } };",
     "C::s:blocking"},
    {"SetToNullAfterDestruction",
     "struct C { cudaStream_t s; C() { cudaStreamCreate(&s); } void end() { cudaStreamDestroy(s); s = 0; } };",
     "C::s:blocking"},
};

/// What keeps a creation off some way through its function.
const Case kWays[] = {
    {"AfterReturn",
     "struct C { cudaStream_t s = nullptr; bool on; void init() { if (!on) return; cudaStreamCreate(&s); } "
     "cudaStream_t get() { return s; } };",
     "C::s:-"},
    {"AfterReturnInABlock",
     "struct C { cudaStream_t s = nullptr; bool on; void init() { { if (!on) { on = true; return; } } "
     "cudaStreamCreate(&s); } cudaStream_t get() { return s; } };",
     "C::s:-"},
    {"AfterReturnDeepInside",
     "struct C { cudaStream_t s = nullptr; bool on; void init() { if (on) { if (s != nullptr) return; on = false; } "
     "cudaStreamCreate(&s); } cudaStream_t get() { return s; } };",
     "C::s:-"},
    {"BeforeReturn",
     "struct C { cudaStream_t s = nullptr; bool on; void init() { cudaStreamCreate(&s); if (!on) return; on = false; } "
     "cudaStream_t get() { return s; } };",
     "C::s:blocking"},
    {"AfterReturnMadeBefore",
     "struct C { cudaStream_t s = nullptr; bool on; void init() { if (on) { cudaStreamCreate(&s); return; } "
     "cudaStreamCreate(&s); } cudaStream_t get() { return s; } };",
     "C::s:blocking"},
    {"AfterReturnOnFailure",
     "struct C { cudaStream_t s = nullptr; bool on; bool init(int* n) { if (cudaGetDeviceCount(n) != cudaSuccess) "
     "return false; cudaStreamCreate(&s); return true; } cudaStream_t get() { return s; } };",
     "C::s:blocking"},
    {"AfterReturnOnFailureAndMore",
     "struct C { cudaStream_t s = nullptr; bool on; bool init(int* n) { if (cudaGetDeviceCount(n) != cudaSuccess || *n "
     "< 2) return false; cudaStreamCreate(&s); return true; } cudaStream_t get() { return s; } };",
     "C::s:-"},
    {"AfterReturnOnSuccess",
     "struct C { cudaStream_t s = nullptr; bool on; bool init(int* n) { if (cudaGetDeviceCount(n) == cudaSuccess) "
     "return false; cudaStreamCreate(&s); return true; } cudaStream_t get() { return s; } };",
     "C::s:-"},
    {"AfterReturnWhileBusy",
     "struct C { cudaStream_t s = nullptr; bool on; void init(cudaStream_t o) { if (cudaStreamQuery(o) != cudaSuccess) "
     "return; cudaStreamCreate(&s); } cudaStream_t get() { return s; } };",
     "C::s:-"},
    {"AfterReturnOfAnError",
     "struct C { cudaStream_t s = nullptr; bool on; cudaError_t init(int* n) { cudaError_t e = cudaGetDeviceCount(n); "
     "if (e) return e; return cudaStreamCreate(&s); } cudaStream_t get() { return s; } };",
     "C::s:blocking"},
    {"AfterReturnOfAMode",
     "struct C { cudaStream_t s = nullptr; bool on; int init(int m) { int e = m; if (e) return e; return "
     "cudaStreamCreate(&s); } cudaStream_t get() { return s; } };",
     "C::s:-"},
    {"AfterCheck",
     "struct C { cudaStream_t s = nullptr; bool on; void init(int* n) { CHECK(cudaGetDeviceCount(n)); "
     "CHECK(cudaStreamCreate(&s)); } cudaStream_t get() { return s; } };",
     "C::s:blocking"},
    {"AfterThrow",
     "struct C { cudaStream_t s = nullptr; bool on; void init() { if (!on) throw 1; cudaStreamCreate(&s); } "
     "cudaStream_t get() { return s; } };",
     "C::s:-"},
    {"AfterThrowInConstructor",
     "struct C { cudaStream_t s = nullptr; bool on; C() { if (!on) throw 1; cudaStreamCreate(&s); } cudaStream_t get() "
     "{ return s; } };",
     "C::s:blocking"},
    {"AfterThrowCaughtInConstructor",
     "struct C { cudaStream_t s = nullptr; bool on; C() { try { if (!on) throw 1; cudaStreamCreate(&s); } catch (int) "
     "{ } } cudaStream_t get() { return s; } };",
     "C::s:-"},
    {"AfterEnd",
     "struct C { cudaStream_t s = nullptr; bool on; [[noreturn]] static void end(); void init() { if (!on) end(); "
     "cudaStreamCreate(&s); } cudaStream_t get() { return s; } };",
     "C::s:blocking"},
    {"AfterBreak",
     "struct C { cudaStream_t s = nullptr; bool on; void init() { do { if (!on) break; cudaStreamCreate(&s); } while "
     "(false); } cudaStream_t get() { return s; } };",
     "C::s:-"},
    {"AfterLoopWithBreak",
     "struct C { cudaStream_t s = nullptr; bool on; void init() { do { if (!on) break; on = false; } while (false); "
     "cudaStreamCreate(&s); } cudaStream_t get() { return s; } };",
     "C::s:blocking"},
    {"AfterReturnInLoop",
     "struct C { cudaStream_t s = nullptr; bool on; void init() { while (on) { if (s) return; on = false; } "
     "cudaStreamCreate(&s); } cudaStream_t get() { return s; } };",
     "C::s:-"},
    {"AfterReturnInLambda",
     "struct C { cudaStream_t s = nullptr; bool on; void init() { auto f = [this] { if (on) return; on = true; }; f(); "
     "cudaStreamCreate(&s); } cudaStream_t get() { return s; } };",
     "C::s:blocking"},
    {"BothSidesOneReturns",
     "struct C { cudaStream_t s = nullptr; bool on; void init() { if (on) { cudaStreamCreate(&s); } else { return; } } "
     "cudaStream_t get() { return s; } };",
     "C::s:-"},
    {"And",
     "struct C { cudaStream_t s = nullptr; bool on; void init() { on && cudaStreamCreate(&s) == cudaSuccess; } "
     "cudaStream_t get() { return s; } };",
     "C::s:-"},
    {"Or",
     "struct C { cudaStream_t s = nullptr; bool on; void init() { on || cudaStreamCreate(&s) == cudaSuccess; } "
     "cudaStream_t get() { return s; } };",
     "C::s:-"},
    {"AndOfSuccesses",
     "struct C { cudaStream_t s = nullptr; bool on; bool init(int* n) { return cudaGetDeviceCount(n) == cudaSuccess && "
     "cudaStreamCreate(&s) == cudaSuccess; } cudaStream_t get() { return s; } };",
     "C::s:blocking"},
    {"AndOfAFailure",
     "struct C { cudaStream_t s = nullptr; bool on; bool init(int* n) { return cudaGetDeviceCount(n) != cudaSuccess && "
     "cudaStreamCreate(&s) == cudaSuccess; } cudaStream_t get() { return s; } };",
     "C::s:-"},
    {"Ternary",
     "struct C { cudaStream_t s = nullptr; bool on; void init() { on ? cudaStreamCreate(&s) : cudaSuccess; } "
     "cudaStream_t get() { return s; } };",
     "C::s:-"},
    {"Case",
     "struct C { cudaStream_t s = nullptr; bool on; void init(int n) { switch (n) { case 1: on = true; "
     "cudaStreamCreate(&s); break; default: break; } } cudaStream_t get() { return s; } };",
     "C::s:-"},
    {"Default",
     "struct C { cudaStream_t s = nullptr; bool on; void init(int n) { switch (n) { case 1: break; default: "
     "cudaStreamCreate(&s), on = true; break; } } cudaStream_t get() { return s; } };",
     "C::s:-"},
    {"AfterCase",
     "struct C { cudaStream_t s = nullptr; bool on; void init(int n) { switch (n) { case 1: on = true; break; default: "
     "break; } cudaStreamCreate(&s); } cudaStream_t get() { return s; } };",
     "C::s:blocking"},
    {"AfterCaseThatReturns",
     "struct C { cudaStream_t s = nullptr; bool on; void init(int n) { switch (n) { case 1: return; default: break; } "
     "cudaStreamCreate(&s); } cudaStream_t get() { return s; } };",
     "C::s:-"},
    {"InAnotherCase",
     "struct C { cudaStream_t s = nullptr; bool on; void f(int n) { switch (n) { case 1: on = true; "
     "cudaStreamCreate(&s); break; default: on = false; cudaStreamSynchronize(s); } }  };",
     "C::s:-"},
    {"InACaseAfterANullTest",
     "struct C { cudaStream_t s = nullptr; void make(bool b) { if (b) cudaStreamCreate(&s); }"
     " void f(int n) { switch (n) { case 1: if (!s) break; default: cudaStreamSynchronize(s); } } };",
     "C::s:-"},
    {"InTheSameCase",
     "struct C { cudaStream_t s = nullptr; bool on; void f(int n) { switch (n) { case 1: on = true; "
     "cudaStreamCreate(&s); cudaStreamSynchronize(s); break; default: on = false; } }  };",
     "C::s:blocking"},
    {"For",
     "struct C { cudaStream_t s = nullptr; bool on; void init(int n) { for (int i = 0; i < n; ++i) { "
     "cudaStreamCreate(&s); break; } } cudaStream_t get() { return s; } };",
     "C::s:-"},
    {"While",
     "struct C { cudaStream_t s = nullptr; bool on; void init() { while (on) { cudaStreamCreate(&s); on = false; } } "
     "cudaStream_t get() { return s; } };",
     "C::s:-"},
    {"ForOverObjects",
     "struct C { cudaStream_t s = nullptr; cudaStream_t get() { return s; } };"
     " void f() { C c[2]; for (C& one : c) cudaStreamCreate(&one.s); }",
     "C::s:blocking"},
    {"ForOverSomeObjects",
     "struct C { cudaStream_t s = nullptr; bool on; cudaStream_t get() { return s; } };"
     " void f() { C c[2]; for (C& one : c) { if (one.on) continue; cudaStreamCreate(&one.s); } }",
     "C::s:-"},
    {"DoWhile",
     "struct C { cudaStream_t s = nullptr; bool on; void init() { do { cudaStreamCreate(&s); on = false; } while (on); "
     "} cudaStream_t get() { return s; } };",
     "C::s:blocking"},
    {"Catch",
     "struct C { cudaStream_t s = nullptr; bool on; void f(); void init() { try { f(); } catch (int) { "
     "cudaStreamCreate(&s); } } cudaStream_t get() { return s; } };",
     "C::s:-"},
    {"Try",
     "struct C { cudaStream_t s = nullptr; bool on; void f(); void init() { try { f(); cudaStreamCreate(&s); } catch "
     "(int) { throw; } } cudaStream_t get() { return s; } };",
     "C::s:blocking"},
    {"SetToNullOnFailure",
     "struct C { cudaStream_t s = nullptr; bool on; void init() { if (cudaStreamCreate(&s) != cudaSuccess) { s = 0; } "
     "} cudaStream_t get() { return s; } };",
     "C::s:-"},
    {"SetToNullOnFailureAndLeft",
     "struct C { cudaStream_t s = nullptr; bool on; bool init() { if (cudaStreamCreate(&s) != cudaSuccess) { s = 0; "
     "return false; } return true; } cudaStream_t get() { return s; } };",
     "C::s:blocking"},
    {"SetToNullAndMadePerhaps",
     "struct C { cudaStream_t s = nullptr; bool on; void init() { s = 0; if (on) cudaStreamCreate(&s); else on = true; "
     "} cudaStream_t get() { return s; } };",
     "C::s:-"},
    {"SetToNullWhereMade",
     "struct C { cudaStream_t s = nullptr; bool on; C() { cudaStreamCreate(&s); } void again() { if (on) { s = 0; "
     "cudaStreamCreate(&s); } } cudaStream_t get() { return s; } };",
     "C::s:blocking"},
    {"ElementsInALoop",
     "struct C { cudaStream_t s[2]; bool on; void init() { for (int i = 0; i < 2; ++i) cudaStreamCreate(&s[i]); } "
     "cudaStream_t get() { return s[0]; } };",
     "C::s:blocking"},
    {"ElementsInALoopAfterContinue",
     "struct C { cudaStream_t s[2]; bool on; void init() { for (int i = 0; i < 2; ++i) { if (i == 1 && !on) continue; "
     "cudaStreamCreate(&s[i]); } } cudaStream_t get() { return s[0]; } };",
     "C::s:-"},
    {"ElementsInACheckedLoop",
     "struct C { cudaStream_t s[2]; bool on; bool init() { for (auto& t : s) { if (cudaStreamCreate(&t) != "
     "cudaSuccess) return false; } return true; } cudaStream_t get() { return s[0]; } };",
     "C::s:blocking"},
    {"ElementsAfterReturn",
     "struct C { cudaStream_t s[2]; bool on; void init() { if (!on) return; for (auto& t : s) cudaStreamCreate(&t); } "
     "cudaStream_t get() { return s[0]; } };",
     "C::s:-"},
    {"LocalFirstAfterReturn",
     "struct C { cudaStream_t s = nullptr; bool on; void init() { cudaStream_t t; cudaStreamCreate(&t); if (!on) "
     "return; s = t; } cudaStream_t get() { return s; } };",
     "C::s:-"},
};

const Case kEscapes[] = {
    {"Getter", "struct C { cudaStream_t s; C() { cudaStreamCreate(&s); } cudaStream_t get() const { return s; } };",
     "C::s:blocking"},
    {"GetterByReference",
     "struct C { cudaStream_t s; C() { cudaStreamCreate(&s); } cudaStream_t& get() { return s; } };", "C::s:-"},
    {"GetterByConstReference",
     "struct C { cudaStream_t s; C() { cudaStreamCreate(&s); }"
     " const cudaStream_t& get() const { return s; } };",
     "C::s:blocking"},
    {"AddressToUnknown",
     "void use(cudaStream_t*); struct C { cudaStream_t s; C() { cudaStreamCreate(&s); use(&s); } };", "C::s:-"},
    {"ValueToUnknown", "void use(cudaStream_t); struct C { cudaStream_t s; C() { cudaStreamCreate(&s); use(s); } };",
     "C::s:blocking"},
    {"ReferenceToUnknown",
     "void use(cudaStream_t&); struct C { cudaStream_t s; C() { cudaStreamCreate(&s); use(s); } };", "C::s:-"},
    {"Launch", "__global__ void k(); struct C { cudaStream_t s; C() { cudaStreamCreate(&s); k<<<1, 1, 0, s>>>(); } };",
     "C::s:blocking"},
    {"Alias", "struct C { cudaStream_t s; C() { cudaStream_t& t = s; cudaStreamCreate(&t); } };", "C::s:blocking"},
    {"AliasAssigned",
     "struct C { cudaStream_t s; C(cudaStream_t o) { cudaStream_t& t = s; cudaStreamCreate(&s); t = o; } };", "C::s:-"},
    {"LambdaReads",
     "struct C { cudaStream_t s; C() { cudaStreamCreate(&s); } void f() {"
     " auto sync = [this] { cudaStreamSynchronize(s); }; sync(); } };",
     "C::s:blocking"},
};

const Case kCopies[] = {
    {"MoveConstructor",
     "struct C { cudaStream_t s; C() { cudaStreamCreate(&s); } C(const C&) = delete;"
     " C(C&& o) : s(o.s) { o.s = nullptr; } };",
     "C::s:blocking"},
    {"Exchange",
     "struct C { cudaStream_t s; C() { cudaStreamCreate(&s); }"
     " C(C&& o) : s(std::exchange(o.s, nullptr)) {} };",
     "C::s:blocking"},
    {"MoveAssignment",
     "struct C { cudaStream_t s; C() { cudaStreamCreate(&s); }"
     " C& operator=(C&& o) { std::swap(s, o.s); return *this; } };",
     "C::s:blocking"},
    {"CopyConstructor", "struct C { cudaStream_t s; C() { cudaStreamCreate(&s); } C(const C& o) : s(o.s) {} };",
     "C::s:-"},
    {"ImplicitCopyUsed", "struct C { cudaStream_t s; C() { cudaStreamCreate(&s); } }; void f() { C a; C b = a; }",
     "C::s:copied"},
    {"ImplicitCopyUnused", "struct C { cudaStream_t s; C() { cudaStreamCreate(&s); } }; void f() { C a; C b; }",
     "C::s:blocking"},
    {"CopiedIntoVector",
     "struct C { cudaStream_t s; C() { cudaStreamCreate(&s); } };"
     "void f() { std::vector<C> v; C c; v.push_back(c); }",
     "C::s:copied"},
    {"SwappedWithAnother",
     "struct C { cudaStream_t a, b; C() { cudaStreamCreate(&a); cudaStreamCreate(&b); std::swap(a, b); } };",
     "C::a:- C::b:-"},
};

const Case kMany[] = {
    {"Array", "struct C { cudaStream_t s[4]; C() { for (int i = 0; i < 4; ++i) cudaStreamCreate(&s[i]); } };",
     "C::s:blocking"},
    {"ArrayPlusOffset", "struct C { cudaStream_t s[4]; C() { for (int i = 0; i < 4; ++i) cudaStreamCreate(s + i); } };",
     "C::s:blocking"},
    {"ArrayElementsEqual", "struct C { cudaStream_t s[2]; C() { cudaStreamCreate(&s[0]); s[1] = s[0]; } };", "C::s:-"},
    {"RangeFor",
     "struct C { cudaStream_t s[4]; C() { for (auto& t : s) cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking); }"
     " ~C() { for (auto t : s) cudaStreamDestroy(t); } };",
     "C::s:nonblocking"},
    {"RangeForAssigns",
     "struct C { cudaStream_t s[4]; C(cudaStream_t o) { for (auto& t : s) cudaStreamCreate(&t);"
     " for (auto& t : s) t = o; } };",
     "C::s:-"},
    {"StdArray", "struct C { std::array<cudaStream_t, 2> s; C() { for (auto& t : s) cudaStreamCreate(&t); } };",
     "C::s:blocking"},
    {"Vector",
     "struct C { std::vector<cudaStream_t> s; C(int n) : s(n) { for (int i = 0; i < n; ++i) cudaStreamCreate(&s[i]); }"
     " ~C() { for (auto t : s) cudaStreamDestroy(t); } };",
     "C::s:blocking"},
    {"VectorOfOne",
     "struct C { std::vector<cudaStream_t> s; C(int n, cudaStream_t o) : s(n, o) { cudaStreamCreate(&s[0]); } };",
     "C::s:-"},
    {"VectorResized",
     "struct C { std::vector<cudaEvent_t> e; void f(int n) { e.resize(n); for (auto& x : e) cudaEventCreate(&x); } };",
     "C::e:timed"},
    {"VectorPushBack",
     "struct C { std::vector<cudaStream_t> s; void add() { cudaStream_t t; cudaStreamCreate(&t); s.push_back(t); } };",
     "C::s:blocking"},
    {"VectorPushBackOfOne",
     "struct C { std::vector<cudaStream_t> s; C() { cudaStream_t t; cudaStreamCreate(&t);"
     " for (int i = 0; i < 4; ++i) { s.push_back(t); } } };",
     "C::s:-"},
    {"VectorPushBackTwice",
     "struct C { std::vector<cudaStream_t> s; C() { cudaStream_t t; cudaStreamCreate(&t);"
     " s.push_back(t); s.push_back(t); } };",
     "C::s:-"},
    {"VectorPushBackFromOutside",
     "struct C { std::vector<cudaStream_t> s; void add(cudaStream_t t) { s.push_back(t); } };", "C::s:-"},
    {"LocalFirst", "struct C { cudaStream_t s; C() { cudaStream_t t; cudaStreamCreate(&t); s = t; } };",
     "C::s:blocking"},
    {"LocalForTwo", "struct C { cudaStream_t a, b; C() { cudaStream_t t; cudaStreamCreate(&t); a = t; b = t; } };",
     "C::a:- C::b:-"},
    {"NewArray",
     "struct C { cudaStream_t* s; C(int n) : s(new cudaStream_t[n]) {"
     " for (int i = 0; i < n; ++i) cudaStreamCreate(&s[i]); } ~C() { delete[] s; } };",
     "C::s:blocking"},
    {"PointerFromOutside", "struct C { cudaStream_t* s; C(cudaStream_t* o) : s(o) { cudaStreamCreate(&s[0]); } };",
     "C::s:-"},
};

std::string name_of(const testing::TestParamInfo<Case>& info) { return info.param.name; }

#define SS_CASES(group) INSTANTIATE_TEST_SUITE_P(group, FieldsTest, testing::ValuesIn(k##group), name_of)
SS_CASES(Made);
SS_CASES(Conditions);
SS_CASES(Ways);
SS_CASES(Escapes);
SS_CASES(Copies);
SS_CASES(Many);
#undef SS_CASES

}  // namespace
}  // namespace streamsan::analyzer
