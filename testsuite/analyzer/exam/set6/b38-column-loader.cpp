#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace scan {

void throwIf(cudaError_t rc, const char* what) {
    if (rc != cudaSuccess) throw std::runtime_error(std::string(what) + " " + cudaGetErrorString(rc));
}

class SlabPool {
public:
    explicit SlabPool(size_t bytes) : bytes_(bytes) {}
    ~SlabPool() {
        for (void* p : all_) cudaFreeHost(p);
    }
    SlabPool(const SlabPool&) = delete;

    class Lease {
    public:
        Lease(SlabPool& pool, void* p) : pool_(&pool), data_(p) {}
        Lease(Lease&& o) noexcept : pool_(o.pool_), data_(std::exchange(o.data_, nullptr)) {}
        Lease& operator=(Lease&&) = delete;
        ~Lease() {
            if (data_ != nullptr) pool_->give(data_);
        }
        char* data() const { return static_cast<char*>(data_); }

    private:
        SlabPool* pool_;
        void* data_;
    };

    Lease lease() {
        std::lock_guard<std::mutex> lock(mutex_);
        if (idle_.empty()) {
            void* p = nullptr;
            throwIf(cudaMallocHost(&p, bytes_), "cudaMallocHost");
            all_.push_back(p);
            return Lease(*this, p);
        }
        void* p = idle_.back();
        idle_.pop_back();
        return Lease(*this, p);
    }
    size_t bytes() const { return bytes_; }

private:
    void give(void* p) {
        std::lock_guard<std::mutex> lock(mutex_);
        idle_.push_back(p);
    }

    size_t bytes_;
    std::mutex mutex_;
    std::vector<void*> all_, idle_;
};

class ColumnLoader {
public:
    ColumnLoader(SlabPool& pool, size_t columnBytes) : pool_(pool), columnBytes_(columnBytes) {
        throwIf(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
        throwIf(cudaMalloc(&column_, columnBytes), "column");
    }
    ~ColumnLoader() {
        cudaStreamSynchronize(stream_);
        held_.clear();
        cudaFree(column_);
        cudaStreamDestroy(stream_);
    }
    ColumnLoader(const ColumnLoader&) = delete;

    void load(std::istream& in) {
        for (size_t at = 0; at < columnBytes_; at += pool_.bytes()) {
            const size_t n = columnBytes_ - at < pool_.bytes() ? columnBytes_ - at : pool_.bytes();
            loadChunk(in, at, n);
        }
        finish();
    }

private:
    void loadChunk(std::istream& in, size_t at, size_t n) {
        auto slab = pool_.lease();
        in.read(slab.data(), static_cast<std::streamsize>(n));
        if (static_cast<size_t>(in.gcount()) < n) std::memset(slab.data() + in.gcount(), 0, n - in.gcount());
        throwIf(cudaMemcpyAsync(static_cast<char*>(column_) + at, slab.data(), n, cudaMemcpyHostToDevice, stream_), "upload");
    }

    void finish() {
        throwIf(cudaStreamSynchronize(stream_), "finish");
        held_.clear();
    }

    SlabPool& pool_;
    size_t columnBytes_;
    cudaStream_t stream_{};
    void* column_ = nullptr;
    std::vector<SlabPool::Lease> held_;
};

}  // namespace scan

int main(int argc, char** argv) {
    scan::SlabPool pool(1 << 20);
    scan::ColumnLoader keys(pool, 16 << 20), values(pool, 48 << 20);
    for (int i = 1; i + 1 < argc; i += 2) {
        std::ifstream k(argv[i], std::ios::binary), v(argv[i + 1], std::ios::binary);
        keys.load(k);
        values.load(v);
    }
    return 0;
}
