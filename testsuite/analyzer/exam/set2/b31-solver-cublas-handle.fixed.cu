// Jacobi-preconditioned Richardson iteration.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cmath>
#include <stdexcept>

namespace krylov
{
    static void verify(bool ok, char const* what)
    {
        if (!ok)
            throw std::runtime_error(what);
    }
    #define VERIFY_CUDA(x)   verify((x) == cudaSuccess, #x)
    #define VERIFY_CUBLAS(x) verify((x) == CUBLAS_STATUS_SUCCESS, #x)

    struct CsrMatrix
    {
        int           n;
        int const*    rowPtr;
        int const*    colIdx;
        double const* val;
        double const* invDiag;
    };

    __global__ void residual(CsrMatrix A, double const* b, double const* x, double* r)
    {
        int row = blockIdx.x * blockDim.x + threadIdx.x;
        if (row >= A.n)
            return;
        double s = b[row];
        for (int k = A.rowPtr[row]; k < A.rowPtr[row + 1]; ++k)
            s -= A.val[k] * x[A.colIdx[k]];
        r[row] = s;
    }

    __global__ void correct(CsrMatrix A, double const* r, double* x, double omega)
    {
        int row = blockIdx.x * blockDim.x + threadIdx.x;
        if (row < A.n)
            x[row] += omega * A.invDiag[row] * r[row];
    }

    class Richardson
    {
      public:
        explicit Richardson(int n)
        {
            VERIFY_CUDA(cudaStreamCreateWithFlags(&own_, cudaStreamNonBlocking));
            VERIFY_CUBLAS(cublasCreate(&blas_));
            VERIFY_CUBLAS(cublasSetStream(blas_, own_));
            VERIFY_CUBLAS(cublasSetPointerMode(blas_, CUBLAS_POINTER_MODE_HOST));
            VERIFY_CUDA(cudaMalloc(reinterpret_cast<void**>(&r_), n * sizeof(double)));
        }
        ~Richardson()
        {
            cudaDeviceSynchronize();
            cudaFree(r_);
            cublasDestroy(blas_);
            cudaStreamDestroy(own_);
        }

        // Iterates on the caller's stream until the residual norm falls below tol.
        int solve(CsrMatrix const& A, double const* b, double* x, double tol, int maxIter, cudaStream_t stream)
        {
            VERIFY_CUBLAS(cublasSetStream(blas_, stream));
            int it = 0;
            while (it < maxIter && iterate(A, b, x, stream) >= tol)
                ++it;
            VERIFY_CUDA(cudaStreamSynchronize(stream));
            return it;
        }

      private:
        double iterate(CsrMatrix const& A, double const* b, double* x, cudaStream_t stream)
        {
            int const grid = (A.n + 127) / 128;
            residual<<<grid, 128, 0, stream>>>(A, b, x, r_);
            VERIFY_CUDA(cudaGetLastError());
            double rr = 0.0;
            VERIFY_CUBLAS(cublasDdot(blas_, A.n, r_, 1, r_, 1, &rr));
            correct<<<grid, 128, 0, stream>>>(A, r_, x, 0.7);
            VERIFY_CUDA(cudaGetLastError());
            return std::sqrt(rr);
        }

        cudaStream_t   own_  = nullptr;
        cublasHandle_t blas_ = nullptr;
        double*        r_    = nullptr;
    };
} // namespace krylov
