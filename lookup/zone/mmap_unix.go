//go:build unix

package zone

import (
	"math"
	"os"
	"syscall"
)

// mapFile maps the file into memory, to be read.
func mapFile(path string) (data []byte, stat os.FileInfo, unmap func(), err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, nil, err
	}
	defer f.Close()
	if stat, err = f.Stat(); err != nil {
		return nil, nil, nil, err
	}
	if size := stat.Size(); size < headerSize || size > math.MaxInt {
		data = make([]byte, min(size, headerSize))
		n, _ := f.ReadAt(data, 0)
		return data[:n], stat, func() {}, nil // too short; who decodes it says so
	}
	data, err = syscall.Mmap(int(f.Fd()), 0, int(stat.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, nil, os.NewSyscallError("mmap", err)
	}
	return data, stat, func() { _ = syscall.Munmap(data) }, nil
}
