// The Noc object: the same transfers as the free functions, with endpoints instead of addresses.
#pragma once

#include "api/dataflow/dataflow_api.h"

// How a type takes part in a transfer: src_args_type, dst_args_type, src_addr, dst_addr, dst_addr_mcast.
template <typename T>
struct noc_traits_t {
    static_assert(sizeof(T) == 0, "NoC transactions are not supported for this type");
};

struct DataflowBufferArgs {
    uint32_t offset_bytes{};
};

enum class NocOptions : uint32_t {
    DEFAULT = 0,
    TXN_ID = 1u << 0,
    POSTED = 1u << 1,
    CUSTOM_VC = 1u << 2,
    MCAST_INCL_SRC = 1u << 3,
    INLINE_L1 = 1u << 4,
    INLINE_REG = 1u << 5,
};
constexpr NocOptions operator|(NocOptions left, NocOptions right) noexcept {
    return static_cast<NocOptions>(static_cast<uint32_t>(left) | static_cast<uint32_t>(right));
}
constexpr bool has_flag(NocOptions options, NocOptions flag) noexcept {
    return (static_cast<uint32_t>(options) & static_cast<uint32_t>(flag)) != 0;
}

struct NocOptVals {
    uint32_t vc = NOC_UNICAST_WRITE_VC;
    uint32_t trid = 0;
};

class Noc {
public:
    enum class AddressType { NOC, LOCAL_L1 };
    static constexpr uint32_t INVALID_TXN_ID = 0xFFFFFFFF;

private:
    static constexpr AddressType kFar = AddressType::NOC, kNear = AddressType::LOCAL_L1;
    static constexpr uint32_t kAnyLength = NOC_MAX_BURST_SIZE + 1;
    template <typename T>
    using src_args_t = typename noc_traits_t<T>::src_args_type;
    template <typename T>
    using dst_args_t = typename noc_traits_t<T>::dst_args_type;
    template <typename T>
    using dst_args_mcast_t = typename noc_traits_t<T>::dst_args_mcast_type;

    template <NocOptions opts, uint32_t max_page_size>
    VdHow how(VdHow made, const NocOptVals& values, uint32_t line) const {
        made = vd::posted(made, has_flag(opts, NocOptions::POSTED));
        if constexpr (max_page_size <= NOC_MAX_BURST_SIZE) made = vd::packet(made);
        if constexpr (has_flag(opts, NocOptions::TXN_ID)) made = vd::with_trid(made, values.trid, line);
        return made;
    }
    template <NocOptions opts>
    static constexpr int32_t trid_of(const NocOptVals& values) {
        return has_flag(opts, NocOptions::TXN_ID) ? static_cast<int32_t>(values.trid) : -1;
    }

public:
    Noc() : noc_id_(noc_index) {}
    explicit Noc(uint8_t noc_id) : noc_id_(noc_id) {}

    uint8_t get_noc_id() const { return noc_id_; }
    bool is_local_bank(uint32_t x, uint32_t y) const { return x == my_x[noc_id_] && y == my_y[noc_id_]; }
    bool is_local_addr(uint64_t address) const { return vd_noc_is_here(address); }

