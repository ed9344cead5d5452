package logs

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// errUncommonYAML means the text uses YAML that Kubernetes never prints
// (anchors, tags, folded blocks, flow over several lines): the full parser
// reads it then.
var errUncommonYAML = errors.New("uncommon yaml")

// yamlBlock reads the block style that the API machinery prints: mappings,
// sequences (also at the indentation of their key), plain, quoted and literal
// scalars, and flow collections on one line. It reads about thirty times faster
// than a full YAML parser and leaves everything else to it.
//
// Between calls pos is at the first character of some content and col its
// column; col is -1 at the end.
type yamlBlock struct {
	src   []byte
	pos   int
	col   int
	end   int // of the line, while a flow collection on it is read
	depth int
	t     *objectTree
}

// parseYAMLBlock reads one object into t and returns its root.
func parseYAMLBlock(src []byte, t *objectTree) (field, error) {
	t.reset()
	y := &yamlBlock{src: src, t: t}
	if err := y.findContent(); err != nil {
		return field{}, err
	}
	if y.col < 0 {
		return field{}, nil
	}
	root, err := y.node(-1, nil)
	if err == nil && y.col >= 0 {
		err = fmt.Errorf("text outside the object: %w", errUncommonYAML)
	}
	return field{t, root}, err
}

// lineEnd returns the end of the line that holds i, without CR LF.
func (y *yamlBlock) lineEnd(i int) int {
	e := len(y.src)
	if n := bytes.IndexByte(y.src[i:], '\n'); n >= 0 {
		e = i + n
	}
	if e > i && y.src[e-1] == '\r' {
		e--
	}
	return e
}

// nextLine returns the start of the line after i.
func (y *yamlBlock) nextLine(i int) int {
	if n := bytes.IndexByte(y.src[i:], '\n'); n >= 0 {
		return i + n + 1
	}
	return len(y.src)
}

// findContent moves from the start of a line to the next content, over blank
// lines and comments.
func (y *yamlBlock) findContent() error {
	for y.pos < len(y.src) {
		i := y.pos
		for i < len(y.src) && y.src[i] == ' ' {
			i++
		}
		if i == len(y.src) {
			break
		}
		switch y.src[i] {
		case '\n', '\r', '#':
			y.pos = y.nextLine(i)
			continue
		case '\t':
			return errUncommonYAML
		}
		y.col, y.pos = i-y.pos, i
		return nil
	}
	y.pos, y.col = len(y.src), -1
	return nil
}

// endLine leaves the rest of a line, which may hold only blanks or a comment.
func (y *yamlBlock) endLine() error {
	i := y.pos
	for i < len(y.src) && (y.src[i] == ' ' || y.src[i] == '\t') {
		i++
	}
	if i < len(y.src) && y.src[i] != '\n' && y.src[i] != '\r' && (y.src[i] != '#' || i == y.pos) {
		return errUncommonYAML
	}
	y.pos = y.nextLine(i)
	return y.findContent()
}

func (y *yamlBlock) isDash(i int) bool {
	return y.src[i] == '-' && (i+1 == len(y.src) || y.src[i+1] == ' ' || y.src[i+1] == '\n' || y.src[i+1] == '\r')
}

// node reads the value that starts at pos and belongs to a parent at column
// parent.
func (y *yamlBlock) node(parent int, key []byte) (int32, error) {
	if y.depth++; y.depth > maxObjectDepth {
		return 0, errTooDeep
	}
	defer func() { y.depth-- }()
	if y.isDash(y.pos) {
		return y.sequence(key)
	}
	if _, _, ok, err := y.keyAt(y.pos); err != nil {
		return 0, err
	} else if ok {
		return y.mapping(key)
	}
	return y.scalar(parent, key)
}

func (y *yamlBlock) sequence(key []byte) (int32, error) {
	list, err := y.t.add(treeNode{kind: nodeList, key: key})
	if err != nil {
		return 0, err
	}
	col, last := y.col, int32(0)
	for y.col == col && y.isDash(y.pos) {
		i := y.pos + 1
		for i < len(y.src) && y.src[i] == ' ' {
			i++
		}
		var item int32
		switch {
		case i == len(y.src) || y.src[i] == '\n' || y.src[i] == '\r' || y.src[i] == '#':
			y.pos = y.nextLine(min(i, len(y.src)))
			if err := y.findContent(); err != nil {
				return 0, err
			}
			if y.col > col {
				item, err = y.node(col, nil)
			} else {
				item, err = y.t.add(treeNode{kind: nodeNull})
			}
		default:
			y.col, y.pos = col+i-y.pos, i
			item, err = y.node(col, nil)
		}
		if err != nil {
			return 0, err
		}
		last = y.t.link(list, last, item)
	}
	if y.col > col {
		return 0, fmt.Errorf("line indented more than its list: %w", errUncommonYAML)
	}
	return list, nil
}

