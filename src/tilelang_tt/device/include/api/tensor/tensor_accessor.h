// TensorAccessor: from a page number to a NoC address, for interleaved and sharded tensors in DRAM and L1.
#pragma once

#ifndef VD_LEAN
#include <array>
#endif

#include "api/tensor/page.h"
#include "api/tensor/tensor_binding_token.h"
#include "vd/cores.h"
#include "vd/missing.h"
#include "vd/noc.h"

namespace vd {

template <typename T>
T&& some() noexcept;  // a value of the type, where only types count
template <typename...>
using Void = void;

#ifdef VD_LEAN
template <uint32_t rank>
struct Sizes {
    uint32_t at[rank];

    constexpr uint32_t& operator[](uint32_t axis) { return at[axis]; }
    constexpr const uint32_t& operator[](uint32_t axis) const { return at[axis]; }
    constexpr const uint32_t* begin() const { return at; }
    constexpr const uint32_t* end() const { return at + rank; }
    constexpr std::size_t size() const { return rank; }
};
#else
template <uint32_t rank>
using Sizes = std::array<uint32_t, rank>;
#endif

// Of a tensor whose rank is a runtime argument.
struct RuntimeSizes {
    uint32_t at[tensor_accessor::MAX_RANK], rank;

    constexpr uint32_t& operator[](uint32_t axis) { return at[axis]; }
    constexpr const uint32_t& operator[](uint32_t axis) const { return at[axis]; }
    constexpr const uint32_t* begin() const { return at; }
    constexpr const uint32_t* end() const { return at + rank; }
    constexpr std::size_t size() const { return rank; }
};
template <bool at_runtime, uint32_t rank>
struct SizesOf {
    using Type = Sizes<rank == 0 ? 1 : rank>;
    static Type none(uint32_t) { return {}; }
};
template <uint32_t rank>
struct SizesOf<true, rank> {
    using Type = RuntimeSizes;
    static Type none(uint32_t axes) { return {{}, axes}; }
};

// How the pages of a tensor are spread over its banks.
template <typename Args>
struct Distribution {
    using ArgsType = Args;
    static constexpr bool is_interleaved = !Args::is_sharded;
    static constexpr bool is_dram = Args::is_dram;
    static constexpr bool has_static_rank = !Args::is_sharded || !Args::rank_is_crta;
    using Of = SizesOf<!has_static_rank, Args::RankCT>;
    using Shape = typename Of::Type;

    explicit Distribution(const Args& args, uint32_t line)
        : args_(args), rank_(rank_of(args, line)), tensor_(Of::none(rank_)), shard_(tensor_), grid_(tensor_) {
        for (uint32_t axis = 0; axis < rank(); ++axis) {
            tensor_[axis] = args.tensor_shape(axis);
            shard_[axis] = args.shard_shape(axis);
            grid_[axis] = (tensor_[axis] + shard_[axis] - 1) / shard_[axis];
        }
    }
    uint32_t rank() const { return has_static_rank ? Args::RankCT : rank_; }
    uint32_t num_banks() const { return args_.get_num_banks(); }
    bool is_contiguous() const { return args_.resolve_shard_contiguous(); }
    const Shape& tensor_shape() const { return tensor_; }
    const Shape& shard_shape() const { return shard_; }
    const Shape& shard_grid() const { return grid_; }
    std::size_t tensor_volume() const { return product(tensor_); }
    std::size_t shard_volume() const { return product(shard_); }
    std::size_t num_shards() const { return product(grid_); }
    uint32_t bank_coordinates(uint32_t bank) const { return args_.bank_coordinates(bank); }

private:
    static uint32_t rank_of(const Args& args, uint32_t line) {
        if constexpr (has_static_rank) return Args::RankCT;
        const uint32_t rank = args.get_rank();
        if (rank > tensor_accessor::MAX_RANK) vd_assert_failed("the rank of a TensorAccessor is at most 8", line);
        return rank;
    }
    std::size_t product(const Shape& shape) const {
        std::size_t volume = 1;
        for (uint32_t axis = 0; axis < rank(); ++axis) volume *= shape[axis];
        return volume;
    }
    Args args_;
    uint32_t rank_;
    Shape tensor_, shard_, grid_;
};

}  // namespace vd

