// Bitonic-style merge sort of keys: the two halves are sorted side by side in
// one allocation, each on its own stream, and merged after the join.
#include <cuda_runtime.h>
#include <algorithm>
#include <cassert>

namespace sorter {

__global__ void odd_even_pass(unsigned* a, int n, int parity)
{
    int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + parity;
    if (i + 1 < n && a[i] > a[i + 1]) {
        unsigned t = a[i];
        a[i] = a[i + 1];
        a[i + 1] = t;
    }
}

__global__ void merge_halves(const unsigned* lo, int nlo, const unsigned* hi, int nhi, unsigned* out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nlo + nhi) return;
    const bool first = i < nlo;
    const unsigned key = first ? lo[i] : hi[i - nlo];
    const unsigned* other = first ? hi : lo;
    int l = 0, r = first ? nhi : nlo;
    while (l < r) {
        int m = (l + r) / 2;
        if (first ? other[m] < key : other[m] <= key) l = m + 1;
        else r = m;
    }
    out[(first ? i : i - nlo) + l] = key;
}

struct Lane {
    cudaStream_t stream;
    cudaEvent_t sorted;
};

class HalfSorter {
public:
    HalfSorter()
    {
        for (Lane& l : lanes_) {
            cudaStreamCreateWithFlags(&l.stream, cudaStreamNonBlocking);
            cudaEventCreateWithFlags(&l.sorted, cudaEventDisableTiming);
        }
        cudaEventCreateWithFlags(&input_, cudaEventDisableTiming);
    }
    ~HalfSorter()
    {
        cudaEventDestroy(input_);
        for (Lane& l : lanes_) {
            cudaEventDestroy(l.sorted);
            cudaStreamDestroy(l.stream);
        }
    }

    // Sorts keys[0, n) into out[0, n) in the order of `stream`. keys is used as
    // work space.
    void sort(unsigned* keys, unsigned* out, int n, cudaStream_t stream)
    {
        assert(n > 1);
        const int cut = n / 2;
        cudaEventRecord(input_, stream);
        run(lanes_[0], keys, cut);
        run(lanes_[1], keys + cut, n - cut);
        for (Lane& l : lanes_) cudaStreamWaitEvent(stream, l.sorted, 0);
        merge_halves<<<(n + 255) / 256, 256, 0, stream>>>(keys, cut, keys + cut, n - cut, out);
    }

private:
    void run(Lane& lane, unsigned* part, int n)
    {
        cudaStreamWaitEvent(lane.stream, input_, 0);
        const int pairs = std::max(1, n / 2);
        for (int pass = 0; pass < n; ++pass)
            odd_even_pass<<<(pairs + 127) / 128, 128, 0, lane.stream>>>(part, n, pass & 1);
        cudaEventRecord(lane.sorted, lane.stream);
    }

    Lane lanes_[2];
    cudaEvent_t input_;
};

} // namespace sorter