func (y *yamlBlock) mapping(key []byte) (int32, error) {
	m, err := y.t.add(treeNode{kind: nodeMap, key: key})
	if err != nil {
		return 0, err
	}
	col, last := y.col, int32(0)
	for y.col == col && !y.isDash(y.pos) {
		k, after, ok, err := y.keyAt(y.pos)
		if err != nil || !ok {
			return 0, errUncommonYAML
		}
		y.pos = after
		if unreadKey(k) {
			if err := y.skipValue(col); err != nil {
				return 0, err
			}
			continue
		}
		child, err := y.valueOf(col, k)
		if err != nil {
			return 0, err
		}
		last = y.t.link(m, last, child)
	}
	if y.col > col {
		return 0, fmt.Errorf("line indented more than its mapping: %w", errUncommonYAML)
	}
	return m, nil
}

// keyAt reads a key on the line of i and returns it and the place after its
// colon.
func (y *yamlBlock) keyAt(i int) (key []byte, after int, ok bool, err error) {
	end := y.lineEnd(i)
	line := y.src[i:end]
	if len(line) == 0 {
		return nil, 0, false, nil
	}
	switch line[0] {
	case '"', '\'':
		n := quotedLen(line)
		if n < 0 || n >= len(line) || line[n] != ':' || (n+1 < len(line) && line[n+1] != ' ') {
			return nil, 0, false, nil // a quoted scalar
		}
		k := line[1 : n-1]
		if bytes.IndexByte(k, '\\') >= 0 || (line[0] == '\'' && bytes.IndexByte(k, '\'') >= 0) {
			return nil, 0, false, errUncommonYAML
		}
		return k, i + n + 1, true, nil
	case '{', '[', '|', '>', '#', '&', '*', '!', '%', '@', '`', ',', ']', '}':
		return nil, 0, false, nil
	case '?', '<':
		if len(line) == 1 || line[1] == ' ' || line[1] == '<' {
			return nil, 0, false, errUncommonYAML
		}
	}
	for n := 0; n < len(line); {
		c := bytes.IndexByte(line[n:], ':')
		if c < 0 {
			return nil, 0, false, nil
		}
		n += c
		if n+1 == len(line) || line[n+1] == ' ' || line[n+1] == '\t' {
			k := bytes.TrimRight(line[:n], " ")
			if bytes.Contains(k, []byte(" #")) {
				return nil, 0, false, nil
			}
			return k, i + n + 1, true, nil
		}
		n++
	}
	return nil, 0, false, nil
}

// quotedLen returns the length of the quoted text at the start of line, -1 if
// it does not end on the line.
func quotedLen(line []byte) int {
	q := line[0]
	for i := 1; i < len(line); i++ {
		switch {
		case q == '"' && line[i] == '\\':
			i++
		case line[i] != q:
		case q == '\'' && i+1 < len(line) && line[i+1] == '\'':
			i++
		default:
			return i + 1
		}
	}
	return -1
}

// valueOf reads what follows a key at column col.
func (y *yamlBlock) valueOf(col int, k []byte) (int32, error) {
	i := y.pos
	for i < len(y.src) && (y.src[i] == ' ' || y.src[i] == '\t') {
		i++
	}
	if i < len(y.src) && y.src[i] != '\n' && y.src[i] != '\r' && y.src[i] != '#' {
		y.pos = i
		return y.scalar(col, k)
	}
	if err := y.endLine(); err != nil {
		return 0, err
	}
	if y.col > col || (y.col == col && y.isDash(y.pos)) {
		return y.node(col, k)
	}
	return y.t.add(treeNode{kind: nodeNull, key: k})
}

// skipValue leaves a value unread, by indentation alone.
func (y *yamlBlock) skipValue(col int) error {
	inline := len(bytes.TrimSpace(y.src[y.pos:y.lineEnd(y.pos)])) > 0
	for y.pos = y.nextLine(y.pos); y.pos < len(y.src); y.pos = y.nextLine(y.pos) {
		i := y.pos
		for i < len(y.src) && y.src[i] == ' ' {
			i++
		}
		if i == len(y.src) || y.src[i] == '\n' || y.src[i] == '\r' {
			continue
		}
		if ind := i - y.pos; ind < col || (ind == col && (inline || !y.isDash(i))) {
			break
		}
	}
	return y.findContent()
}