template <typename DSpecT>
struct TensorAccessor {
    using DSpec = DSpecT;
    using Args = typename DSpec::ArgsType;
    static constexpr bool is_dram = DSpec::is_dram;

    uint32_t bank_base_address;
    uint32_t page_size;

    TensorAccessor(const Args& args, std::size_t base, VD_LINE)
        : bank_base_address(static_cast<uint32_t>(base)), page_size(args.get_aligned_page_size()), dspec_(args, line) {}
    TensorAccessor(const Args& args, std::size_t base, uint32_t page_bytes, VD_LINE)
        : bank_base_address(static_cast<uint32_t>(base)), page_size(page_bytes), dspec_(args, line) {}
    template <uint32_t CTA_OFFSET, uint32_t ADDR_CRTA_OFFSET>
    TensorAccessor(tensor_accessor::TensorBindingToken<CTA_OFFSET, ADDR_CRTA_OFFSET> token, VD_LINE)
        : TensorAccessor(token.args, get_common_arg_val<uint32_t>(ADDR_CRTA_OFFSET / sizeof(uint32_t), line), line) {}

    const DSpec& dspec() const { return dspec_; }
    uint32_t get_aligned_page_size() const { return page_size; }
    uint32_t get_bank_base_address() const { return bank_base_address; }

    FORCE_INLINE uint64_t get_noc_addr(uint32_t page, uint32_t offset = 0, uint8_t = noc_index, VD_LINE) const {
        if constexpr (DSpec::is_interleaved) {
            return vd_noc_addr_of_page(bank_base_address, page_size, page, offset, line);
        } else {
            const uint32_t number = page;
            std::size_t shard = 0, within = 0, shards = 1, pages = 1;
            for (uint32_t axis = dspec_.rank(); axis-- > 0;) {
                const uint32_t size = dspec_.tensor_shape()[axis], part = dspec_.shard_shape()[axis];
                const uint32_t at = page % size;
                page /= size;
                shard += at / part * shards;
                within += at % part * pages;
                shards *= dspec_.shard_grid()[axis];
                pages *= part;
            }
            if (page != 0) return vd_page_outside(bank_base_address, number, line);
            return shard_address(shard, within, offset, line);
        }
    }
    template <typename Coordinates, typename = decltype(vd::some<Coordinates>()[0])>
    FORCE_INLINE uint64_t get_noc_addr(const Coordinates& at, uint32_t offset = 0, uint8_t noc = noc_index,
                                       VD_LINE) const {
        static_assert(!DSpec::is_interleaved, "coordinates name pages of sharded tensors only");
        uint32_t page = 0;
        for (uint32_t axis = 0; axis < dspec_.rank(); ++axis) page = page * dspec_.tensor_shape()[axis] + at[axis];
        return get_noc_addr(page, offset, noc, line);
    }
    FORCE_INLINE uint64_t get_shard_noc_addr(uint32_t shard, uint32_t offset = 0, uint8_t = noc_index, VD_LINE) const {
        static_assert(!DSpec::is_interleaved, "interleaved tensors have no shards");
        return shard_address(shard, 0, offset, line);
    }
    bool is_local_addr(uint64_t address, uint8_t = noc_index) const { return vd_noc_is_here(address); }
    bool is_local_bank(uint32_t x, uint32_t y, uint8_t noc = noc_index) const {
        return x == my_x[noc] && y == my_y[noc];
    }
    bool is_local_page(uint32_t page, uint8_t noc = noc_index) const {
        return is_local_addr(get_noc_addr(page, 0, noc));
    }
    bool is_local_shard(uint32_t shard, uint8_t noc = noc_index) const {
        return is_local_addr(get_shard_noc_addr(shard, 0, noc));
    }
    auto pages(uint32_t first = 0, uint32_t end = 0, uint8_t noc = noc_index) const {
        return tensor_accessor::Pages<TensorAccessor>(*this, first, end, noc);
    }
    // A kernel has one thread here, so its share is all of them.
    auto strided_pages(uint8_t noc = noc_index) const {
        return pages(0, static_cast<uint32_t>(dspec_.tensor_volume()), noc);
    }
    auto strided_shard_pages(uint8_t noc = noc_index) const {
        static_assert(!DSpec::is_interleaved, "interleaved tensors have no shards");
        const std::size_t volume = dspec_.shard_volume();  // as in the SDK, shards that are cut off are no more than this
        const std::size_t shards = (dspec_.tensor_volume() + volume - 1) / volume;
        return tensor_accessor::StridedShardPages<TensorAccessor>(*this, static_cast<uint32_t>(shards), noc);
    }
    VD_MISSING_METHOD(get_bank_and_offset)
    auto shard_pages(uint32_t shard, uint32_t first = 0, uint32_t end = 0, uint8_t noc = noc_index) const {
        static_assert(!DSpec::is_interleaved, "interleaved tensors have no shards");
        const uint32_t all = static_cast<uint32_t>(dspec_.shard_volume());
        return tensor_accessor::ShardPages<TensorAccessor>(*this, shard, first, end == 0 ? all : end, noc);
    }

private:
    uint64_t shard_address(std::size_t shard, std::size_t page, uint32_t offset, uint32_t line) const {
        const std::size_t banks = dspec_.num_banks(), per_bank = dspec_.num_shards() / banks;
        const std::size_t bank = dspec_.is_contiguous() ? shard / per_bank : shard % banks;
        const std::size_t slot = dspec_.is_contiguous() ? shard % per_bank : shard / banks;
        const std::size_t place = (slot * dspec_.shard_volume() + page) * page_size;
        const uint32_t address = bank_base_address + static_cast<uint32_t>(place) + offset;
        const uint32_t coordinates = dspec_.bank_coordinates(static_cast<uint32_t>(bank));
        if (is_dram) return vd_noc_addr_of_bank(true, coordinates >> 8, address, line);
        return get_noc_addr_of_core(coordinates >> 8, coordinates & 0xFF, address);
    }
    static uint64_t get_noc_addr_of_core(uint32_t x, uint32_t y, uint32_t address) {
        return ::get_noc_addr(x, y, address);
    }

