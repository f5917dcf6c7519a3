package zone

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"time"
)

// SyntheticLabel is the label of the i-th name of a synthetic zone; those of other numbers are not in it.
func SyntheticLabel(i uint64) string { return string(appendLabel(nil, i)) }

// appendLabel makes labels of the lengths that real zones have, and different for different numbers.
func appendLabel(b []byte, i uint64) []byte {
	h := (i + 1) * 0x9e3779b97f4a7c15
	for n := h >> 61; n > 0; n-- { // up to seven letters in front
		b = append(b, "etaoinshrdlucmfwypvbgkqj"[h%24])
		h /= 24
	}
	return strconv.AppendUint(append(b, 'x'), i, 36)
}

// Synthetic writes a zone of n made-up names in the form of the master files of the CZDS: sorted by nothing, two nameservers a
// name, glue and DS records here and there.
func Synthetic(w io.Writer, suffix string, n uint64, date time.Time) error {
	out := bufio.NewWriterSize(w, 1<<18)
	soa := fmt.Sprintf("%s.\t900\tin\tsoa\ta.nic.%s. hostmaster.nic.%s. %s00 1800 900 604800 86400\n", suffix, suffix, suffix, date.Format("20060102"))
	out.WriteString(soa)
	fmt.Fprintf(out, "%s.\t172800\tin\tns\ta.nic.%s.\n", suffix, suffix)
	line := make([]byte, 0, 256)
	for i := range n {
		line = line[:0]
		for _, host := range [...]string{"\t172800\tin\tns\tns1.quarry.example.\n", "\t172800\tin\tns\tns2.quarry.example.\n"} {
			line = append(append(append(appendLabel(line, i), '.'), suffix...), '.')
			line = append(line, host...)
		}
		switch {
		case i%10 == 3:
			line = append(append(append(appendLabel(line, i), '.'), suffix...), ".\t86400\tin\tds\t12345 8 2 0123456789ABCDEF\n"...)
		case i%100 == 7:
			line = append(append(append(append(line, "ns1."...), appendLabel(nil, i)...), '.'), suffix...)
			line = append(line, ".\t172800\tin\ta\t192.0.2.1\n"...)
		}
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	out.WriteString(soa)
	return out.Flush()
}