// scalar reads a scalar or a flow collection that starts at pos; lines that
// continue it are indented more than parent.
func (y *yamlBlock) scalar(parent int, key []byte) (int32, error) {
	switch y.src[y.pos] {
	case '"':
		return y.doubleQuoted(key)
	case '\'':
		return y.singleQuoted(key)
	case '|':
		return y.literal(parent, key)
	case '{', '[':
		y.end = y.lineEnd(y.pos)
		n, err := y.flow(key)
		if err != nil {
			return 0, err
		}
		return n, y.endLine()
	case '>', '&', '*', '!', '%', '@', '`', ',', ']', '}':
		return 0, errUncommonYAML
	}
	return y.plain(parent, key)
}

// plainText cuts a line's comment and trailing blanks; more is false when a
// comment ends the scalar.
func plainText(line []byte) (text []byte, more bool) {
	more = true
	if i := bytes.Index(line, []byte(" #")); i >= 0 {
		line, more = line[:i], false
	}
	return bytes.TrimRight(line, " \t"), more
}

func (y *yamlBlock) plain(parent int, key []byte) (int32, error) {
	end := y.lineEnd(y.pos)
	text, more := plainText(y.src[y.pos:end])
	y.pos = y.nextLine(end)
	folded, blank := false, 0
	for more && y.pos < len(y.src) {
		i := y.pos
		for i < len(y.src) && y.src[i] == ' ' {
			i++
		}
		if i == len(y.src) || y.src[i] == '\n' || y.src[i] == '\r' {
			blank++
			y.pos = y.nextLine(i)
			continue
		}
		if i-y.pos <= parent || y.src[i] == '#' {
			break
		}
		end = y.lineEnd(i)
		if y.src[i] == '\t' || bytes.Contains(y.src[i:end], []byte(": ")) || y.src[end-1] == ':' {
			return 0, errUncommonYAML
		}
		if !folded {
			folded = true
			text = append(y.startStore(), text...)
		}
		var part []byte
		part, more = plainText(y.src[i:end])
		text = append(foldBreak(text, blank), part...)
		blank = 0
		y.pos = y.nextLine(end)
	}
	if folded {
		y.keepStore(text)
	}
	n := treeNode{kind: nodeScalar, key: key, text: text}
	if len(text) == 0 || string(text) == "null" || string(text) == "~" {
		n.kind, n.text = nodeNull, nil
	}
	id, err := y.t.add(n)
	if err != nil {
		return 0, err
	}
	return id, y.findContent()
}

// startStore returns the free end of the store; keepStore claims what was
// appended to it.
func (y *yamlBlock) startStore() []byte {
	if cap(y.t.store)-len(y.t.store) < 512 {
		y.t.store = make([]byte, 0, 16<<10)
	}
	return y.t.store[len(y.t.store):]
}

func (y *yamlBlock) keepStore(b []byte) {
	if free := cap(y.t.store) - len(y.t.store); len(b) <= free {
		y.t.store = y.t.store[:len(y.t.store)+len(b)]
	} else { // append moved it: go on in the new array
		y.t.store = b
	}
}

// foldBreak appends a line break after which blank lines follow.
func foldBreak(text []byte, blank int) []byte {
	if blank == 0 {
		return append(text, ' ')
	}
	for ; blank > 0; blank-- {
		text = append(text, '\n')
	}
	return text
}

func (y *yamlBlock) singleQuoted(key []byte) (int32, error) {
	text, folded := y.startStore(), false
	start := y.pos + 1
	for i := start; i < len(y.src); i++ {
		switch y.src[i] {
		case '\'':
			if i+1 < len(y.src) && y.src[i+1] == '\'' {
				text, folded = append(text, y.src[start:i+1]...), true
				i++
				start = i + 1
				continue
			}
			part := y.src[start:i]
			if folded {
				text = append(text, part...)
				y.keepStore(text)
				part = text
			}
			return y.endQuoted(i+1, key, part)
		case '\n':
			text, folded = append(text, bytes.TrimRight(y.src[start:i], " \t\r")...), true
			text, start = y.foldQuoted(text, i)
			i = start - 1
		}
	}
	return 0, errUncommonYAML
}

// foldQuoted folds the line break at i and the blank lines and indentation
// after it.
func (y *yamlBlock) foldQuoted(text []byte, i int) ([]byte, int) {
	blank := 0
	for i++; i < len(y.src); i++ {
		switch y.src[i] {
		case ' ', '\t', '\r':
			continue
		case '\n':
			blank++
			continue
		}
		break
	}
	return foldBreak(text, blank), i
}

