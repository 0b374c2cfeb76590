// Packet classifier: rule sets are packed on the host and brought to the device through pinned slabs.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace classifier {

#define CLS_CUDA(call)                                                          \
    do {                                                                        \
        const cudaError_t cls_rc = (call);                                      \
        if (cls_rc != cudaSuccess)                                              \
            throw std::runtime_error(std::string(#call " failed: ") +           \
                                     cudaGetErrorString(cls_rc));               \
    } while (0)

struct Slab {
    unsigned char* bytes = nullptr;
    size_t size = 0;
};

// Pinned slabs of one size, lent out and given back again.
class SlabPool {
public:
    explicit SlabPool(size_t slab_size) : slab_size_(slab_size) {}
    ~SlabPool()
    {
        cudaDeviceSynchronize();
        for (const auto& slab : all_)
            cudaFreeHost(slab->bytes);
    }
    SlabPool(const SlabPool&) = delete;
    SlabPool& operator=(const SlabPool&) = delete;

    Slab* lend(size_t size)
    {
        if (size > slab_size_)
            throw std::length_error("rule set too large");
        if (idle_.empty()) {
            auto slab = std::make_unique<Slab>();
            CLS_CUDA(cudaMallocHost(reinterpret_cast<void**>(&slab->bytes), slab_size_));
            slab->size = slab_size_;
            idle_.push_back(slab.get());
            all_.push_back(std::move(slab));
        }
        Slab* slab = idle_.back();
        idle_.pop_back();
        return slab;
    }

    // The slab may be written by its next user at once.
    void give_back(Slab* slab) { idle_.push_back(slab); }

private:
    size_t slab_size_;
    std::vector<std::unique_ptr<Slab>> all_;
    std::vector<Slab*> idle_;
};

struct RuleSet {
    enum class Kind { ports, names };
    Kind kind = Kind::ports;
    std::vector<uint16_t> ports;
    std::vector<std::string> names;
};

// Layout on the device: ports as they are; names as n+1 offsets followed by the characters.
struct DeviceRules {
    RuleSet::Kind kind;
    unsigned char* bytes;
    int count;
};

size_t packed_size(const RuleSet& rules)
{
    if (rules.kind == RuleSet::Kind::ports)
        return rules.ports.size() * sizeof(uint16_t);
    size_t size = (rules.names.size() + 1) * sizeof(uint32_t);
    for (const std::string& name : rules.names)
        size += name.size();
    return size;
}

void pack_names(const std::vector<std::string>& names, unsigned char* out)
{
    uint32_t offset = 0;
    unsigned char* chars = out + (names.size() + 1) * sizeof(uint32_t);
    for (size_t i = 0; i < names.size(); ++i) {
        std::memcpy(out + i * sizeof(uint32_t), &offset, sizeof offset);
        std::memcpy(chars + offset, names[i].data(), names[i].size());
        offset += static_cast<uint32_t>(names[i].size());
    }
    std::memcpy(out + names.size() * sizeof(uint32_t), &offset, sizeof offset);
}

// The rules are valid for work that is queued on `stream` after the call; free them on that stream.
DeviceRules upload(const RuleSet& rules, SlabPool& pool, cudaStream_t stream)
{
    const size_t size = packed_size(rules);
    DeviceRules result{rules.kind, nullptr, 0};
    CLS_CUDA(cudaMallocAsync(reinterpret_cast<void**>(&result.bytes), size > 0 ? size : 1, stream));
    Slab* slab = pool.lend(size);
    if (rules.kind == RuleSet::Kind::names) {
        pack_names(rules.names, slab->bytes);
        result.count = static_cast<int>(rules.names.size());
        CLS_CUDA(cudaMemcpyAsync(result.bytes, slab->bytes, size, cudaMemcpyHostToDevice, stream));
        CLS_CUDA(cudaStreamSynchronize(stream));
    } else {
        if (size > 0)
            std::memcpy(slab->bytes, rules.ports.data(), size);
        result.count = static_cast<int>(rules.ports.size());
        CLS_CUDA(cudaMemcpyAsync(result.bytes, slab->bytes, size, cudaMemcpyHostToDevice, stream));
    }
    pool.give_back(slab);
    return result;
}

std::vector<DeviceRules> upload_all(const std::vector<RuleSet>& sets, SlabPool& pool, cudaStream_t stream)
{
    std::vector<DeviceRules> uploaded;
    uploaded.reserve(sets.size());
    for (const RuleSet& rules : sets)
        uploaded.push_back(upload(rules, pool, stream));
    return uploaded;
}

void drop_all(std::vector<DeviceRules>& sets, cudaStream_t stream)
{
    for (DeviceRules& rules : sets)
        CLS_CUDA(cudaFreeAsync(rules.bytes, stream));
    sets.clear();
}

}  // namespace classifier