    // ---- reads -------------------------------------------------------------------------------------
    template <NocOptions opts = NocOptions::DEFAULT, uint32_t max_page_size = NOC_MAX_BURST_SIZE + 1,
              bool enable_noc_tracing = true, typename Src, typename Dst>
    void async_read(const Src& src, const Dst& dst, uint32_t bytes, const src_args_t<Src>& src_args,
                    const dst_args_t<Dst>& dst_args, const NocOptVals& values = {}, VD_LINE) const {
        vd_noc_read(noc_traits_t<Src>::template src_addr<kFar>(src, *this, src_args, line),
                    near_dst(dst, dst_args, line), bytes, how<opts, max_page_size>(vd::reading(noc_id_), values, line),
                    line);
    }
    template <NocOptions opts = NocOptions::DEFAULT, uint32_t max_page_size = NOC_MAX_BURST_SIZE + 1, typename Src>
    void set_async_read_state(const Src& src, uint32_t bytes, const src_args_t<Src>& src_args,
                              const NocOptVals& values = {}, VD_LINE) const {
        if constexpr (has_flag(opts, NocOptions::TXN_ID)) vd_noc_set_trid(false, values.trid, noc_id_, line);
        vd_noc_set_state(max_page_size <= NOC_MAX_BURST_SIZE ? VD_STATE_READ_PACKET : VD_STATE_READ,
                         noc_traits_t<Src>::template src_addr<kFar>(src, *this, src_args, line), bytes, 0, noc_id_, line);
    }
    template <NocOptions opts = NocOptions::DEFAULT, uint32_t max_page_size = NOC_MAX_BURST_SIZE + 1, typename Src,
              typename Dst>
    void async_read_with_state(const Src& src, const Dst& dst, uint32_t bytes, const src_args_t<Src>& src_args,
                               const dst_args_t<Dst>& dst_args, const NocOptVals& values = {}, VD_LINE) const {
        static_assert(!has_flag(opts, NocOptions::TXN_ID) || max_page_size <= NOC_MAX_BURST_SIZE,
                      "NocOptions::TXN_ID for async_read_with_state requires one-packet mode");
        const uint64_t source = noc_traits_t<Src>::template src_addr<kFar>(src, *this, src_args, line);
        constexpr bool one_packet = max_page_size <= NOC_MAX_BURST_SIZE;
        constexpr uint32_t state = one_packet ? VD_STATE_READ_PACKET : VD_STATE_READ;
        vd_noc_read(vd_noc_state_address(state, noc_id_, static_cast<uint32_t>(source), line),
                    near_dst(dst, dst_args, line), one_packet ? vd_noc_state_bytes(state, noc_id_) : bytes,
                    vd::stateful(how<opts, max_page_size>(vd::reading(noc_id_), values, line)), line);
    }

