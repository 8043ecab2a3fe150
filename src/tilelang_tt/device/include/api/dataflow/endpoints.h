// Ends of transfers that are given by coordinates: one core, a rectangle of cores, a bank.
#pragma once

#include "api/dataflow/noc.h"

struct UnicastEndpoint {
    uint64_t get_noc_unicast_addr(uint32_t x, uint32_t y, uint32_t addr, uint8_t noc) const {
        return ::get_noc_addr(x, y, addr, noc);
    }
};
struct PrecomposedUnicastEndpoint {};
struct MulticastEndpoint {
    uint64_t get_noc_multicast_addr(uint32_t x_start, uint32_t y_start, uint32_t x_end, uint32_t y_end, uint32_t addr,
                                    uint8_t noc) const {
        return ::get_noc_multicast_addr(x_start, y_start, x_end, y_end, addr, noc);
    }
};
enum class AllocatorBankType { L1, DRAM };
template <AllocatorBankType bank_type>
struct AllocatorBank {
    uint64_t get_noc_addr_from_bank_id(uint32_t bank_id, uint32_t addr, uint8_t noc, VD_LINE) const {
        return ::get_noc_addr_from_bank_id<bank_type == AllocatorBankType::DRAM>(bank_id, addr, noc, line);
    }
};

template <>
struct noc_traits_t<UnicastEndpoint> {
    struct src_args_type {
        uint32_t noc_x{};
        uint32_t noc_y{};
        uint32_t addr{};
    };
    using dst_args_type = src_args_type;

    template <Noc::AddressType type>
    static auto src_addr(const UnicastEndpoint& end, const Noc& noc, const src_args_type& args, uint32_t) {
        if constexpr (type == Noc::AddressType::LOCAL_L1) {
            return args.addr;
        } else {
            return end.get_noc_unicast_addr(args.noc_x, args.noc_y, args.addr, noc.get_noc_id());
        }
    }
    template <Noc::AddressType type>
    static auto dst_addr(const UnicastEndpoint& end, const Noc& noc, const dst_args_type& args, uint32_t line) {
        return src_addr<type>(end, noc, args, line);
    }
};

template <>
struct noc_traits_t<PrecomposedUnicastEndpoint> {
    struct src_args_type {
        uint64_t noc_addr{};
    };
    using dst_args_type = src_args_type;

    template <Noc::AddressType type>
    static uint64_t src_addr(const PrecomposedUnicastEndpoint&, const Noc&, const src_args_type& args, uint32_t) {
        static_assert(type == Noc::AddressType::NOC);
        return args.noc_addr;
    }
    template <Noc::AddressType type>
    static uint64_t dst_addr(const PrecomposedUnicastEndpoint&, const Noc&, const dst_args_type& args, uint32_t) {
        static_assert(type == Noc::AddressType::NOC);
        return args.noc_addr;
    }
};

template <>
struct noc_traits_t<MulticastEndpoint> {
    struct dst_args_mcast_type {
        uint32_t noc_x_start{};
        uint32_t noc_y_start{};
        uint32_t noc_x_end{};
        uint32_t noc_y_end{};
        uint32_t addr{};
    };
    template <Noc::AddressType type>
    static uint64_t dst_addr_mcast(const MulticastEndpoint& end, const Noc& noc, const dst_args_mcast_type& args,
                                   uint32_t) {
        static_assert(type == Noc::AddressType::NOC);
        return end.get_noc_multicast_addr(args.noc_x_start, args.noc_y_start, args.noc_x_end, args.noc_y_end, args.addr,
                                          noc.get_noc_id());
    }
};

template <AllocatorBankType bank_type>
struct noc_traits_t<AllocatorBank<bank_type>> {
    struct src_args_type {
        uint32_t bank_id{};
        uint32_t addr{};
    };
    using dst_args_type = src_args_type;

    template <Noc::AddressType type>
    static uint64_t src_addr(const AllocatorBank<bank_type>&, const Noc& noc, const src_args_type& args,
                             uint32_t line) {
        static_assert(type == Noc::AddressType::NOC);
        return ::get_noc_addr_from_bank_id<bank_type == AllocatorBankType::DRAM>(
            args.bank_id, args.addr, noc.get_noc_id(), vd::Line::here(static_cast<int>(line)));
    }
    template <Noc::AddressType type>
    static uint64_t dst_addr(const AllocatorBank<bank_type>& bank, const Noc& noc, const dst_args_type& args,
                             uint32_t line) {
        return src_addr<type>(bank, noc, args, line);
    }
};