    DSpec dspec_;
};

template <std::size_t CTA, std::size_t CRTA, typename... More>
TensorAccessor(const TensorAccessorArgs<CTA, CRTA>&, std::size_t, More...)
    -> TensorAccessor<vd::Distribution<TensorAccessorArgs<CTA, CRTA>>>;

template <uint32_t CTA_OFFSET, uint32_t ADDR_CRTA_OFFSET>
TensorAccessor(tensor_accessor::TensorBindingToken<CTA_OFFSET, ADDR_CRTA_OFFSET>)
    -> TensorAccessor<
        vd::Distribution<typename tensor_accessor::TensorBindingToken<CTA_OFFSET, ADDR_CRTA_OFFSET>::args_t>>;

#ifndef VD_LEAN
template <typename... Args>
auto make_tensor_accessor_tuple(const std::tuple<Args...>& args, uint32_t first_address_arg) {
    return std::apply(
        [&](const Args&... each) {
            uint32_t index = first_address_arg;
            return std::tuple{TensorAccessor(each, get_arg_val<uint32_t>(static_cast<int>(index++)))...};
        },
        args);
}

// Accessors of different tensors under one type, so that a kernel can choose one by a number.
class AbstractTensorAccessorWrapper {
public:
    AbstractTensorAccessorWrapper() = default;
    template <typename Accessor>
    AbstractTensorAccessorWrapper(const Accessor& accessor)
        : accessor_(&accessor), address_([](const void* of, uint32_t page, uint32_t offset, uint32_t line) {
              const auto* typed = static_cast<const Accessor*>(of);
              return typed->get_noc_addr(page, offset, noc_index, vd::Line::here(static_cast<int>(line)));
          }) {}
    uint64_t get_noc_addr(uint32_t page, uint32_t offset = 0, uint8_t = noc_index, VD_LINE) const {
        return address_(accessor_, page, offset, line);
    }

private:
    const void* accessor_ = nullptr;
    uint64_t (*address_)(const void*, uint32_t, uint32_t, uint32_t) = nullptr;
};
template <typename... Accessors>
std::array<AbstractTensorAccessorWrapper, sizeof...(Accessors)> make_abstract_tensor_accessor_wrappers(
    const std::tuple<Accessors...>& accessors) {
    return std::apply(
        [](const Accessors&... each) {
            return std::array<AbstractTensorAccessorWrapper, sizeof...(Accessors)>{
                AbstractTensorAccessorWrapper(each)...};
        },
        accessors);
}

