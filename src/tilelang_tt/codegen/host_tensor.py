"""The part of main.cpp that moves and compares tensors: C++ text, the same for every plan."""

from __future__ import annotations

TENSOR = """\
// Tiles as they lie in DRAM, page after page.
using Pages = std::vector<uint8_t>;

// An axis lies in pieces of `step` elements, each in tiles of its own, `padded` elements long.
struct Window {
    int64_t step = TILE_WIDTH, padded = TILE_WIDTH;

    // What lies between two pieces is nowhere: its place is that of the last element of a piece.
    int64_t place(int64_t element) const { return element / step * padded + std::min(element % step, padded - 1); }
};

// A tensor in DRAM: tiles, one per page, pages interleaved over the banks.
struct TileTensor {
    std::string name;
    tt::DataFormat format;
    uint32_t page_bytes;
    int64_t batch, row_tiles, col_tiles;
    int64_t rows, cols;  // elements of one batch entry; the rest of its last tiles is padding
    bool by_rows = false;  // no tiles: a page is a row, `row_tiles` of them to a batch entry
    Window row_window{}, col_window{};
    int64_t tile_height = TILE_HEIGHT, tile_width = TILE_WIDTH;
    std::shared_ptr<distributed::MeshBuffer> buffer = nullptr;

    uint64_t bytes() const { return static_cast<uint64_t>(batch * row_tiles * col_tiles) * page_bytes; }
    uint32_t address() const { return static_cast<uint32_t>(buffer->address()); }
};

void allocate(distributed::MeshDevice& mesh_device, TileTensor& tensor) {
    const distributed::DeviceLocalBufferConfig dram_config{
        .page_size = tensor.page_bytes, .buffer_type = BufferType::DRAM};
    const distributed::ReplicatedBufferConfig buffer_config{.size = tensor.bytes()};
    tensor.buffer = distributed::MeshBuffer::create(buffer_config, dram_config, &mesh_device);
}

void require_size(const std::filesystem::path& path, const TileTensor& tensor) {
    if (!std::filesystem::exists(path)) {
        throw std::runtime_error(path.string() + " is missing: the tiles of tensor '" + tensor.name + "'");
    }
    const uint64_t found = std::filesystem::file_size(path);
    if (found != tensor.bytes()) {
        throw std::runtime_error(
            path.string() + " has " + std::to_string(found) + " bytes; tensor '" + tensor.name + "' has " +
            std::to_string(tensor.bytes()) + " (" + std::to_string(tensor.batch) + " x " +
            std::to_string(tensor.row_tiles) + " x " + std::to_string(tensor.col_tiles) + " tiles of " +
            std::to_string(tensor.page_bytes) + " B)");
    }
}

std::filesystem::path file_of(
    const std::filesystem::path& directory, const TileTensor& tensor, const char* ending) {
    return directory / (tensor.name + ending);
}

Pages read_pages(const std::filesystem::path& path, const TileTensor& tensor) {
    require_size(path, tensor);
    Pages pages(tensor.bytes());
    std::ifstream file(path, std::ios::binary);
    if (!file.read(reinterpret_cast<char*>(pages.data()), static_cast<std::streamsize>(pages.size()))) {
        throw std::runtime_error("cannot read " + path.string());
    }
    return pages;
}

void write_pages(const std::filesystem::path& path, const Pages& pages) {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(pages.data()), static_cast<std::streamsize>(pages.size()));
    if (!file.flush()) {
        throw std::runtime_error("cannot write " + path.string());
    }
}

// What can be said of a tensor's files before a device is opened.
void check_files(const std::filesystem::path& directory, const TileTensor& tensor, bool is_input) {
    const std::filesystem::path path = file_of(directory, tensor, ".bin");
    const std::filesystem::path reference_path = file_of(directory, tensor, ".ref.bin");
    if (is_input || std::filesystem::exists(path)) {
        require_size(path, tensor);
    }
    if (std::filesystem::exists(reference_path)) {
        require_size(reference_path, tensor);
    }
}

// A tensor that is only written may do without a file; it starts as zeros then.
void upload(distributed::MeshCommandQueue& cq, TileTensor& tensor, const std::filesystem::path& directory) {
    const std::filesystem::path path = file_of(directory, tensor, ".bin");
    const Pages pages = std::filesystem::exists(path) ? read_pages(path, tensor) : Pages(tensor.bytes());
    distributed::EnqueueWriteMeshBuffer(cq, tensor.buffer, pages, /*blocking=*/true);
}
"""

