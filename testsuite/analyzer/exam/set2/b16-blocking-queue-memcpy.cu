#include <cuda_runtime.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace acc
{
    inline void rtCheck(cudaError_t const& error, char const* desc, int const& line)
    {
        if(error != cudaSuccess)
        {
            std::ostringstream os;
            os << desc << " (line " << line << "): " << cudaGetErrorString(error);
            throw std::runtime_error(os.str());
        }
    }
#define ACC_RT_CHECK(cmd) ::acc::rtCheck(cmd, #cmd, __LINE__)

    class Queue
    {
    public:
        Queue()
        {
            ACC_RT_CHECK(cudaStreamCreateWithFlags(&m_stream, cudaStreamNonBlocking));
        }
        ~Queue()
        {
            cudaStreamSynchronize(m_stream);
            cudaStreamDestroy(m_stream);
        }
        Queue(Queue const&) = delete;
        auto operator=(Queue const&) -> Queue& = delete;

        template<typename TKernel, typename... TArgs>
        void exec(TKernel kernel, unsigned grid, unsigned block, TArgs... args)
        {
            kernel<<<grid, block, 0, m_stream>>>(args...);
            ACC_RT_CHECK(cudaGetLastError());
        }

        void fill(void* dst, int byte, std::size_t bytes)
        {
            ACC_RT_CHECK(cudaMemsetAsync(dst, byte, bytes, m_stream));
        }

        //! Copies and blocks until the copy is complete.
        void copy(void* dst, void const* src, std::size_t bytes, cudaMemcpyKind kind)
        {
            ACC_RT_CHECK(cudaMemcpy(dst, src, bytes, kind));
        }

    private:
        cudaStream_t m_stream{};
    };

    template<typename T>
    class Buf
    {
    public:
        explicit Buf(std::size_t n) : m_n(n)
        {
            ACC_RT_CHECK(cudaMalloc(reinterpret_cast<void**>(&m_p), n * sizeof(T)));
        }
        ~Buf()
        {
            cudaFree(m_p);
        }
        Buf(Buf const&) = delete;
        T* data() const { return m_p; }
        std::size_t bytes() const { return m_n * sizeof(T); }

    private:
        std::size_t m_n;
        T* m_p{};
    };

    __global__ void countPrimes(unsigned first, unsigned n, unsigned* total)
    {
        unsigned const i = blockIdx.x * blockDim.x + threadIdx.x;
        if(i >= n || first + i < 2)
            return;
        for(unsigned d = 2; d * d <= first + i; ++d)
            if((first + i) % d == 0)
                return;
        atomicAdd(total, 1u);
    }

    auto primesBelow(unsigned limit) -> unsigned
    {
        Buf<unsigned> total(1);
        Queue queue;
        unsigned result = 0;
        queue.fill(total.data(), 0, total.bytes());
        queue.exec(countPrimes, (limit + 255) / 256, 256u, 0u, limit, total.data());
        queue.copy(&result, total.data(), total.bytes(), cudaMemcpyDeviceToHost);
        return result;
    }
} // namespace acc
