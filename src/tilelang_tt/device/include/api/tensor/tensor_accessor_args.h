// Where the words that describe a tensor stand among the arguments of a kernel.
#pragma once

#ifndef VD_LEAN
#include <tuple>
#include <utility>
#endif

#include "vd/kernel.h"

namespace tensor_accessor {
constexpr std::size_t UNKNOWN = ~std::size_t{0};
constexpr uint32_t MAX_RANK = 8;
enum ArgConfig : uint32_t {  // bits of the first word
    None = 0,
    Sharded = 1,
    IsDram = 2,
    RuntimeRank = 4,
    RuntimeNumBanks = 8,
    RuntimeTensorShape = 16,
    RuntimeShardShape = 32,
    RuntimeBankCoords = 64,
    RuntimePageSize = 128,
};
}  // namespace tensor_accessor

// Compile-time words: flags, page size; sharded also rank, number of banks, tensor shape and shard shape in pages,
// bank coordinates two to a word. Each may be moved to the common runtime arguments by its flag.
template <std::size_t CTA_OFFSET, std::size_t CRTA_OFFSET = tensor_accessor::UNKNOWN>
struct TensorAccessorArgs {
    static constexpr uint32_t flags = get_ct_arg<CTA_OFFSET>();
    static constexpr bool has(uint32_t flag) { return (flags & flag) != 0; }
    static constexpr bool is_sharded = (flags & tensor_accessor::Sharded) != 0;
    static constexpr bool is_dram = (flags & tensor_accessor::IsDram) != 0;
    static constexpr bool page_size_is_crta = (flags & tensor_accessor::RuntimePageSize) != 0;
    static constexpr bool rank_is_crta = (flags & tensor_accessor::RuntimeRank) != 0;
    static constexpr bool num_banks_is_crta = (flags & tensor_accessor::RuntimeNumBanks) != 0;
    static constexpr bool tensor_shape_is_crta = (flags & tensor_accessor::RuntimeTensorShape) != 0;
    static constexpr bool shard_shape_is_crta = (flags & tensor_accessor::RuntimeShardShape) != 0;
    static constexpr bool bank_coords_is_crta = (flags & tensor_accessor::RuntimeBankCoords) != 0;
    static_assert(!is_sharded || !rank_is_crta || (tensor_shape_is_crta && shard_shape_is_crta),
                  "where the rank is a runtime argument, the shapes of tensor and shard must be, too");
    static_assert(!is_sharded || !num_banks_is_crta || bank_coords_is_crta,
                  "where the number of banks is a runtime argument, their coordinates must be, too");
    static_assert(!is_sharded || !page_size_is_crta, "a sharded tensor has no runtime page size");

    template <std::size_t index, bool there>
    static constexpr uint32_t word() {
        if constexpr (there) {
            return get_ct_arg<index>();
        } else {
            return 0;
        }
    }
    static constexpr uint32_t AlignedPageSize = word<CTA_OFFSET + 1, !page_size_is_crta>();
    static constexpr uint32_t RankCTAOffset = CTA_OFFSET + (page_size_is_crta ? 1 : 2);
    static constexpr uint32_t NumBanksCTAOffset = RankCTAOffset + (rank_is_crta ? 0 : 1);
    static constexpr uint32_t RankCT = word<RankCTAOffset, is_sharded && !rank_is_crta>();  // 0: known at run time alone
    static constexpr uint32_t NumBanksRawCT = word<NumBanksCTAOffset, is_sharded && !num_banks_is_crta>();
    static constexpr uint32_t kContiguous = 1u << 31;  // shards lie one after the other in a bank
    static constexpr uint32_t NumBanksCT = NumBanksRawCT & ~kContiguous;
    static constexpr bool is_shard_contiguous = (NumBanksRawCT & kContiguous) != 0;
    static constexpr uint32_t TensorShapeCTAOffset = NumBanksCTAOffset + (num_banks_is_crta ? 0 : 1);
    static constexpr uint32_t ShardShapeCTAOffset = TensorShapeCTAOffset + (tensor_shape_is_crta ? 0 : RankCT);
    static constexpr uint32_t BankCoordsCTAOffset = ShardShapeCTAOffset + (shard_shape_is_crta ? 0 : RankCT);
    static constexpr uint32_t PhysicalNumBanksCT = (NumBanksCT + 1) / 2;

