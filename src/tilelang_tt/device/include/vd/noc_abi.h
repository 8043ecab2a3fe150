// What the virtual device offers to data movement: NoC addresses, transfers, barriers, semaphores, coordinates.
#pragma once

#include <cstdint>

// How a transfer is made; the values are those the SDK's call stands for.
struct VdHow {
    uint8_t noc = 0;
    uint8_t trid = 0;
    uint8_t buffer = 0;  // command buffer: VD_WRITE_BUFFER ...
    uint8_t posted = 0;
    uint8_t one_packet = 0;
    uint8_t linked = 0;
    uint8_t loopback = 0;
    uint8_t stateful = 0;  // uses what a *_set_state call has left
};
enum : uint8_t { VD_WRITE_BUFFER = 0, VD_REGISTER_BUFFER = 1, VD_ATOMIC_BUFFER = 2 };

// Which state a stateful call keeps or uses: vd::Command.
enum : uint32_t {
    VD_STATE_READ,
    VD_STATE_READ_PACKET,
    VD_STATE_WRITE,
    VD_STATE_WRITE_PACKET,
    VD_STATE_WRITE_TRID,
    VD_STATE_INLINE,
};

extern "C" {

// Addresses. `page` forms name a page of the interleaved tensor at `base`.
uint64_t vd_noc_addr_of_page(uint32_t base, uint32_t page_bytes, uint32_t page, uint32_t offset, uint32_t line);
uint64_t vd_noc_addr_of_bank(bool dram, uint32_t bank, uint32_t address, uint32_t line);
uint64_t vd_noc_addr_local(uint32_t l1_addr);
uint32_t vd_noc_coordinate(bool y);       // of this core, as other cores name it
uint32_t vd_logical_coordinate(bool y);   // of this core, in the grid of the chip
uint32_t vd_relative_coordinate(bool y);  // of this core, in the cores of its kernel
bool vd_noc_is_here(uint64_t noc_addr);
uint64_t vd_page_outside(uint32_t base, uint32_t page, uint32_t line);  // of a sharded tensor: may not be used

// Transfers.
void vd_noc_read(uint64_t source, uint32_t l1_addr, uint32_t bytes, VdHow how, uint32_t line);
void vd_noc_write(uint32_t l1_addr, uint64_t target, uint32_t bytes, VdHow how, uint32_t line);
void vd_noc_write_multicast(uint32_t l1_addr, uint64_t target, uint32_t bytes, uint32_t dests, VdHow how,
                            uint32_t line);
void vd_noc_inline_write(uint64_t target, uint32_t value, uint32_t byte_enable, VdHow how, uint32_t line);
void vd_noc_add(uint64_t target, uint32_t value, VdHow how, uint32_t line);
void vd_noc_add_multicast(uint64_t target, uint32_t value, uint32_t dests, VdHow how, uint32_t line);

// Stateful forms: what was set is used with the low 32 bits of the address replaced.
void vd_noc_set_state(uint32_t command, uint64_t address, uint32_t bytes, uint32_t value, uint32_t noc, uint32_t line);
uint64_t vd_noc_state_address(uint32_t command, uint32_t noc, uint32_t low, uint32_t line);
uint64_t vd_noc_state_full_address(uint32_t command, uint32_t noc, uint32_t line);
uint32_t vd_noc_state_bytes(uint32_t command, uint32_t noc);
uint32_t vd_noc_state_value(uint32_t command, uint32_t noc);
void vd_noc_set_trid(bool write, uint32_t trid, uint32_t noc, uint32_t line);
uint32_t vd_noc_trid(bool write, uint32_t noc);
void vd_noc_check_trid(uint32_t trid, uint32_t line);

// Barriers; `trid` -1: all.
void vd_noc_read_barrier(uint32_t noc, int32_t trid, uint32_t line);
void vd_noc_write_barrier(uint32_t noc, int32_t trid, uint32_t line);
void vd_noc_writes_flushed(uint32_t noc, int32_t trid, bool posted, uint32_t line);
void vd_noc_atomic_barrier(uint32_t noc, uint32_t line);
bool vd_noc_reads_flushed(uint32_t noc, int32_t trid, uint32_t line);

// Semaphores, by their L1 address.
uint32_t vd_semaphore_addr(uint32_t id, uint32_t line);
void vd_semaphore_wait(uint32_t l1_addr, uint32_t value, bool at_least, uint32_t line);
void vd_semaphore_set(uint32_t l1_addr, uint32_t value, uint32_t line);
uint32_t vd_semaphore_value(uint32_t l1_addr, uint32_t line);

void vd_poll(uint32_t line);
void vd_print(const char* text, uint32_t line);

}  // extern "C"
