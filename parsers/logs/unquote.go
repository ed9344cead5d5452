package logs

import "unicode/utf8"

// appendUnquoted undoes the escapes of Go's strconv.Quote, which klog and
// logrus use. Text that is not a valid escape is kept as it stands: a cut line
// may end inside one.
func appendUnquoted(dst, b []byte) []byte {
	for i := 0; i < len(b); i++ {
		c := b[i]
		if c != '\\' || i+1 == len(b) {
			dst = append(dst, c)
			continue
		}
		i++
		switch b[i] {
		case 'n':
			dst = append(dst, '\n')
		case 't':
			dst = append(dst, '\t')
		case 'r':
			dst = append(dst, '\r')
		case 'a':
			dst = append(dst, '\a')
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'v':
			dst = append(dst, '\v')
		case '"', '\\', '\'', '/':
			dst = append(dst, b[i])
		case 'x':
			if v, ok := hexRune(b[i+1:], 2); ok {
				dst = append(dst, byte(v))
				i += 2
				continue
			}
			dst = append(dst, '\\', 'x')
		case 'u', 'U':
			n := 4
			if b[i] == 'U' {
				n = 8
			}
			if v, ok := hexRune(b[i+1:], n); ok {
				dst = utf8.AppendRune(dst, v)
				i += n
				continue
			}
			dst = append(dst, '\\', b[i])
		default:
			dst = append(dst, '\\', b[i])
		}
	}
	return dst
}

// hexRune reads n hexadecimal digits.
func hexRune(b []byte, n int) (rune, bool) {
	if len(b) < n {
		return 0, false
	}
	v := rune(0)
	for _, c := range b[:n] {
		v <<= 4
		switch {
		case isDigit(c):
			v |= rune(c - '0')
		case isHex(c):
			v |= rune(c|0x20) - 'a' + 10
		default:
			return 0, false
		}
	}
	return v, true
}