    constexpr TensorAccessorArgs() = default;
    constexpr explicit TensorAccessorArgs(uint32_t crta_offset) : crta_offset_(crta_offset) {}

    static constexpr uint32_t num_compile_time_args() {
        if constexpr (!is_sharded) return page_size_is_crta ? 1 : 2;
        return BankCoordsCTAOffset + (bank_coords_is_crta ? 0 : PhysicalNumBanksCT) - static_cast<uint32_t>(CTA_OFFSET);
    }
    static constexpr std::size_t next_compile_time_args_offset() { return CTA_OFFSET + num_compile_time_args(); }

    constexpr uint32_t crta_offset() const {
        return CRTA_OFFSET != tensor_accessor::UNKNOWN ? static_cast<uint32_t>(CRTA_OFFSET) : crta_offset_;
    }
    // The common runtime arguments stand in the order of these offsets; those that are compiled in are not there.
    constexpr uint32_t rank_crta_offset() const { return crta_offset(); }
    constexpr uint32_t num_banks_crta_offset() const { return crta_offset() + (rank_is_crta ? 1 : 0); }
    constexpr uint32_t tensor_shape_crta_offset() const { return num_banks_crta_offset() + (num_banks_is_crta ? 1 : 0); }
    constexpr uint32_t shard_shape_crta_offset() const {
        return tensor_shape_crta_offset() + (tensor_shape_is_crta ? get_rank() : 0);
    }
    constexpr uint32_t bank_coords_crta_offset() const {
        return shard_shape_crta_offset() + (shard_shape_is_crta ? get_rank() : 0);
    }
    constexpr uint32_t num_common_runtime_args() const {
        if constexpr (!is_sharded) return page_size_is_crta ? 1 : 0;
        return bank_coords_crta_offset() + (bank_coords_is_crta ? get_physical_num_banks() : 0) - crta_offset();
    }
    constexpr uint32_t next_common_runtime_args_offset() const { return crta_offset() + num_common_runtime_args(); }
    constexpr uint32_t get_rank() const { return rank_is_crta ? common(rank_crta_offset()) : RankCT; }
    constexpr uint32_t get_num_banks() const { return raw_num_banks() & ~kContiguous; }
    constexpr uint32_t get_physical_num_banks() const { return (get_num_banks() + 1) / 2; }
    constexpr bool resolve_shard_contiguous() const { return (raw_num_banks() & kContiguous) != 0; }

    constexpr uint32_t get_aligned_page_size() const {
        return page_size_is_crta ? common(crta_offset()) : AlignedPageSize;
    }
    uint32_t tensor_shape(uint32_t axis) const {
        return tensor_shape_is_crta ? common(tensor_shape_crta_offset() + axis) : compiled(TensorShapeCTAOffset + axis);
    }
    uint32_t shard_shape(uint32_t axis) const {
        return shard_shape_is_crta ? common(shard_shape_crta_offset() + axis) : compiled(ShardShapeCTAOffset + axis);
    }
    uint32_t bank_coordinates(uint32_t bank) const {
        const uint32_t pair =
            bank_coords_is_crta ? common(bank_coords_crta_offset() + bank / 2) : compiled(BankCoordsCTAOffset + bank / 2);
        return pair >> (16 * (bank % 2)) & 0xFFFF;
    }

private:
    constexpr uint32_t raw_num_banks() const {
        return is_sharded && num_banks_is_crta ? common(num_banks_crta_offset()) : NumBanksRawCT;
    }
    static uint32_t common(uint32_t index) { return get_common_arg_val<uint32_t>(static_cast<int>(index)); }
    static uint32_t compiled(uint32_t index) { return vd::compile_time_args.at[index]; }
    uint32_t crta_offset_ = 0;
};

#ifndef VD_LEAN
namespace vd {
template <uint32_t count, std::size_t OFFSET, typename... Before>
constexpr auto accessor_args_tuple(Before... before) {
    if constexpr (count == 0) {
        return std::make_tuple(before...);
    } else {
        using Args = TensorAccessorArgs<OFFSET>;
        return accessor_args_tuple<count - 1, Args::next_compile_time_args_offset()>(before..., Args());
    }
}
}  // namespace vd

template <uint32_t NUM_TENSORS, uint32_t CTA_OFFSET>
constexpr auto make_tensor_accessor_args_tuple() {
    return vd::accessor_args_tuple<NUM_TENSORS, CTA_OFFSET>();
}
#endif  // VD_LEAN