COMPARISON = """\
// Bytes of one element; 0 for block floating point, whose elements share exponents.
uint32_t element_bytes(tt::DataFormat format) {
    switch (format) {
        case tt::DataFormat::Float32:
        case tt::DataFormat::Int32:
        case tt::DataFormat::UInt32: return 4;
        case tt::DataFormat::Float16:
        case tt::DataFormat::Float16_b:
        case tt::DataFormat::UInt16: return 2;
        case tt::DataFormat::UInt8: return 1;
        default: return 0;
    }
}

bool has_values(tt::DataFormat format) {
    return format == tt::DataFormat::Float32 || format == tt::DataFormat::Float16_b;
}

double value_of(tt::DataFormat format, const uint8_t* element) {
    uint32_t bits = 0;
    if (format == tt::DataFormat::Float32) {
        std::memcpy(&bits, element, 4);
    } else {  // Float16_b: the upper half of a Float32
        uint16_t upper = 0;
        std::memcpy(&upper, element, 2);
        bits = static_cast<uint32_t>(upper) << 16;
    }
    return std::bit_cast<float>(bits);
}

// Byte offset of an element: faces make a tile, row by row.
uint64_t offset_of(const TileTensor& tensor, int64_t b, int64_t row, int64_t col, uint32_t width) {
    if (tensor.by_rows) {
        return static_cast<uint64_t>(b * tensor.row_tiles + row) * tensor.page_bytes + col * width;
    }
    const int64_t page = (b * tensor.row_tiles + row / tensor.tile_height) * tensor.col_tiles + col / tensor.tile_width;
    const int64_t faces_across = tensor.tile_width / FACE_WIDTH;
    const int64_t face = row % tensor.tile_height / FACE_HEIGHT * faces_across + col % tensor.tile_width / FACE_WIDTH;
    const int64_t element = face * FACE_HW + row % FACE_HEIGHT * FACE_WIDTH + col % FACE_WIDTH;
    return static_cast<uint64_t>(page) * tensor.page_bytes + static_cast<uint64_t>(element) * width;
}

struct Difference {
    uint64_t compared = 0, differing = 0;  // elements; pages of a block format
    double max_abs_error = 0;
};

void compare(
    Difference& difference, tt::DataFormat format, const uint8_t* ours, const uint8_t* theirs, size_t width) {
    ++difference.compared;
    if (std::memcmp(ours, theirs, width) == 0) {
        return;
    }
    ++difference.differing;
    if (has_values(format)) {
        const double a = value_of(format, ours), b = value_of(format, theirs);
        const bool same = a == b || (std::isnan(a) && std::isnan(b));
        const double error = same ? 0 : std::abs(a - b);
        difference.max_abs_error = std::max(
            difference.max_abs_error, std::isnan(error) ? std::numeric_limits<double>::infinity() : error);
    }
}

// Padding does not count, except in block formats, which are compared page by page.
Difference difference_of(const TileTensor& tensor, const Pages& result, const Pages& reference) {
    Difference difference;
    const uint32_t width = element_bytes(tensor.format);
    if (width == 0) {
        for (uint64_t at = 0; at < tensor.bytes(); at += tensor.page_bytes) {
            compare(difference, tensor.format, &result[at], &reference[at], tensor.page_bytes);
        }
        return difference;
    }
    for (int64_t b = 0; b < tensor.batch; ++b) {
        for (int64_t row = 0; row < tensor.rows; ++row) {
            for (int64_t col = 0; col < tensor.cols; ++col) {
                const int64_t tile_row = tensor.row_window.place(row), tile_col = tensor.col_window.place(col);
                const uint64_t at = offset_of(tensor, b, tile_row, tile_col, width);
                compare(difference, tensor.format, &result[at], &reference[at], width);
            }
        }
    }
    return difference;
}

// Saves the tensor; true unless a reference is there and says otherwise.
bool download(
    distributed::MeshCommandQueue& cq,
    TileTensor& tensor,
    const std::filesystem::path& directory,
    double tolerance) {
    Pages result;
    distributed::EnqueueReadMeshBuffer(cq, result, tensor.buffer, /*blocking=*/true);
    const std::filesystem::path path = file_of(directory, tensor, ".out.bin");
    write_pages(path, result);
    std::cout << tensor.name << ": " << path.string();

    const std::filesystem::path reference_path = file_of(directory, tensor, ".ref.bin");
    if (!std::filesystem::exists(reference_path)) {
        std::cout << ", not compared (no " << reference_path.string() << ")\\n";
        return true;
    }
    const Difference difference = difference_of(tensor, result, read_pages(reference_path, tensor));
    std::cout << ", " << difference.differing << " of " << difference.compared
              << (element_bytes(tensor.format) == 0 ? " pages" : " elements") << " differ";
    bool pass = difference.differing == 0;
    if (has_values(tensor.format)) {
        pass = difference.max_abs_error <= tolerance;
        std::cout << ", max abs error " << difference.max_abs_error << " (tolerance " << tolerance << ")";
    }
    std::cout << (pass ? ": ok\\n" : ": MISMATCH\\n");
    return pass;
}
"""