    // ---- writes ------------------------------------------------------------------------------------
    template <NocOptions opts = NocOptions::DEFAULT, uint32_t max_page_size = NOC_MAX_BURST_SIZE + 1,
              bool enable_noc_tracing = true, typename Src, typename Dst>
    void async_write(const Src& src, const Dst& dst, uint32_t bytes, const src_args_t<Src>& src_args,
                     const dst_args_t<Dst>& dst_args, const NocOptVals& values = {}, VD_LINE) const {
        vd_noc_write(near_src(src, src_args, line),
                     noc_traits_t<Dst>::template dst_addr<kFar>(dst, *this, dst_args, line), bytes,
                     how<opts, max_page_size>(vd::writing(noc_id_), values, line), line);
    }
    template <NocOptions opts = NocOptions::DEFAULT, uint32_t max_page_size = NOC_MAX_BURST_SIZE + 1,
              bool enable_noc_tracing = true, typename Src, typename Dst>
    void async_write_multicast(const Src& src, const Dst& dst, uint32_t bytes, uint32_t dests,
                               const src_args_t<Src>& src_args, const dst_args_mcast_t<Dst>& dst_args,
                               bool linked = false, VD_LINE) const {
        static_assert(!has_flag(opts, NocOptions::TXN_ID), "Mcasts with transaction id are not supported yet");
        static_assert(!has_flag(opts, NocOptions::POSTED), "Mcasts with posted transactions are not supported");
        constexpr bool loopback = has_flag(opts, NocOptions::MCAST_INCL_SRC);
        const VdHow made = vd::multicast(noc_id_, linked, loopback);
        vd_noc_write_multicast(near_src(src, src_args, line),
                               noc_traits_t<Dst>::template dst_addr_mcast<kFar>(dst, *this, dst_args, line), bytes,
                               dests, max_page_size <= NOC_MAX_BURST_SIZE && !loopback ? vd::packet(made) : made, line);
    }
    template <NocOptions opts = NocOptions::DEFAULT, uint32_t max_page_size = NOC_MAX_BURST_SIZE + 1, typename Dst>
    void set_async_write_state(const Dst& dst, uint32_t bytes, const dst_args_t<Dst>& dst_args, const NocOptVals& = {},
                               VD_LINE) const {
        static_assert(!has_flag(opts, NocOptions::TXN_ID), "TXN_ID is not supported for set_async_write_state");
        vd_noc_set_state(max_page_size <= NOC_MAX_BURST_SIZE ? VD_STATE_WRITE_PACKET : VD_STATE_WRITE,
                         noc_traits_t<Dst>::template dst_addr<kFar>(dst, *this, dst_args, line), bytes, 0, noc_id_, line);
    }
    template <NocOptions opts = NocOptions::DEFAULT, uint32_t max_page_size = NOC_MAX_BURST_SIZE + 1, typename Src,
              typename Dst>
    void async_write_with_state(const Src& src, const Dst& dst, uint32_t bytes, const src_args_t<Src>& src_args,
                                const dst_args_t<Dst>& dst_args, const NocOptVals& values = {}, VD_LINE) const {
        static_assert(!has_flag(opts, NocOptions::TXN_ID), "TXN_ID is not supported for async_write_with_state");
        const uint64_t target = noc_traits_t<Dst>::template dst_addr<kFar>(dst, *this, dst_args, line);
        constexpr bool one_packet = max_page_size <= NOC_MAX_BURST_SIZE;
        constexpr uint32_t state = one_packet ? VD_STATE_WRITE_PACKET : VD_STATE_WRITE;
        vd_noc_write(near_src(src, src_args, line),
                     vd_noc_state_address(state, noc_id_, static_cast<uint32_t>(target), line),
                     one_packet ? vd_noc_state_bytes(state, noc_id_) : bytes,
                     vd::stateful(how<opts, max_page_size>(vd::writing(noc_id_), values, line)), line);
    }
    template <NocOptions opts = NocOptions::DEFAULT, typename Dst>
    void inline_dw_write(const Dst& dst, uint32_t value, const dst_args_t<Dst>& dst_args, uint8_t byte_enable = 0xF,
                         const NocOptVals& = {}, VD_LINE) const {
        static_assert(!has_flag(opts, NocOptions::TXN_ID), "TxnId is not supported for inline_dw_write");
        static_assert(!(has_flag(opts, NocOptions::INLINE_L1) && has_flag(opts, NocOptions::INLINE_REG)),
                      "INLINE_L1 and INLINE_REG are mutually exclusive in inline_dw_write");
        constexpr InlineWriteDst target =
            has_flag(opts, NocOptions::INLINE_REG) ? InlineWriteDst::REG : InlineWriteDst::L1;
        noc_inline_dw_write<target, has_flag(opts, NocOptions::POSTED)>(
            noc_traits_t<Dst>::template dst_addr<kFar>(dst, *this, dst_args, line), value, byte_enable, noc_id_,
            NOC_UNICAST_WRITE_VC, 0, line);
    }

    // ---- barriers ----------------------------------------------------------------------------------
    template <NocOptions opts = NocOptions::DEFAULT>
    void async_read_barrier(const NocOptVals& values = {}, VD_LINE) const {
        if constexpr (has_flag(opts, NocOptions::TXN_ID)) vd_noc_check_trid(values.trid, line);
        vd_noc_read_barrier(noc_id_, trid_of<opts>(values), line);
    }
    template <NocOptions opts = NocOptions::DEFAULT>
    void async_write_barrier(const NocOptVals& values = {}, VD_LINE) const {
        if constexpr (has_flag(opts, NocOptions::TXN_ID)) vd_noc_check_trid(values.trid, line);
        vd_noc_write_barrier(noc_id_, trid_of<opts>(values), line);
    }
    template <NocOptions opts = NocOptions::DEFAULT>
    void async_writes_flushed(const NocOptVals& values = {}, VD_LINE) const {
        if constexpr (has_flag(opts, NocOptions::TXN_ID)) vd_noc_check_trid(values.trid, line);
        vd_noc_writes_flushed(noc_id_, trid_of<opts>(values), has_flag(opts, NocOptions::POSTED), line);
    }
    bool is_read_trid_flushed(uint32_t trid, VD_LINE) const {
        return ncrisc_noc_read_with_transaction_id_flushed(noc_id_, trid, line);
    }
    void async_atomic_barrier(VD_LINE) const { vd_noc_atomic_barrier(noc_id_, line); }
    void async_full_barrier(VD_LINE) const { noc_async_full_barrier(noc_id_, line); }

