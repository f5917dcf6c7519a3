// Package zone answers from zone files, without a network, whether a name is delegated.
//
// The index of a TLD, or of another suffix that has a zone of its own, is one file: binary fuse filters with 16-bit
// fingerprints over the labels, cut into shards. It takes about 2.3 bytes a name, is mapped into memory and never says that
// a name of the zone is not in it; of other names it calls one in 65 536 present. [Build] makes a file, an [Index]
// answers from all files of a directory and takes new ones while it serves.
package zone

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/namewharf/namewharf/fqdn"
)

// Extension is what the name of an index file ends in, behind the suffix: com.zix.
const Extension = ".zix"

// Path is the index file of the suffix in the directory.
func Path(dir, suffix string) string { return filepath.Join(dir, suffix+Extension) }

// watchEvery is the time between two looks at the directory. A new file is in force within ten seconds.
const watchEvery = 3 * time.Second

// An Index answers from the files of a directory. It is safe for concurrent use.
type Index struct {
	dir     string
	files   atomic.Pointer[map[string]*file] // by suffix; never changed, only replaced
	overlay overlay
	now     func() time.Time

	loading sync.Mutex
	refused map[string]os.FileInfo // files that are not taken, so that each is reported once
}

// Open reads the directory, which need not exist. The files that cannot be used are in the error, one line each, and
// the index holds the others; it is never nil.
func Open(dir string, now func() time.Time) (*Index, error) {
	if now == nil {
		now = time.Now
	}
	ix := &Index{dir: dir, now: now, refused: map[string]os.FileInfo{}}
	ix.files.Store(&map[string]*file{})
	_, err := ix.Reload()
	return ix, err
}

// Look reports whether the name, one label under a suffix, is delegated, and whether there is an index of its suffix. The
// date is that of the zone; it is zero where the answer was learnt since.
func (ix *Index) Look(name fqdn.Name) (present, loaded bool, date time.Time) {
	label, suffix, ok := strings.Cut(name.String(), ".")
	if !ok {
		return false, false, time.Time{}
	}
	f := (*ix.files.Load())[suffix]
	if f == nil {
		return false, false, time.Time{}
	}
	key := xxhash.Sum64String(label)
	if registered, known := ix.overlay.get(f, key); known {
		return registered, true, time.Time{}
	}
	present, ok = f.has(key)
	if !ok {
		return false, false, time.Time{}
	}
	return present, true, f.info.Date
}

// Learn notes what the registry said about a name. It holds until an index with a later date is loaded. At most a
// million names are noted; then some are forgotten.
func (ix *Index) Learn(name fqdn.Name, registered bool) {
	label, suffix, ok := strings.Cut(name.String(), ".")
	if f := (*ix.files.Load())[suffix]; ok && f != nil {
		ix.overlay.put(f, xxhash.Sum64String(label), registered, ix.now())
	}
}

// Files are the indexes in force, by suffix.
func (ix *Index) Files() []Info {
	var list []Info
	for _, f := range *ix.files.Load() {
		list = append(list, f.info)
	}
	slices.SortFunc(list, func(a, b Info) int { return strings.Compare(a.Suffix, b.Suffix) })
	return list
}

// Reload takes new and changed files, drops those that are gone, and reports whether anything changed. A file that
// cannot be used is in the error, once; the one before stays in force.
func (ix *Index) Reload() (changed bool, err error) {
	ix.loading.Lock()
	defer ix.loading.Unlock()
	paths, err := filepath.Glob(filepath.Join(globEscape(ix.dir), "*"+Extension))
	if err != nil {
		return false, fmt.Errorf("zone index: %w", err)
	}
	before := *ix.files.Load()
	after := map[string]*file{}
	var errs []error
	for _, path := range paths {
		suffix := strings.TrimSuffix(filepath.Base(path), Extension)
		old := before[suffix]
		stat, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err == nil && old != nil && same(old.stat, stat), err == nil && same(ix.refused[path], stat):
			if old != nil {
				after[suffix] = old
			}
			continue
		}
		f, err := openFile(path)
		if err == nil && f.info.Suffix != suffix {
			f, err = nil, fmt.Errorf("it is the index of .%s", f.info.Suffix)
		}
		if err != nil {
			ix.refused[path] = stat
			kept := ""
			if old != nil {
				after[suffix] = old
				kept = "; the one before stays in force"
			}
			errs = append(errs, fmt.Errorf("zone index %s is not taken: %w%s", path, err, kept))
			continue
		}
		delete(ix.refused, path)
		after[suffix] = f
	}
	changed = !maps.Equal(before, after)
	if changed {
		ix.files.Store(&after)
	}
	return changed, errors.Join(errs...)
}

// same reports whether a file is the one that was seen before.
func same(before, now os.FileInfo) bool {
	return before != nil && now != nil && os.SameFile(before, now) && before.Size() == now.Size() && before.ModTime().Equal(now.ModTime())
}

// globEscape makes a path match itself alone.
func globEscape(path string) string {
	if filepath.Separator != '/' {
		return path // no escapes there
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// Watch takes changed files until ctx ends. The report gets the files in force after each change, and each failure once.
func (ix *Index) Watch(ctx context.Context, report func(changed bool, files []Info, err error)) {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if changed, err := ix.Reload(); changed || err != nil {
			report(changed, ix.Files(), err)
		}
	}
}
