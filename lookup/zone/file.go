package zone

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/FastFilter/xorfilter"
	"github.com/cespare/xxhash/v2"

	"github.com/namewharf/namewharf/fqdn"
)

// Info is what an index file says of itself.
type Info struct {
	Path   string
	Suffix string    // A-label form
	Names  uint64    // in the zone
	Date   time.Time // of the zone
	Serial uint32    // of its SOA record; 0 if it had none
	Built  time.Time
	Bytes  int64
}

// The file, little endian: a header of headerSize bytes, a table of shardSize bytes for each shard, the CRC-32C of both,
// then the fingerprints of the shards. A shard holds the keys whose highest bits are its number.
const (
	magic      = "NAMEWHZ1"
	headerSize = 48 + 256
	shardSize  = 32
	maxShards  = 256
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A shard is a row of the table.
type shard struct {
	offset        int64
	fingerprints  uint32
	crc           uint32
	seed          uint64
	segmentLength uint32
	segmentCount  uint32
}

func (i Info) encode(shards []shard) []byte {
	b := make([]byte, 0, headerSize+len(shards)*shardSize+4)
	le := binary.LittleEndian
	b = append(b, magic...)
	b = le.AppendUint32(b, uint32(cap(b)))
	b = le.AppendUint32(b, uint32(len(shards)))
	b = le.AppendUint64(b, i.Names)
	b = le.AppendUint64(b, uint64(i.Date.Unix()))
	b = le.AppendUint64(b, uint64(i.Built.Unix()))
	b = le.AppendUint32(b, i.Serial)
	b = le.AppendUint32(b, 0)
	b = append(b, byte(len(i.Suffix)))
	b = append(b, i.Suffix...)
	b = append(b, make([]byte, headerSize-len(b))...)
	for _, s := range shards {
		b = le.AppendUint64(b, uint64(s.offset))
		b = le.AppendUint32(b, s.fingerprints)
		b = le.AppendUint32(b, s.crc)
		b = le.AppendUint64(b, s.seed)
		b = le.AppendUint32(b, s.segmentLength)
		b = le.AppendUint32(b, s.segmentCount)
	}
	return le.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// What is wrong with a file.
var (
	errNotIndex   = errors.New("it is not a zone index of this version")
	errCut        = errors.New("it is cut short; build or copy it again")
	errCorrupt    = errors.New("its checksum is wrong; build or copy it again")
	errImpossible = errors.New("its header contradicts itself; build it again")
)

// decode reads the header and the table of a whole file.
func decode(data []byte) (Info, []shard, error) {
	if len(data) < len(magic) || string(data[:len(magic)]) != magic {
		return Info{}, nil, errNotIndex
	}
	if len(data) < headerSize+4 {
		return Info{}, nil, errCut
	}
	le := binary.LittleEndian
	size, count := int64(le.Uint32(data[8:])), int64(le.Uint32(data[12:]))
	if count < 1 || count > maxShards || count&(count-1) != 0 || size != headerSize+count*shardSize+4 {
		return Info{}, nil, errCorrupt
	}
	if int64(len(data)) < size {
		return Info{}, nil, errCut
	}
	if crc32.Checksum(data[:size-4], castagnoli) != le.Uint32(data[size-4:]) {
		return Info{}, nil, errCorrupt
	}
	info := Info{
		Names: le.Uint64(data[16:]), Date: time.Unix(int64(le.Uint64(data[24:])), 0).UTC(), Built: time.Unix(int64(le.Uint64(data[32:])), 0).UTC(),
		Serial: le.Uint32(data[40:]), Suffix: string(data[49:min(49+int(data[48]), headerSize)]), Bytes: int64(len(data)),
	}
	if n, err := fqdn.Parse(info.Suffix); err != nil || n.String() != info.Suffix {
		return Info{}, nil, errImpossible
	}
	shards := make([]shard, count)
	for i := range shards {
		row := data[headerSize+i*shardSize:]
		s := shard{int64(le.Uint64(row)), le.Uint32(row[8:]), le.Uint32(row[12:]), le.Uint64(row[16:]), le.Uint32(row[24:]), le.Uint32(row[28:])}
		length := uint64(s.segmentLength)
		switch {
		case s.offset < size || s.offset%8 != 0 || length == 0 || length&(length-1) != 0 || length > 1<<18,
			(uint64(s.segmentCount)+2)*length != uint64(s.fingerprints), s.segmentCount == 0:
			return Info{}, nil, errImpossible
		case s.offset > int64(len(data)) || int64(len(data))-s.offset < 2*int64(s.fingerprints):
			return Info{}, nil, errCut
		}
		shards[i] = s
	}
	return info, shards, nil
}

// A file is an index file in memory. It is unmapped once no reference to it is left.
type file struct {
	info    Info
	stat    os.FileInfo
	salt    uint64 // of the suffix, for the overlay
	shift   uint   // a key's shard is key >> shift
	filters []xorfilter.BinaryFuse[uint16]
	broken  atomic.Bool // its pages cannot be read any more
}

// Verify reads an index file as a whole and checks it.
func Verify(path string) (Info, error) {
	f, err := openFile(path)
	if err != nil {
		return Info{}, err
	}
	return f.info, nil
}

// openFile maps the file and checks every byte of it.
func openFile(path string) (*file, error) {
	data, stat, unmap, err := mapFile(path)
	if err != nil {
		return nil, err
	}
	f, err := newFile(data)
	if err != nil {
		unmap()
		return nil, err
	}
	f.info.Path, f.stat = path, stat
	runtime.AddCleanup(f, func(unmap func()) { unmap() }, unmap)
	return f, nil
}

// newFile checks the data and makes filters of it, without copying.
func newFile(data []byte) (f *file, err error) {
	defer func() { // the file may be cut short while it is read
		if faulted(recover()) {
			f, err = nil, errCut
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	info, shards, err := decode(data)
	if err != nil {
		return nil, err
	}
	f = &file{info: info, salt: xxhash.Sum64String(info.Suffix), shift: 64 - bitsOf(len(shards))}
	for _, s := range shards {
		raw := data[s.offset : s.offset+2*int64(s.fingerprints)]
		if crc32.Checksum(raw, castagnoli) != s.crc {
			return nil, errCorrupt
		}
		f.filters = append(f.filters, xorfilter.BinaryFuse[uint16]{
			Seed: s.seed, SegmentLength: s.segmentLength, SegmentLengthMask: s.segmentLength - 1, SegmentCount: s.segmentCount,
			SegmentCountLength: s.segmentCount * s.segmentLength, Fingerprints: fingerprints(raw),
		})
	}
	return f, nil
}

// littleEndian says whether the memory of this machine reads as the file is written.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// fingerprints are the numbers in raw, which is aligned.
func fingerprints(raw []byte) []uint16 {
	if littleEndian {
		return unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(raw))), len(raw)/2)
	}
	list := make([]uint16, len(raw)/2)
	for i := range list {
		list[i] = binary.LittleEndian.Uint16(raw[2*i:])
	}
	return list
}

// bitsOf is the logarithm of a power of two.
func bitsOf(n int) (b uint) {
	for n > 1 {
		n >>= 1
		b++
	}
	return b
}

// has reports whether the key is in the filter; ok is false where the file cannot be read any more, because somebody cut it
// short where it is instead of replacing it.
func (f *file) has(key uint64) (present, ok bool) {
	if f.broken.Load() {
		return false, false
	}
	defer func() {
		if faulted(recover()) {
			f.broken.Store(true)
			present, ok = false, false
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	present = f.filters[shardOf(key, f.shift)].Contains(key)
	runtime.KeepAlive(f)
	return present, true
}

// shardOf is the number of the key's shard; shift is 64 where there is one.
func shardOf(key uint64, shift uint) uint64 { return key >> shift }

// faulted reports whether what was recovered is a fault of memory that is mapped; any other panic goes on.
func faulted(p any) bool {
	if p == nil {
		return false
	}
	if _, fault := p.(interface{ Addr() uintptr }); !fault {
		panic(p)
	}
	return true
}

// sniff reports whether the text begins as an index file does.
func sniff(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }

func (i Info) String() string {
	return fmt.Sprintf(".%s, %d names of %s", i.Suffix, i.Names, i.Date.Format(time.DateOnly))
}