func (y *yamlBlock) endQuoted(i int, key, text []byte) (int32, error) {
	id, err := y.t.add(treeNode{kind: nodeScalar, key: key, text: text, quoted: true})
	if err != nil {
		return 0, err
	}
	y.pos = i
	return id, y.endLine()
}

func (y *yamlBlock) doubleQuoted(key []byte) (int32, error) {
	text, folded := y.startStore(), false
	start := y.pos + 1
	for i := start; i < len(y.src); i++ {
		switch y.src[i] {
		case '"':
			part := y.src[start:i]
			if folded {
				text = append(text, part...)
				y.keepStore(text)
				part = text
			}
			return y.endQuoted(i+1, key, part)
		case '\\':
			text, folded = append(text, y.src[start:i]...), true
			var n int
			if text, n = y.escape(text, i+1); n < 0 {
				return 0, errUncommonYAML
			}
			start = n
			i = n - 1
		case '\n':
			text, folded = append(text, bytes.TrimRight(y.src[start:i], " \t\r")...), true
			text, start = y.foldQuoted(text, i)
			i = start - 1
		}
	}
	return 0, errUncommonYAML
}

// escape appends what the escape at i (after the backslash) stands for and
// returns the place after it, -1 if it is none.
func (y *yamlBlock) escape(text []byte, i int) ([]byte, int) {
	if i >= len(y.src) {
		return text, -1
	}
	size := 0
	switch c := y.src[i]; c {
	case 'n':
		return append(text, '\n'), i + 1
	case 't', '\t':
		return append(text, '\t'), i + 1
	case 'r':
		return append(text, '\r'), i + 1
	case '"', '\\', '/', ' ':
		return append(text, c), i + 1
	case '0':
		return append(text, 0), i + 1
	case 'a':
		return append(text, '\a'), i + 1
	case 'b':
		return append(text, '\b'), i + 1
	case 'e':
		return append(text, 0x1b), i + 1
	case 'f':
		return append(text, '\f'), i + 1
	case 'v':
		return append(text, '\v'), i + 1
	case 'N':
		return utf8.AppendRune(text, 0x85), i + 1
	case '_':
		return utf8.AppendRune(text, 0xa0), i + 1
	case 'L':
		return utf8.AppendRune(text, 0x2028), i + 1
	case 'P':
		return utf8.AppendRune(text, 0x2029), i + 1
	case '\n', '\r': // the line goes on without a blank
		for i = y.nextLine(i); i < len(y.src) && (y.src[i] == ' ' || y.src[i] == '\t'); {
			i++
		}
		return text, i
	case 'x':
		size = 2
	case 'u':
		size = 4
	case 'U':
		size = 8
	default:
		return text, -1
	}
	if i+1+size > len(y.src) {
		return text, -1
	}
	r, err := strconv.ParseUint(string(y.src[i+1:i+1+size]), 16, 32)
	if err != nil || r > utf8.MaxRune || (r >= 0xd800 && r < 0xe000) {
		return text, -1
	}
	return utf8.AppendRune(text, rune(r)), i + 1 + size
}

// literal reads a "|" block.
func (y *yamlBlock) literal(parent int, key []byte) (int32, error) {
	header, _ := plainText(y.src[y.pos+1 : y.lineEnd(y.pos)])
	chomp, content := byte(0), -1
	for _, c := range header {
		switch {
		case c == '-' || c == '+':
			chomp = c
		case c >= '1' && c <= '9' && content < 0:
			content = max(parent, 0) + int(c-'0')
		default:
			return 0, errUncommonYAML
		}
	}
	text := y.startStore()
	y.pos = y.nextLine(y.pos)
	for y.pos < len(y.src) {
		i := y.pos
		for i < len(y.src) && y.src[i] == ' ' {
			i++
		}
		end := y.lineEnd(i)
		ind := i - y.pos
		if i == end {
			if content >= 0 && ind > content {
				text = append(text, y.src[y.pos+content:end]...)
			}
			text = append(text, '\n')
			y.pos = y.nextLine(i)
			continue
		}
		if content < 0 {
			if ind <= parent {
				break
			}
			content = ind
		}
		if ind < content {
			break
		}
		text = append(text, y.src[y.pos+content:end]...)
		text = append(text, '\n')
		y.pos = y.nextLine(end)
	}
	switch kept := bytes.TrimRight(text, "\n"); {
	case chomp == '-':
		text = kept
	case chomp == 0 && len(kept) > 0:
		text = text[:len(kept)+1]
	case chomp == 0:
		text = kept
	}
	y.keepStore(text)
	id, err := y.t.add(treeNode{kind: nodeScalar, key: key, text: text, quoted: true})
	if err != nil {
		return 0, err
	}
	return id, y.findContent()
}
