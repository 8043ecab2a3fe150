// Tensors as ends of transfers: a page by its number, or a shard.
#pragma once

#include "api/dataflow/noc.h"

namespace vd {
template <typename Accessor>
struct PageTraits {
    struct src_args_type {
        uint32_t page_id{};
        uint32_t offset_bytes = 0;
    };
    using dst_args_type = src_args_type;

    template <Noc::AddressType type>
    static uint64_t src_addr(const Accessor& tensor, const Noc& noc, const src_args_type& args, uint32_t line) {
        static_assert(type == Noc::AddressType::NOC, "a tensor is the far end of a transfer");
        return tensor.get_noc_addr(args.page_id, args.offset_bytes, noc.get_noc_id(),
                                   Line::here(static_cast<int>(line)));
    }
    template <Noc::AddressType type>
    static uint64_t dst_addr(const Accessor& tensor, const Noc& noc, const dst_args_type& args, uint32_t line) {
        return src_addr<type>(tensor, noc, args, line);
    }
};
}  // namespace vd

template <typename Accessor>
struct PageView {
    const Accessor& accessor;
    explicit PageView(const Accessor& of) : accessor(of) {}
    uint64_t get_noc_addr(uint32_t page, uint32_t offset, uint8_t noc, VD_LINE) const {
        return accessor.get_noc_addr(page, offset, noc, line);
    }
};
template <typename Accessor>
struct ShardView {
    const Accessor& accessor;
    explicit ShardView(const Accessor& of) : accessor(of) {}
    uint64_t get_noc_addr(uint32_t shard, uint32_t offset, uint8_t noc, VD_LINE) const {
        return accessor.get_shard_noc_addr(shard, offset, noc, line);
    }
};

template <typename DSpec>
struct noc_traits_t<TensorAccessor<DSpec>> : vd::PageTraits<TensorAccessor<DSpec>> {};
template <>
struct noc_traits_t<AbstractTensorAccessorWrapper> : vd::PageTraits<AbstractTensorAccessorWrapper> {};
template <typename Accessor>
struct noc_traits_t<PageView<Accessor>> : vd::PageTraits<PageView<Accessor>> {};
template <typename Accessor>
struct noc_traits_t<ShardView<Accessor>> {
    struct src_args_type {
        uint32_t shard_id{};
        uint32_t offset_bytes = 0;
    };
    using dst_args_type = src_args_type;

    template <Noc::AddressType type>
    static uint64_t src_addr(const ShardView<Accessor>& shard, const Noc& noc, const src_args_type& args,
                             uint32_t line) {
        static_assert(type == Noc::AddressType::NOC, "a tensor is the far end of a transfer");
        return shard.get_noc_addr(args.shard_id, args.offset_bytes, noc.get_noc_id(),
                                  vd::Line::here(static_cast<int>(line)));
    }
    template <Noc::AddressType type>
    static uint64_t dst_addr(const ShardView<Accessor>& shard, const Noc& noc, const dst_args_type& args,
                             uint32_t line) {
        return src_addr<type>(shard, noc, args, line);
    }
};
