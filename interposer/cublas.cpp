// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The matrix products of cuBLAS, in whose place ours stand (library_function.h), and what they promise (promises.h).
//
// THE RULE, from the documentation of the cublas<t>gemm functions and of cublasLtMatmul(): C = alpha op(A) op(B) + beta
// C. The m x k elements of op(A) and the k x n ones of op(B) are read, and the m x n ones of C (of cublasLtMatmul(): D)
// are written, unless a size is zero. With an alpha of zero A and B need not be read, with a beta of zero C. Where C is
// written as well, reading it adds nothing: who meets the read meets the write. So only the C of cublasLtMatmul() that
// is not D counts. A scalar in memory of the device is not looked at: alpha counts as other than zero, beta as zero.
// Matrices are stored by columns, `ld` elements from one to the next; op(A) is A or its transpose, so A itself has m
// rows or k.
//
// Left out: batches whose matrices are found through pointers in memory, layouts of cublasLtMatmul() that are not plain
// columns or rows, and types of less than a byte. They promise nothing, and neither does a program with cuBLAS linked
// into it or looked up by dlsym(): it does not call us.
//
// cublas_v2.h is not there on every machine that builds this, so the functions are declared here. Their enums are ints
// and their handles pointers, in all versions since 11.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "interposer/library_function.h"
#include "interposer/process.h"
#include "interposer/promises.h"

