// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernel effects, one small kernel per behaviour. Each kernel is called `k`; its effects are written
//
//   "out:w in:r n:-"     r read, w written, a atomic, ? unknown, ~ decided by memory, - nothing
//   "s:rw{in:r out:w}"   of a struct or closure: all pointers together, and each apart
//   "::table:w"          of a variable on the device
//
// A kernel that touches stands beside one that looks alike and does not.
#include "analyzer/lowering/kernel_effects.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "analyzer/lowering/tests/mock_unit.h"

namespace streamsan::analyzer {
namespace {

std::string spell(const PointerEffect& effect) {
  std::string text;
  if (effect.reads) text += 'r';
  if (effect.writes) text += 'w';
  if (effect.atomics) text += 'a';
  if (effect.unknown) text += '?';
  if (effect.depends_on_data) text += '~';
  return text.empty() ? "-" : text;
}

std::string spell(const ParameterEffect& effect) {
  std::string text = spell(static_cast<const PointerEffect&>(effect));
  if (!effect.members) return text;
  std::string members;
  for (const auto& [name, member] : effect.by_member)
    members += (members.empty() ? "" : " ") + name + ":" + spell(member);
  return text + "{" + members + "}";
}

std::string effects_of(const std::string& source) {
  const auto unit = mock_unit("#include <cuda_runtime.h>\n" + source, "k.cu");
  if (unit == nullptr) return "does not compile";
  const clang::FunctionDecl* kernel = kernel_of(*unit);
  if (kernel == nullptr) return "no kernel";
  KernelEffects effects;
  const auto& found = effects.of(*kernel);
  std::string text;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto* parameter = kernel->getParamDecl(static_cast<unsigned>(i));
    text += (text.empty() ? "" : " ") + parameter->getNameAsString() + ":" + spell(found[i]);
  }
  for (const VariableEffect& effect : effects.variables(*kernel))
    text += (text.empty() ? "" : " ") + ("::" + effect.variable->getNameAsString()) + ":" + spell(effect);
  return text;
}

class KernelEffectsTest : public testing::TestWithParam<Case> {};

TEST_P(KernelEffectsTest, IsAsWritten) { EXPECT_EQ(effects_of(GetParam().source), GetParam().expected); }

const Case kVariables[] = {
    {"Constant", "__constant__ float c[4]; __global__ void k(float* a) { a[threadIdx.x] = c[1]; }", "a:w ::c:r"},
    {"Array", "__device__ float t[9]; __global__ void k() { t[threadIdx.x] += 1; }", "::t:rw"},
    {"ByACallee",
     "__device__ int n; __device__ int next() { return atomicAdd(&n, 1); } __global__ void k(int* a) { a[next()] = 1; "
     "}",
     "a:w ::n:a"},
    {"WhereACalleePoints",
     "__device__ int g[4]; __device__ int* slot(int i) { return g + i; } __global__ void k(int* a) { *slot(0) = 1; }",
     "a:- ::g:w"},
    {"WhereACalleePointsAndAnotherReads",
     "__device__ int g[4]; __device__ int* slot(int i) { return g + i; } __device__ void seen(int* out) { *out = g[0]; "
     "} __global__ void k(int* a) { *slot(0) = 1; seen(a); }",
     "a:w ::g:rw"},
    {"AConditionWhereACalleePoints",
     "__device__ int g[4]; __device__ int* slot(int i) { return g + i; } __device__ void put() { g[0] = 1; } "
     "__global__ void k(int* a) { if (*slot(0)) a[0] = 1; put(); }",
     "a:w~ ::g:rw"},
    {"PassedOn", "__device__ int n[4]; __device__ void put(int* p) { *p = 1; } __global__ void k() { put(n + 2); }",
     "::n:w"},
    {"AnAliasOfIt", "__device__ int n[4]; __global__ void k() { int* p = n; p[threadIdx.x] = 1; }", "::n:w"},
    {"WhatItPointsTo", "__device__ int* p; __global__ void k() { p[threadIdx.x] = 1; }", "::p:r"},
    {"VolatileFlag", "__device__ volatile int f; __global__ void k() { f = 1; }", ""},
    {"SharedMemory", "__global__ void k(int* a) { __shared__ int s[32]; s[threadIdx.x] = a[threadIdx.x]; }", "a:r"},
    {"ConstantOfTheHost", "constexpr int kSize = 4; __global__ void k(int* a) { a[kSize] = 1; }", "a:w"},
};

const Case kDirect[] = {
    {"ReadAndWrite", "__global__ void k(float* a, const float* b) { a[threadIdx.x] = b[threadIdx.x]; }", "a:w b:r"},
    {"NonConstOnlyRead", "__global__ void k(float* a, float* b) { a[0] = b[0]; }", "a:w b:r"},
    {"Unused", "__global__ void k(float* a, float* b, int n) { a[0] = n; }", "a:w b:- n:-"},
    {"Dereference", "__global__ void k(float* a, float* b) { *a = *b; }", "a:w b:r"},
    {"Compound", "__global__ void k(float* a, float* b) { a[0] += b[0]; }", "a:rw b:r"},
    {"Increment", "__global__ void k(int* a, int* b) { a[0]++; --*b; }", "a:rw b:rw"},
    {"PointerStep", "__global__ void k(float* a, float* b) { *a++ = 1; b++; }", "a:w b:-"},
    {"AddressOnly", "__global__ void k(float* a, float* b) { float* p = &b[3]; a[0] = p != nullptr; }", "a:w b:-"},
    {"PointerDifference", "__global__ void k(float* a, float* b) { a[0] = &b[3] - a; }", "a:w b:-"},
    {"NullTest", "__global__ void k(float* a, float* b) { if (b) a[0] = 1; }", "a:w b:-"},
    {"SizeofReadsNothing", "__global__ void k(int* a, int* b) { a[0] = sizeof(b[0]); }", "a:w b:-"},
    {"Restrict", "__global__ void k(float* __restrict__ a, const float* __restrict__ b) { a[0] = b[0]; }", "a:w b:r"},
    {"Volatile", "__global__ void k(volatile int* a) { while (a[0] == 0) {} }", "a:-"},
    {"ConstCast", "__global__ void k(const float* a) { const_cast<float*>(a)[0] = 1; }", "a:w"},
    {"ConstCastNotWritten", "__global__ void k(const float* a) { float x = const_cast<float*>(a)[0]; (void)x; }",
     "a:r"},
    {"Vector4",
     "__global__ void k(float* a, const float* b) {"
     " reinterpret_cast<float4*>(a)[0] = reinterpret_cast<const float4*>(b)[0]; }",
     "a:w b:r"},
    {"FieldOfPointee", "struct P { float x, y; }; __global__ void k(P* a, P* b) { a->x = b[1].y; }", "a:w b:r"},
    {"WholePointee", "struct P { float x, y; }; __global__ void k(P* a, P* b) { a[0] = b[1]; }", "a:w b:r"},
    {"Empty", "__global__ void k(float* a) {}", "a:-"},
};

const Case kAliases[] = {
    {"Local", "__global__ void k(float* a, float* b) { float* p = a; p[0] = 1; float* q = b; (void)q; }", "a:w b:-"},
    {"Offset", "__global__ void k(float* a, float* b, int n) { float* p = b + n; p = &p[2]; *p = 1; a++; }",
     "a:- b:w n:-"},
    {"Conditional", "__global__ void k(float* a, float* b, float* c, int n) { float* p = n ? a : b; *p = *c; }",
     "a:w b:w c:r n:-"},
    {"ConstantCondition", "__global__ void k(float* a, float* b) { float* p = sizeof(int) == 4 ? a : b; *p = 1; }",
     "a:w b:-"},
    {"Cast", "__global__ void k(void* a, const void* b) { ((float*)a)[0] = static_cast<const float*>(b)[0]; }",
     "a:w b:r"},
    {"ThroughInteger",
     "__global__ void k(char* a, char* b) {"
     " size_t x = ((size_t)a + 15) & ~(size_t)15; *(float*)x = 1; size_t y = (size_t)b % 4; (void)y; }",
     "a:w b:-"},
    {"Reference", "__global__ void k(float* a, float* b) { float& x = a[1]; x = 2; float& y = b[1]; (void)&y; }",
     "a:w b:-"},
    {"ReferenceRead", "__global__ void k(float* a, float* b) { const float& x = b[1]; a[0] = x; }", "a:w b:r"},
    {"ParameterReassigned", "__global__ void k(float* a, float* b) { a = b; a[0] = 1; }", "a:w b:w"},
    {"Swapped",
     "__device__ void exchange(float*& x, float*& y) { float* t = x; x = y; y = t; }"
     "__global__ void k(float* a, float* b) { float *p = a, *q = b; exchange(p, q); *p = 1; }",
     "a:w b:w"},
    {"LocalArrayOfPointers", "__global__ void k(float* a, float* b, float* c) { float* p[2] = {a, b}; p[1][0] = *c; }",
     "a:w b:w c:r"},
    {"SharedCopyIsNoWrite",
     "__global__ void k(float* a) { __shared__ float s[32]; s[threadIdx.x] = a[threadIdx.x];"
     " __syncthreads(); s[0] += s[1]; }",
     "a:r"},
    {"LocalStruct",
     "struct S { float* in; float* out; };"
     "__global__ void k(float* a, float* b) { S s; s.in = a; s.out = b; s.out[0] = s.in[0]; }",
     "a:r b:w"},
    {"AggregateStruct",
     "struct S { float* in; float* out; };"
     "__global__ void k(float* a, float* b) { S s{a, b}; S t = s; t.out[0] = t.in[0]; }",
     "a:r b:w"},
    {"StructuredBinding",
     "struct S { float* in; float* out; };"
     "__global__ void k(float* a, float* b) { auto [in, out] = S{a, b}; out[0] = in[0]; }",
     "a:r b:w"},
    {"BehindTwoPointers", "__global__ void k(float** rows) { rows[1][2] = 3; }", "rows:r"},
    {"ListOfNodes",
     "struct N { N* next; int v; };"
     "__global__ void k(N* list) { for (N* n = list; n; n = n->next) n->v = 1; }",
     "list:rw~"},
};

const Case kAtomics[] = {
    {"Add", "__global__ void k(int* a, const int* b) { atomicAdd(a, b[0]); }", "a:a b:r"},
    {"AddAndRead", "__global__ void k(int* a) { atomicAdd(&a[threadIdx.x], a[0]); }", "a:ra"},
    {"CompareAndSwapSystem", "__global__ void k(int* a, int* b) { b[0] = atomicCAS_system(a + 1, 0, 1); }", "a:a b:w"},
    {"Block", "__global__ void k(unsigned* a) { atomicMax_block(a, 3u); }", "a:a"},
    {"OfSharedMemory", "__global__ void k(int* a) { __shared__ int s; atomicAdd(&s, 1); a[0] = s; }", "a:w"},
    {"OwnAtomic",
     "__device__ double atomicAddDouble(double* p, double v) { auto* q = (unsigned long long*)p;"
     " unsigned long long old = *q; atomicCAS(q, old, old + 1ull); return old; }"
     "__global__ void k(double* a) { atomicAddDouble(a, 1.0); }",
     "a:a"},
    {"NotAnAtomic",
     "__device__ void atomicForces(float* p) { p[0] = 1; } __global__ void k(float* a) { atomicForces(a); }", "a:w"},
    {"AtomicRef",
     "#include <cuda/atomic>\n"
     "__global__ void k(int* a, int* b) { cuda::atomic_ref<int> r(a[0]); r.fetch_add(b[0]); }",
     "a:a b:r"},
    {"AtomicRefUnused", "#include <cuda/atomic>\n__global__ void k(int* a) { cuda::atomic_ref<int> r(a[0]); }", "a:-"},
    {"AtomicRefThroughBase",
     "template <typename T> struct base { T* p; __device__ void fetch_add(T v); };"
     "template <typename T> struct atomic_ref : base<T> { __device__ atomic_ref(T& v); };"
     "__global__ void k(int* a) { atomic_ref<int> r(a[0]); r.fetch_add(1); }",
     "a:a"},
    {"AtomicObject", "#include <cuda/atomic>\n__global__ void k(cuda::atomic<int>* a) { a->fetch_add(1); }", "a:a"},
};

const Case kCalls[] = {
    {"Device",
     "__device__ void put(float* p, float v) { *p = v; }"
     "__global__ void k(float* a, const float* b) { put(a + 1, b[0]); }",
     "a:w b:r"},
    {"DeviceThatDoesNothing",
     "__device__ void put(float* p, float v) {}"
     "__global__ void k(float* a, const float* b) { put(a + 1, b[0]); }",
     "a:- b:r"},
    {"ByReference", "__device__ void put(float& p) { p = 1; } __global__ void k(float* a) { put(a[3]); }", "a:w"},
    {"ByConstReference",
     "__device__ float get(const float& p) { return p; }"
     "__global__ void k(float* a, float* b) { b[0] = get(a[3]); }",
     "a:r b:w"},
    {"ReturnsPointer",
     "__device__ float* at(float* p, int i) { return p + i; }"
     "__global__ void k(float* a, float* b) { *at(a, 1) = 2; at(b, 1); }",
     "a:w b:-"},
    {"ReturnsReference",
     "__device__ float& at(float* p, int i) { return p[i]; }"
     "__global__ void k(float* a, float* b) { at(a, 1) = at(b, 2); }",
     "a:w b:r"},
    {"OneOfTwo",
     "__device__ void copy(float* to, const float* from) { *to = *from; }"
     "__global__ void k(float* a, float* b) { copy(b, a); }",
     "a:r b:w"},
    {"Deep",
     "__device__ void f3(float* p) { p[0] = 1; } __device__ void f2(float* p) { f3(p); }"
     "__device__ void f1(float* p) { f2(p + 1); } __global__ void k(float* a) { f1(a); }",
     "a:w"},
    {"Recursive",
     "__device__ void sort(int* p, int n) { if (n < 2) return; p[0] = 1; sort(p, n / 2); sort(p + n / 2, n / 2); }"
     "__global__ void k(int* a, int n) { sort(a, n); }",
     "a:w n:-"},
    {"MutuallyRecursive",
     "__device__ void odd(int* p, int n); __device__ void even(int* p, int n) { if (n) odd(p, n - 1); }"
     "__device__ void odd(int* p, int n) { p[n] = 1; if (n) even(p, n - 1); }"
     "__global__ void k(int* a, int* b, int n) { even(a, n); odd(b, 0); }",
     "a:w b:w n:-"},
    {"Template",
     "template <typename T> __device__ void put(T* p, T v) { *p = v; }"
     "__global__ void k(float* a) { put(a, 1.0f); }",
     "a:w"},
    {"NoBody", "__device__ void use(float* p); __global__ void k(float* a, float* b) { use(a); b[0] = 1; }", "a:? b:w"},
    {"NoBodyConst", "__device__ float use(const float* p); __global__ void k(float* a, float* b) { b[0] = use(a); }",
     "a:r b:w"},
    {"NoBodyByValue", "__device__ float use(float v); __global__ void k(float* a, float* b) { b[0] = use(a[0]); }",
     "a:r b:w"},
    {"NoBodyStruct",
     "struct S { float* p; }; __device__ void use(const S& s);"
     "__global__ void k(float* a, float* b) { S s{a}; use(s); S t{b}; (void)t; }",
     "a:? b:-"},
    {"FunctionPointer", "__global__ void k(void (*f)(float*), float* a, float* b) { f(a); b[0] = 1; }", "f:- a:? b:w"},
    {"Virtual",
     "struct B { __device__ virtual void run(float* p) {} };"
     "__global__ void k(B* o, float* a) { o->run(a); }",
     "o:? a:?"},
    {"Method",
     "struct V { float* p; __device__ float& at(int i) { return p[i]; } };"
     "__global__ void k(float* a, float* b) { V v{a}; V w{b}; v.at(1) = w.at(2); }",
     "a:w b:r"},
    {"Constructor",
     "struct V { float* p; __device__ V(float* q) : p(q + 1) {} __device__ void set() { *p = 1; } };"
     "__global__ void k(float* a, float* b) { V v(a); V w(b); v.set(); }",
     "a:w b:-"},
    {"ReturnsStruct",
     "struct V { float* p; }; __device__ V make(float* q) { V v; v.p = q; return v; }"
     "__global__ void k(float* a, float* b) { V v = make(a); *v.p = 1; make(b); }",
     "a:w b:-"},
    {"OutParameter",
     "__device__ void pick(float* x, float** to) { *to = x; }"
     "__global__ void k(float* a, float* b) { float* p = nullptr; pick(a, &p); *p = *b; }",
     "a:w b:r"},
    {"LocalLambda", "__global__ void k(float* a, float* b) { auto put = [&](int i) { a[i] = 1; }; put(3); }",
     "a:w b:-"},
    {"LambdaNeverCalled", "__global__ void k(float* a, float* b) { auto put = [=](int i) { a[i] = 1; }; (void)put; }",
     "a:- b:-"},
};

const Case kBuiltins[] = {
    {"Ldg", "__global__ void k(float* a, const float* b) { a[0] = __ldg(b + 1); }", "a:w b:r"},
    {"CachedStore", "__global__ void k(float* a, const float* b) { __stcg(a, __ldcg(b)); }", "a:w b:r"},
    {"Memcpy", "__global__ void k(float* a, const float* b) { memcpy(a, b, 4); }", "a:w b:r"},
    {"Memset", "__global__ void k(float* a, float* b) { memset(a, 0, 4); }", "a:w b:-"},
    {"CooperativeCopy",
     "#include <cooperative_groups/memcpy_async.h>\nnamespace cg = cooperative_groups;"
     "__global__ void k(float* a, const float* b) { extern __shared__ float s[];"
     " auto g = cg::this_thread_block(); cg::memcpy_async(g, s, b, 4); cg::wait(g); a[0] = s[0]; }",
     "a:w b:r"},
    {"Printf", "__global__ void k(float* a, float* b) { printf(\"%p %f\", b, a[0]); }", "a:r b:-"},
    {"Assembly",
     "__global__ void k(float* a, float* b) { float v; asm volatile(\"ld\" : \"=f\"(v) : \"l\"(a)); b[0] = v; }",
     "a:? b:w"},
    {"AssemblyOnValues",
     "__global__ void k(float* a, float* b) { float v; asm(\"mov\" : \"=f\"(v) : \"f\"(a[0])); b[0] = v; }", "a:r b:w"},
    {"Texture", "__global__ void k(float* a, cudaTextureObject_t t) { a[0] = tex2D<float>(t, 0, 0); }", "a:w t:-"},
    {"Barriers", "__global__ void k(float* a) { __syncthreads(); __threadfence(); }", "a:-"},
};

const Case kObjects[] = {
    {"Struct",
     "struct S { const float* in; float* out; int n; };"
     "__global__ void k(S s) { if (s.n) s.out[0] = s.in[0]; }",
     "s:rw{in:r out:w}"},
    {"StructUnused",
     "struct S { const float* in; float* out; int n; };"
     "__global__ void k(S s, int* m) { m[0] = s.n; }",
     "s:-{} m:w"},
    {"StructWithoutPointers", "struct S { int n[4]; }; __global__ void k(S s, int* m) { m[0] = s.n[1]; }", "s:- m:w"},
    {"NestedStruct",
     "struct I { float* p; }; struct S { I in, out; };"
     "__global__ void k(S s) { s.out.p[0] = s.in.p[0]; }",
     "s:rw{in.p:r out.p:w}"},
    {"StructPassedOn",
     "struct S { float* in; float* out; }; __device__ void f(const S& s) { s.out[0] = s.in[0]; }"
     "__global__ void k(S s) { f(s); }",
     "s:rw{in:r out:w}"},
    {"StructPassedByValue",
     "struct S { float* in; float* out; }; __device__ void f(S s) { s.out[0] = s.in[0]; }"
     "__global__ void k(S s) { f(s); }",
     "s:rw{in:r out:w}"},
    {"StructEscapes",
     "struct S { float* p; }; __device__ void f(S s); __global__ void k(S s, float* a) { f(s); a[0] = 1; }",
     "s:?{} a:w"},
    {"ArrayOfPointers", "struct S { float* p[4]; }; __global__ void k(S s) { s.p[1][0] = 1; }", "s:w{p:w}"},
    {"BaseClass", "struct B { float* p; }; struct S : B { float* q; }; __global__ void k(S s) { s.p[0] = s.q[0]; }",
     "s:rw{p:w q:r}"},
    {"Functor",
     "struct F { float* p; __device__ void operator()(int i) const { p[i] = 1; } };"
     "template <typename T> __global__ void k(T f, int n) { f(n); } void run(F f) { k<<<1, 1>>>(f, 3); }",
     "f:w{p:w} n:-"},
    {"FunctorNotCalled",
     "struct F { float* p; __device__ void operator()(int i) const { p[i] = 1; } };"
     "template <typename T> __global__ void k(T f, int n) {} void run(F f) { k<<<1, 1>>>(f, 3); }",
     "f:-{} n:-"},
    {"Lambda",
     "template <typename T> __global__ void k(T f, int n) { f(n); }"
     "void run(float* out, const float* in) { k<<<1, 1>>>([=] __device__(int i) { out[i] = in[i]; }, 3); }",
     "f:rw{in:r out:w} n:-"},
    {"LambdaThatReads",
     "template <typename T> __global__ void k(T f, float* r) { *r = f(0); }"
     "void run(float* out, const float* in) { k<<<1, 1>>>([=] __device__(int i) { return in[i]; }, out); }",
     "f:r{in:r} r:w"},
    {"StructByPointer", "struct S { float* p; int n; }; __global__ void k(S* s) { s->p[0] = s->n; }", "s:r"},
    {"GridConstant", "struct S { float* p; }; __global__ void k(const __grid_constant__ S s) { s.p[0] = 1; }",
     "s:w{p:w}"},
};

const Case kTemplates[] = {
    {"Instantiation",
     "template <typename T> __global__ void k(T* a, const T* b) { a[0] = b[0]; }"
     "void run(float* p) { k<<<1, 1>>>(p, p); }",
     "a:w b:r"},
    {"ConstexprBranch",
     "template <bool kWrite> __global__ void k(float* a, float* b) {"
     " if constexpr (kWrite) a[0] = 1; else b[0] = 1; } void run(float* p) { k<true><<<1, 1>>>(p, p); }",
     "a:w b:-"},
    {"ConstantBranch",
     "template <bool kWrite> __global__ void k(float* a, float* b) {"
     " if (kWrite) a[0] = 1; else b[0] = 1; } void run(float* p) { k<false><<<1, 1>>>(p, p); }",
     "a:- b:w"},
    {"Pack",
     "template <typename... T> __global__ void k(int n, T*... p) { ((*p = n), ...); }"
     "void run(float* p, int* q) { k<<<1, 1>>>(3, p, q); }",
     "n:- p:w p:w"},
};

const Case kData[] = {
    {"BoundIsNoData", "__global__ void k(float* a, int n) { if (threadIdx.x < n) a[0] = 1; }", "a:w n:-"},
    {"Mask", "__global__ void k(float* a, const int* m) { if (m[0]) a[0] = 1; }", "a:w~ m:r"},
    {"MaskAndAlways", "__global__ void k(float* a, const int* m) { a[1] = 0; if (m[0]) a[0] = 1; }", "a:w m:r"},
    {"MaskInVariable", "__global__ void k(float* a, const int* m) { int v = m[0] * 2; if (v > 3) a[0] = 1; }",
     "a:w~ m:r"},
    {"EarlyReturn", "__global__ void k(float* a, const int* m) { if (m[0] < 0) return; a[0] = 1; }", "a:w~ m:r"},
    {"EarlyReturnOnBound", "__global__ void k(float* a, int n) { if (n < 0) return; a[0] = 1; }", "a:w n:-"},
    {"Gather", "__global__ void k(float* a, const float* b, const int* i) { a[0] = b[i[0]]; }", "a:w b:r~ i:r"},
    {"Scatter", "__global__ void k(float* a, const int* i) { int j = i[0]; a[j] = 1; }", "a:w~ i:r"},
    {"SparseRow",
     "__global__ void k(float* y, const int* row, const float* v, int r) {"
     " float s = 0; for (int j = row[r]; j < row[r + 1]; ++j) s += v[j]; y[r] = s; }",
     "y:w row:r v:r~ r:-"},
    {"PassedIndex",
     "__device__ void put(float* p, int i) { p[i] = 1; }"
     "__global__ void k(float* a, const int* i) { put(a, i[0]); }",
     "a:w~ i:r"},
    {"PassedValue",
     "__device__ void put(int* p, int v) { p[1] = v; }"
     "__global__ void k(int* a, const int* i) { put(a, i[0]); }",
     "a:w i:r"},
    {"PassedIndexThroughVariable",
     "__device__ void put(float* p, int i) { int j = i * 2; float* q = p + j; *q = 1; }"
     "__global__ void k(float* a, const int* i) { put(a, i[0]); }",
     "a:w~ i:r"},
    {"PassedIndexTwice",
     "__device__ void put(float* p, int i) { p[i] = 1; } __device__ void both(float* p, int i) { put(p, i); }"
     "__global__ void k(float* a, const int* i) { both(a, i[0]); }",
     "a:w~ i:r"},
    {"PassedBound",
     "__device__ void put(float* p, int i) { p[i] = 1; }"
     "__global__ void k(float* a, int i) { put(a, i); }",
     "a:w i:-"},
    // What the end of a loop sets, its begin has asked for already.
    {"PointerSetLater",
     "__global__ void k(float* a, float* b) { float* p = a; for (int i = 0; i < 2; ++i) { p[i] = 1; p = b; } }",
     "a:w b:w"},
    {"IndexReadLater",
     "__global__ void k(float* a, const int* m) { int j = 0; for (int i = 0; i < 2; ++i) { a[j] = 1; j = m[i]; } }",
     "a:w~ m:r"},
    {"PassedIndexTakenLater",
     "__device__ void put(float* p, int i) {"
     " int x = 0, y = 0; for (int n = 0; n < 3; ++n) { p[x] = 1; x = y; y = i; } }"
     "__global__ void k(float* a, const int* m) { put(a, m[0]); }",
     "a:w~ m:r"},
    {"MemberOfFunctorIsNoData",
     "struct F { float* p; int n; __device__ void operator()(int i) const { if (i < n) p[i] = 1; } };"
     "template <typename T> __global__ void k(T f) { f(1); } void run(F f) { k<<<1, 1>>>(f); }",
     "f:w{p:w}"},
};

const Case kWithoutBody[] = {
    {"ByType",
     "struct S { float* p; }; struct T { int n; };"
     "__global__ void k(float* a, const float* b, int n, S s, T t);",
     "a:? b:r n:- s:?{} t:-"},
    {"DefinedElsewhereInTheFile", "__global__ void k(float* a); void f(); __global__ void k(float* p) { p[0] = 1; }",
     "p:w"},
};

std::string name_of(const testing::TestParamInfo<Case>& info) { return info.param.name; }

#define SS_CASES(group) INSTANTIATE_TEST_SUITE_P(group, KernelEffectsTest, testing::ValuesIn(k##group), name_of)
SS_CASES(Variables);
SS_CASES(Direct);
SS_CASES(Aliases);
SS_CASES(Atomics);
SS_CASES(Calls);
SS_CASES(Builtins);
SS_CASES(Objects);
SS_CASES(Templates);
SS_CASES(Data);
SS_CASES(WithoutBody);
#undef SS_CASES

}  // namespace
}  // namespace streamsan::analyzer