    // ---- zeros: reads from the region of zeros, awaited by a barrier of their own ---------------------
    template <typename Dst>
    void async_write_zeros(const Dst& dst, uint32_t bytes, const dst_args_t<Dst>& dst_args = {}, VD_LINE) const {
        const uint32_t target = near_dst(dst, dst_args, line);
        for (uint32_t done = 0; done < bytes; done += MEM_ZEROS_SIZE) {
            const uint32_t part = bytes - done < MEM_ZEROS_SIZE ? bytes - done : MEM_ZEROS_SIZE;
            vd_noc_read(vd_noc_addr_local(MEM_ZEROS_BASE), target + done, part, vd::reading(noc_id_), line);
        }
    }
    void write_zeros_l1_barrier(VD_LINE) const { vd_noc_read_barrier(noc_id_, -1, line); }

private:
    template <typename Src>
    uint32_t near_src(const Src& src, const src_args_t<Src>& args, uint32_t line) const {
        return static_cast<uint32_t>(noc_traits_t<Src>::template src_addr<kNear>(src, *this, args, line));
    }
    template <typename Dst>
    uint32_t near_dst(const Dst& dst, const dst_args_t<Dst>& args, uint32_t line) const {
        return static_cast<uint32_t>(noc_traits_t<Dst>::template dst_addr<kNear>(dst, *this, args, line));
    }
    uint8_t noc_id_;
};

namespace vd {

// What buffers in this core's L1 have in common; `Read` and `Write` say where their two ends are.
struct BufferArgs {
    uint32_t offset_bytes{};
};
struct BufferMulticastArgs {
    uint32_t noc_x_start{};
    uint32_t noc_y_start{};
    uint32_t noc_x_end{};
    uint32_t noc_y_end{};
    uint32_t offset_bytes{};
};
template <typename Buffer, uint32_t (*read_end)(const Buffer&, uint32_t),
          uint32_t (*write_end)(const Buffer&, uint32_t)>
struct BufferTraits {
    using src_args_type = BufferArgs;
    using dst_args_type = BufferArgs;
    using dst_args_mcast_type = BufferMulticastArgs;

    template <Noc::AddressType type>
    static uint32_t src_addr(const Buffer& buffer, const Noc&, const src_args_type& args, uint32_t line) {
        static_assert(type == Noc::AddressType::LOCAL_L1, "a buffer without a rectangle is local");
        return read_end(buffer, line) + args.offset_bytes;
    }
    template <Noc::AddressType type>
    static uint32_t dst_addr(const Buffer& buffer, const Noc&, const dst_args_type& args, uint32_t line) {
        static_assert(type == Noc::AddressType::LOCAL_L1, "a buffer without a rectangle is local");
        return write_end(buffer, line) + args.offset_bytes;
    }
    template <Noc::AddressType type>
    static uint64_t dst_addr_mcast(const Buffer& buffer, const Noc& noc, const dst_args_mcast_type& args,
                                   uint32_t line) {
        static_assert(type == Noc::AddressType::NOC, "a rectangle is no local target");
        return get_noc_multicast_addr(args.noc_x_start, args.noc_y_start, args.noc_x_end, args.noc_y_end,
                                      write_end(buffer, line) + args.offset_bytes, noc.get_noc_id());
    }
};

}  // namespace vd

#include "api/tensor/noc_traits.h"