#endif  // VD_LEAN

template <typename T, typename = void>
constexpr bool has_get_aligned_page_size_v = false;
template <typename T>
constexpr bool has_get_aligned_page_size_v<
    T, vd::Void<decltype(vd::some<const T&>().get_aligned_page_size())>> = true;

// ---- pages over the NoC ----------------------------------------------------------------------------
namespace vd {
template <typename Accessor, typename = void>
struct PageSize {
    static uint32_t of(const Accessor& accessor) { return accessor.page_size; }
};
template <typename Accessor>
struct PageSize<Accessor, vd::Void<decltype(vd::some<const Accessor&>().get_aligned_page_size())>> {
    static uint32_t of(const Accessor& accessor) { return accessor.get_aligned_page_size(); }
};
template <typename Accessor>
FORCE_INLINE uint32_t page_size(const Accessor& accessor) {
    return PageSize<Accessor>::of(accessor);
}
template <typename Accessor>
using is_accessor = decltype(vd::some<const Accessor&>().get_noc_addr(0u, 0u, uint8_t{0}));
}  // namespace vd

template <typename Accessor, typename = vd::is_accessor<Accessor>>
FORCE_INLINE uint64_t get_noc_addr(uint32_t page, const Accessor& accessor, uint32_t offset = 0,
                                   uint8_t noc = noc_index, VD_LINE) {
    return accessor.get_noc_addr(page, offset, noc, line);
}
// A whole page is moved whatever the offset: an offset other than 0 leaves the page, and is reported.
template <typename Accessor, bool enable_noc_tracing = true>
FORCE_INLINE void noc_async_read_page(uint32_t page, const Accessor& accessor, uint32_t l1_addr, uint32_t offset = 0,
                                      uint8_t noc = noc_index, VD_LINE) {
    vd_noc_read(accessor.get_noc_addr(page, offset, noc, line), l1_addr, vd::page_size(accessor), vd::reading(noc),
                line);
}
template <typename Accessor, bool enable_noc_tracing = true, bool posted = false>
FORCE_INLINE void noc_async_write_page(uint32_t page, const Accessor& accessor, uint32_t l1_addr, uint32_t bytes = 0,
                                       uint32_t offset = 0, uint8_t noc = noc_index, VD_LINE) {
    vd_noc_write(l1_addr, accessor.get_noc_addr(page, offset, noc, line), bytes ? bytes : vd::page_size(accessor),
                 vd::posted(vd::writing(noc), posted), line);
}
template <typename Accessor>
FORCE_INLINE void noc_async_read_tile(uint32_t page, const Accessor& accessor, uint32_t l1_addr, uint32_t offset = 0,
                                      uint8_t noc = noc_index, VD_LINE) {
    vd_noc_read(accessor.get_noc_addr(page, offset, noc, line), l1_addr, vd::page_size(accessor), vd::reading(noc),
                line);
}
template <typename Accessor>
FORCE_INLINE void noc_async_write_tile(uint32_t page, const Accessor& accessor, uint32_t l1_addr,
                                       uint8_t noc = noc_index, VD_LINE) {
    vd_noc_write(l1_addr, accessor.get_noc_addr(page, 0, noc, line), vd::page_size(accessor), vd::writing(noc), line);
}
template <typename DSpec>
FORCE_INLINE void noc_async_read_shard(uint32_t shard, const TensorAccessor<DSpec>& accessor, uint32_t l1_addr,
                                       uint8_t noc = noc_index, VD_LINE) {
    vd_noc_read(accessor.get_shard_noc_addr(shard, 0, noc, line), l1_addr,
                accessor.page_size * static_cast<uint32_t>(accessor.dspec().shard_volume()), vd::reading(noc), line);
}
template <typename DSpec, bool posted = false>
FORCE_INLINE void noc_async_write_shard(uint32_t shard, const TensorAccessor<DSpec>& accessor, uint32_t l1_addr,
                                        uint8_t noc = noc_index, VD_LINE) {
    vd_noc_write(l1_addr, accessor.get_shard_noc_addr(shard, 0, noc, line),
                 accessor.page_size * static_cast<uint32_t>(accessor.dspec().shard_volume()),
                 vd::posted(vd::writing(noc), posted), line);
}
