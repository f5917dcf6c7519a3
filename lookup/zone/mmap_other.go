//go:build !unix

package zone

import "os"

// mapFile reads the file into memory.
func mapFile(path string) (data []byte, stat os.FileInfo, unmap func(), err error) {
	if stat, err = os.Stat(path); err != nil {
		return nil, nil, nil, err
	}
	data, err = os.ReadFile(path)
	return data, stat, func() {}, err
}