namespace streamsan::recorder {
namespace {

using PieceMode = trace::Piece::Mode;

constexpr int kNotInitialized = 1;  // CUBLAS_STATUS_NOT_INITIALIZED
constexpr int kHostPointers = 0;    // CUBLAS_POINTER_MODE_HOST, CUBLASLT_POINTER_MODE_HOST
constexpr LibraryNames kCublas{"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"};
constexpr LibraryNames kCublasLt{"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"};

/// Values of cudaDataType, in bytes of an element; 0: not known, or less than a byte.
std::uint64_t bytes_of(int type) {
  switch (type) {
    case 3:   // R_8I
    case 8:   // R_8U
    case 28:  // R_8F_E4M3
    case 29:  // R_8F_E5M2
      return 1;
    case 2:   // R_16F
    case 14:  // R_16BF
    case 7:   // C_8I
    case 9:   // C_8U
    case 20:  // R_16I
    case 22:  // R_16U
      return 2;
    case 0:   // R_32F
    case 6:   // C_16F
    case 15:  // C_16BF
    case 10:  // R_32I
    case 12:  // R_32U
      return 4;
    case 1:   // R_64F
    case 4:   // C_32F
    case 11:  // C_32I
    case 13:  // C_32U
    case 24:  // R_64I
    case 26:  // R_64U
      return 8;
    case 5:  // C_64F
      return 16;
    default:
      return 0;
  }
}

/// Of the scalars, by cublasComputeType_t, at least: those of complex products are twice as long, and zero where the
/// first half is only if the caller means it.
std::uint64_t scalar_bytes_of(int compute) {
  return compute == 64 || compute == 65 ? 2 : compute == 70 || compute == 71 || compute == 79 ? 8 : 4;
}

/// Also minus zero, which differs in the highest bit of a real number. Of two bytes, four, or several times four.
bool is_zero(const void* scalar, std::uint64_t bytes) {
  if (!scalar) return false;
  const auto* at = static_cast<const unsigned char*>(scalar);
  for (std::uint64_t i = 0; i < bytes; ++i) {
    const bool has_sign = i % 4 == 3 || i + 1 == bytes;
    if ((at[i] & (has_sign ? 0x7f : 0xff)) != 0) return false;
  }
  return true;
}

/// A matrix as a call names it.
struct Side {
  const void* at;
  std::uint64_t element;  ///< bytes; 0: not known
  std::int64_t ld;        ///< elements
  std::int64_t stride;    ///< elements, from matrix to matrix
};

/// What all functions begin with.
struct Sizes {
  void* handle;
  bool transposed_a, transposed_b;
  std::int64_t m, n, k;
  const void* alpha;
};

Matrices stored(const Side& side, std::int64_t rows, std::int64_t columns, std::int64_t batch) {
  if (rows <= 0 || columns <= 0 || batch <= 0 || side.ld < rows || side.stride < 0) return {};
  return {.begin = reinterpret_cast<std::uint64_t>(side.at),
          .width = static_cast<std::uint64_t>(rows) * side.element,
          .columns = static_cast<std::uint64_t>(columns),
          .pitch = static_cast<std::uint64_t>(side.ld) * side.element,
          .count = static_cast<std::uint64_t>(batch),
          .distance = static_cast<std::uint64_t>(side.stride) * side.element};
}

using PointerMode = int(void* handle, int* mode);
using GetAttribute = int(const void* what, int attribute, void* out, std::size_t bytes, std::size_t* written);

// A fork keeps g_pointer_mode, g_layout, g_description: the libraries lie where they lay.
constinit LibraryOriginal<PointerMode> g_pointer_mode{kCublas, "cublasGetPointerMode_v2"};
constinit LibraryOriginal<GetAttribute> g_layout{kCublasLt, "cublasLtMatrixLayoutGetAttribute"};
constinit LibraryOriginal<GetAttribute> g_description{kCublasLt, "cublasLtMatmulDescGetAttribute"};

/// Can alpha be other than zero? One in memory of the device is not looked at.
bool reads_matrices(void* handle, const void* alpha, std::uint64_t bytes, const void* caller) {
  PointerMode* ask = g_pointer_mode.get_for(caller);
  int mode = kHostPointers;
  return !ask || ask(handle, &mode) != 0 || mode != kHostPointers || !is_zero(alpha, bytes);
}

Promise promise_of(const Sizes& sizes, std::uint64_t alpha_bytes, const Side& a, const Side& b, const Side& c,
                   std::int64_t batch, const void* caller) {
  Promise promise;
  const auto& [handle, ta, tb, m, n, k, alpha] = sizes;
  if (!recording() || m <= 0 || n <= 0) return promise;
  if (k > 0 && reads_matrices(handle, alpha, alpha_bytes, caller)) {
    promise.add(stored(a, ta ? k : m, ta ? m : k, batch), PieceMode::Read);
    promise.add(stored(b, tb ? n : k, tb ? k : n, batch), PieceMode::Read);
  }
  promise.add(stored(c, m, n, batch), PieceMode::Write);
  return promise;
}

/// What a call of cublasLtMatmul() says of a matrix. Nothing promised: it is not plain.
Matrices described(GetAttribute* get, const void* layout, const void* at) {
  // cublasLtMatrixLayoutAttribute_t. The batch mode is unknown to libraries before 12.9, which have one only.
  constexpr int kType = 0, kOrder = 1, kRows = 2, kColumns = 3, kLd = 4, kBatch = 5, kStride = 6, kPlane = 7,
                kBatchMode = 8;
  constexpr std::int32_t kByColumns = 0, kByRows = 1;
  const auto read = [&](int attribute, auto& out) {
    std::size_t written = 0;
    return get(layout, attribute, &out, sizeof out, &written) == 0;
  };
  std::uint32_t type = 0, batch_mode = 0;
  std::int32_t order = 0, batch = 0;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t ld = 0, stride = 0, plane = 0;
  if (!layout || !read(kType, type) || !read(kOrder, order) || !read(kRows, rows) || !read(kColumns, columns) ||
      !read(kLd, ld) || !read(kBatch, batch) || !read(kStride, stride) || !read(kPlane, plane) || plane != 0 ||
      (read(kBatchMode, batch_mode) && batch_mode != 0) || (order != kByColumns && order != kByRows))
    return {};
  const auto first = static_cast<std::int64_t>(order == kByColumns ? rows : columns);
  const auto second = static_cast<std::int64_t>(order == kByColumns ? columns : rows);
  return stored({at, bytes_of(static_cast<int>(type)), ld, stride}, first, second, batch);
}

/// Bytes of the scalars of cublasLtMatmul(); 0: they are not the host's, or nobody says.
std::uint64_t scalar_bytes_of(const void* description, const void* caller) {
  constexpr int kComputeType = 0, kPointerMode = 2;  // cublasLtMatmulDescAttributes_t
  GetAttribute* get = g_description.get_for(caller);
  std::int32_t compute = 0, mode = kHostPointers;
  std::size_t written = 0;
  if (!get || get(description, kPointerMode, &mode, sizeof mode, &written) != 0 || mode != kHostPointers ||
      get(description, kComputeType, &compute, sizeof compute, &written) != 0)
    return 0;
  return scalar_bytes_of(compute);
}

template <class Function, class... Arguments>
int call_original(LibraryOriginal<Function>& original, const void* caller, Arguments... arguments) {
  Function* real = original.get_for(caller);
  return real ? real(arguments...) : kNotInitialized;
}

}  // namespace
}  // namespace streamsan::recorder

