// The .npy reader and writer. The expected bytes are written by hand, after the format's specification.
#include "client/cli/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "client/cli/failure.h"

namespace corank::cli {
namespace {

using ::testing::HasSubstr;

/// A .npy file with this dictionary and data, version 1.0 unless told otherwise.
std::string File(const std::string& dictionary, const std::string& data, char major = 1) {
  std::string text = dictionary + "\n";
  std::string file = std::string("\x93NUMPY") + major + '\0' + static_cast<char>(text.size()) + '\0';
  if (major == 2) file += std::string(2, '\0');
  return file + text + data;
}

std::string Dictionary(const std::string& descr, const std::string& shape, const std::string& fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
}

struct TypeCase {
  const char* descr;
  client::ElementType type;
};
const TypeCase kTypes[] = {
    {"|i1", KeyType::kInt8},    {"<i2", KeyType::kInt16},   {"<i4", KeyType::kInt32},
    {"<i8", KeyType::kInt64},   {"|u1", KeyType::kUint8},   {"<u2", KeyType::kUint16},
    {"<u4", KeyType::kUint32},  {"<u8", KeyType::kUint64},  {"<f2", KeyType::kFloat16},
    {"<f4", KeyType::kFloat32}, {"<f8", KeyType::kFloat64}, {"|V24", client::ElementType::Record(24)},
};

TEST(NpyRead, TakesEveryTypeOfTheFormatThatCorankHas) {
  for (const TypeCase& c : kTypes) {
    const std::string data(3 * c.type.bytes(), 'x');
    for (const char major : {1, 2}) {
      const auto header = ReadNpyHeader(File(Dictionary(c.descr, "(3,)"), data, major));
      ASSERT_TRUE(header.ok()) << c.descr << " version " << int{major} << ": " << header.status();
      EXPECT_EQ(header->type, c.type) << c.descr;
      EXPECT_EQ(header->count, 3);
      EXPECT_EQ(header->data_offset, static_cast<int64_t>(File(Dictionary(c.descr, "(3,)"), "", major).size()));
    }
  }
}

TEST(NpyRead, TakesOneByteTypesWithAnyByteOrderMark) {
  for (const char* descr : {"|u1", "<u1", ">u1", "=u1"}) {
    const auto header = ReadNpyHeader(File(Dictionary(descr, "(2,)"), "ab"));
    ASSERT_TRUE(header.ok()) << descr << ": " << header.status();
    EXPECT_EQ(header->type, client::ElementType(KeyType::kUint8));
  }
}

TEST(NpyRead, TakesAnEmptyArray) {
  const auto header = ReadNpyHeader(File(Dictionary("<f8", "(0,)"), ""));
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->count, 0);
}

TEST(NpyRead, RefusesWithTheReason) {
  const std::string whole = File(Dictionary("<u4", "(2,)"), "12345678");
  const struct {
    const char* name;
    std::string file;
    const char* reason;
  } cases[] = {
      {"empty file", "", "not a .npy file"},
      {"wrong magic", "PK\x03\x04 a zip", "not a .npy file"},
      {"magic only", "\x93NUMPY", "cut off within its header"},
      {"cut off in the length", whole.substr(0, 9), "cut off within its header"},
      {"cut off in the dictionary", whole.substr(0, 30), "cut off within its header"},
      {"cut off in the data", whole.substr(0, whole.size() - 1), "2 elements of 4 bytes, but 7 bytes follow"},
      {"cut off by an element", whole.substr(0, whole.size() - 4), "2 elements of 4 bytes, but 4 bytes follow"},
      {"too long", whole + "x", "2 elements of 4 bytes, but 9 bytes follow"},
      {"version 3", File(Dictionary("<u4", "(2,)"), "12345678", 3), "version is 3"},
      {"big-endian", File(Dictionary(">u4", "(2,)"), "12345678"), "big-endian; convert it with array.astype('<u4')"},
      {"Fortran order", File(Dictionary("<u4", "(2,)", "True"), "12345678"), "Fortran order"},
      {"two dimensions", File(Dictionary("<u4", "(2, 1)"), "12345678"), "shape is (2, 1)"},
      {"no dimension", File(Dictionary("<u4", "()"), "1234"), "one-dimensional"},
      {"negative count", File(Dictionary("<u4", "(-1,)"), ""), "no readable 'shape'"},
      {"count beyond 64 bits", File(Dictionary("<u4", "(99999999999999999999,)"), ""), "no readable 'shape'"},
      {"count times size beyond 64 bits", File(Dictionary("<u4", "(4611686018427387905,)"), "1234"), "4 bytes follow"},
      {"bool", File(Dictionary("|b1", "(2,)"), "12"), "array.view('|u1')"},
      {"complex", File(Dictionary("<c8", "(1,)"), "12345678"), "save array.real and array.imag"},
      {"time", File(Dictionary("<M8[ns]", "(1,)"), "12345678"), "array.view('<i8')"},
      {"duration", File(Dictionary("<m8[D]", "(1,)"), "12345678"), "array.view('<i8')"},
      {"big-endian time", File(Dictionary(">M8[ns]", "(1,)"), "12345678"), "array.astype('<M8[ns]').view('<i8')"},
      {"text", File(Dictionary("<U2", "(1,)"), "12345678"), "numpy.char.encode(array, 'utf-8')"},
      {"big-endian text", File(Dictionary(">U2", "(1,)"), "12345678"), "numpy.char.encode(array, 'utf-8')"},
      {"long double", File(Dictionary("<f16", "(1,)"), std::string(16, 'x')), "which rounds, with array.astype('<f8')"},
      {"Python objects", File(Dictionary("|O", "(1,)"), "12345678"), "corank does not support its type"},
      {"record too wide", File(Dictionary("|V257", "(0,)"), ""), "1 to 256 bytes"},
      {"record of no bytes", File(Dictionary("|V0", "(0,)"), ""), "1 to 256 bytes"},
      {"structured", File("{'descr': [('a', '<u4')], 'fortran_order': False, 'shape': (2,), }", "12345678"),
       "structured type"},
      {"no descr", File("{'fortran_order': False, 'shape': (2,), }", "12345678"), "lacks 'descr'"},
      {"empty descr", File(Dictionary("", "(2,)"), "12345678"), "no readable 'descr'"},
      {"descr without an end", File("{'fortran_order': False, 'shape': (2,), 'descr': '<u4", "12345678"),
       "no readable 'descr'"},
      {"shape without an end", File("{'descr': '<u4', 'fortran_order': False, 'shape': (2", "12345678"),
       "no readable 'shape'"},
  };
  for (const auto& c : cases) {
    const auto header = ReadNpyHeader(c.file);
    ASSERT_FALSE(header.ok()) << c.name;
    EXPECT_THAT(std::string(header.status().message()), HasSubstr(c.reason)) << c.name;
    EXPECT_EQ(ExitCodeOf(header.status()), kExitFile) << c.name;
  }
}

TEST(NpyRead, NoPrefixOfAFileIsTakenOrReadBeyondItsEnd) {
  const std::string whole = File(Dictionary("<u4", "(2,)"), "12345678", 2);
  for (size_t length = 0; length < whole.size(); ++length) {
    // A copy of exact size, so that a sanitizer detects reads past the end.
    const std::string prefix(whole.data(), length);
    EXPECT_FALSE(ReadNpyHeader(prefix).ok()) << length;
  }
}

TEST(NpyWrite, WritesWhatNumpyWrites) {
  const auto header = NpyHeaderFor(KeyType::kUint32, 5);
  ASSERT_TRUE(header.ok()) << header.status();
  // numpy.lib.format 1.0: padded with blanks to a multiple of 64 bytes, ends in a newline.
  const std::string dictionary = "{'descr': '<u4', 'fortran_order': False, 'shape': (5,), }";
  const std::string expected = std::string("\x93NUMPY\x01") + '\0' + 'v' + '\0' + dictionary +
                               std::string(128 - 10 - dictionary.size() - 1, ' ') + "\n";
  EXPECT_EQ(*header, expected);
}

TEST(NpyWrite, IsReadBackAndIsAligned) {
  for (const TypeCase& c : kTypes) {
    for (const int64_t count : {int64_t{0}, int64_t{1}, int64_t{1000}}) {
      auto header = NpyHeaderFor(c.type, count);
      ASSERT_TRUE(header.ok()) << header.status();
      EXPECT_EQ(header->size() % 64, 0u);
      EXPECT_THAT(*header, HasSubstr(std::string("'") + c.descr + "'"));
      const auto read = ReadNpyHeader(*header + std::string(count * c.type.bytes(), 'x'));
      ASSERT_TRUE(read.ok()) << c.descr << ": " << read.status();
      EXPECT_EQ(read->type, c.type);
      EXPECT_EQ(read->count, count);
      EXPECT_EQ(read->data_offset, static_cast<int64_t>(header->size()));
    }
  }
}

TEST(NpyWrite, RecordsKeepTheirSpelling) {
  const struct {
    const char* descr;
    RecordSpelling spelling;
  } cases[] = {{"|V4", RecordSpelling::kVoid}, {"|S4", RecordSpelling::kBytes}};
  for (const auto& c : cases) {
    const auto read = ReadNpyHeader(File(Dictionary(c.descr, "(1,)"),
                                         "abc"
                                         "d"));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->spelling, c.spelling);
    EXPECT_THAT(*NpyHeaderFor(read->type, 1, read->spelling), HasSubstr(std::string("'") + c.descr + "'"));
  }
}

TEST(NpyWrite, RefusesBfloat16WhichTheFormatLacks) {
  const auto header = NpyHeaderFor(KeyType::kBfloat16, 1);
  ASSERT_FALSE(header.ok());
  EXPECT_THAT(std::string(header.status().message()), HasSubstr("bfloat16"));
}

}  // namespace
}  // namespace corank::cli