// NOLINTBEGIN(readability-identifier-naming,bugprone-easily-swappable-parameters,bugprone-macro-parentheses): cuBLAS's
#define SS_CALLER __builtin_return_address(0)
#define SS_EXPORTED extern "C" __attribute__((visibility("default"))) int
#define SS_SIZES(Int) void *handle, int ta, int tb, Int m, Int n, Int k, const void *alpha
#define SS_GIVEN handle, ta, tb, m, n, k, alpha
// A fork keeps original, of each function: the libraries lie where they lay.
#define SS_BEGIN(name)                 \
  using namespace streamsan::recorder; \
  static constinit LibraryOriginal<decltype(name)> original { kCublas, #name }
#define SS_PROMISING(...) \
  const Promising promising(promise_of({handle, ta != 0, tb != 0, m, n, k, alpha}, __VA_ARGS__, SS_CALLER))

/// A product of one type. `Int`: of sizes.
#define SS_GEMM(name, bytes, Int)                                                                            \
  SS_EXPORTED name(SS_SIZES(Int), const void* a, Int lda, const void* b, Int ldb, const void* beta, void* c, \
                   Int ldc) {                                                                                \
    SS_BEGIN(name);                                                                                          \
    SS_PROMISING(bytes, {a, bytes, lda, 0}, {b, bytes, ldb, 0}, {c, bytes, ldc, 0}, 1);                      \
    return call_original(original, SS_CALLER, SS_GIVEN, a, lda, b, ldb, beta, c, ldc);                       \
  }

/// Of any types.
#define SS_GEMM_EX(name, Int)                                                                                          \
  SS_EXPORTED name(SS_SIZES(Int), const void* a, int type_a, Int lda, const void* b, int type_b, Int ldb,              \
                   const void* beta, void* c, int type_c, Int ldc, int compute, int algorithm) {                       \
    SS_BEGIN(name);                                                                                                    \
    SS_PROMISING(scalar_bytes_of(compute), {a, bytes_of(type_a), lda, 0}, {b, bytes_of(type_b), ldb, 0},               \
                 {c, bytes_of(type_c), ldc, 0}, 1);                                                                    \
    return call_original(original, SS_CALLER, SS_GIVEN, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc, compute, \
                         algorithm);                                                                                   \
  }

/// Of matrices at equal distances, of one type.
#define SS_GEMM_BATCH(name, bytes, Int)                                                                             \
  SS_EXPORTED name(SS_SIZES(Int), const void* a, Int lda, long long stride_a, const void* b, Int ldb,               \
                   long long stride_b, const void* beta, void* c, Int ldc, long long stride_c, Int batch) {         \
    SS_BEGIN(name);                                                                                                 \
    SS_PROMISING(bytes, {a, bytes, lda, stride_a}, {b, bytes, ldb, stride_b}, {c, bytes, ldc, stride_c}, batch);    \
    return call_original(original, SS_CALLER, SS_GIVEN, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c, \
                         batch);                                                                                    \
  }

/// Likewise, of any types.
#define SS_GEMM_BATCH_EX(name, Int)                                                                                    \
  SS_EXPORTED name(SS_SIZES(Int), const void* a, int type_a, Int lda, long long stride_a, const void* b, int type_b,   \
                   Int ldb, long long stride_b, const void* beta, void* c, int type_c, Int ldc, long long stride_c,    \
                   Int batch, int compute, int algorithm) {                                                            \
    SS_BEGIN(name);                                                                                                    \
    SS_PROMISING(scalar_bytes_of(compute), {a, bytes_of(type_a), lda, stride_a}, {b, bytes_of(type_b), ldb, stride_b}, \
                 {c, bytes_of(type_c), ldc, stride_c}, batch);                                                         \
    return call_original(original, SS_CALLER, SS_GIVEN, a, type_a, lda, stride_a, b, type_b, ldb, stride_b, beta, c,   \
                         type_c, ldc, stride_c, batch, compute, algorithm);                                            \
  }

SS_GEMM(cublasHgemm, 2, int)
SS_GEMM(cublasSgemm_v2, 4, int)
SS_GEMM(cublasDgemm_v2, 8, int)
SS_GEMM(cublasCgemm_v2, 8, int)
SS_GEMM(cublasZgemm_v2, 16, int)
SS_GEMM(cublasHgemm_64, 2, std::int64_t)
SS_GEMM(cublasSgemm_v2_64, 4, std::int64_t)
SS_GEMM(cublasDgemm_v2_64, 8, std::int64_t)
SS_GEMM(cublasCgemm_v2_64, 8, std::int64_t)
SS_GEMM(cublasZgemm_v2_64, 16, std::int64_t)
SS_GEMM_BATCH(cublasHgemmStridedBatched, 2, int)
SS_GEMM_BATCH(cublasSgemmStridedBatched, 4, int)
SS_GEMM_BATCH(cublasDgemmStridedBatched, 8, int)
SS_GEMM_BATCH(cublasCgemmStridedBatched, 8, int)
SS_GEMM_BATCH(cublasZgemmStridedBatched, 16, int)
SS_GEMM_BATCH(cublasHgemmStridedBatched_64, 2, std::int64_t)
SS_GEMM_BATCH(cublasSgemmStridedBatched_64, 4, std::int64_t)
SS_GEMM_BATCH(cublasDgemmStridedBatched_64, 8, std::int64_t)
SS_GEMM_BATCH(cublasCgemmStridedBatched_64, 8, std::int64_t)
SS_GEMM_BATCH(cublasZgemmStridedBatched_64, 16, std::int64_t)
SS_GEMM_EX(cublasGemmEx, int)
SS_GEMM_EX(cublasGemmEx_64, std::int64_t)
SS_GEMM_BATCH_EX(cublasGemmStridedBatchedEx, int)
SS_GEMM_BATCH_EX(cublasGemmStridedBatchedEx_64, std::int64_t)

SS_EXPORTED cublasLtMatmul(void* handle, void* description, const void* alpha, const void* a, void* layout_a,
                           const void* b, void* layout_b, const void* beta, const void* c, void* layout_c, void* d,
                           void* layout_d, const void* algorithm, void* workspace, std::size_t workspace_bytes,
                           void* stream) {
  using namespace streamsan::recorder;
  static constinit LibraryOriginal<decltype(cublasLtMatmul)> original{kCublasLt, "cublasLtMatmul"};
  Promise promise;
  if (GetAttribute* get = recording() ? g_layout.get_for(SS_CALLER) : nullptr) {
    const std::uint64_t scalar_bytes = scalar_bytes_of(description, SS_CALLER);
    if (scalar_bytes == 0 || !is_zero(alpha, scalar_bytes)) {
      promise.add(described(get, layout_a, a), PieceMode::Read);
      promise.add(described(get, layout_b, b), PieceMode::Read);
    }
    if (c != d && beta && scalar_bytes != 0 && !is_zero(beta, scalar_bytes))
      promise.add(described(get, layout_c, c), PieceMode::Read);
    promise.add(described(get, layout_d, d), PieceMode::Write);
  }
  const Promising promising(promise);
  return call_original(original, SS_CALLER, handle, description, alpha, a, layout_a, b, layout_b, beta, c, layout_c, d,
                       layout_d, algorithm, workspace, workspace_bytes, stream);
}
// NOLINTEND(readability-identifier-naming,bugprone-easily-swappable-parameters,bugprone-macro-parentheses)
