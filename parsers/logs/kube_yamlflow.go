package logs

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// flow reads a flow collection that ends on its line and leaves pos after it.
func (y *yamlBlock) flow(key []byte) (int32, error) {
	if y.depth++; y.depth > maxObjectDepth {
		return 0, errTooDeep
	}
	defer func() { y.depth-- }()
	kind, closer := nodeMap, byte('}')
	if y.src[y.pos] == '[' {
		kind, closer = nodeList, ']'
	}
	id, err := y.t.add(treeNode{kind: kind, key: key})
	if err != nil {
		return 0, err
	}
	y.pos++
	for last, first := int32(0), true; ; first = false {
		c, err := y.flowByte()
		if err != nil {
			return 0, err
		}
		if c == closer {
			y.pos++
			return id, nil
		}
		if !first {
			if c != ',' {
				return 0, errUncommonYAML
			}
			y.pos++
			if c, err = y.flowByte(); err != nil {
				return 0, err
			}
			if c == closer { // a trailing comma
				y.pos++
				return id, nil
			}
		}
		var k []byte
		if kind == nodeMap {
			if k, err = y.flowKey(); err != nil {
				return 0, err
			}
		}
		child, err := y.flowValue(k)
		if err != nil {
			return 0, err
		}
		last = y.t.link(id, last, child)
	}
}

// flowByte skips blanks and returns the byte at pos; a line break is uncommon.
func (y *yamlBlock) flowByte() (byte, error) {
	for y.pos < y.end && (y.src[y.pos] == ' ' || y.src[y.pos] == '\t') {
		y.pos++
	}
	if y.pos == y.end {
		return 0, errUncommonYAML
	}
	return y.src[y.pos], nil
}

func (y *yamlBlock) flowKey() ([]byte, error) {
	line := y.src[y.pos:y.end]
	if line[0] == '"' || line[0] == '\'' {
		n := quotedLen(line)
		if n < 0 || n >= len(line) || line[n] != ':' || bytes.IndexByte(line[1:n-1], '\\') >= 0 ||
			bytes.IndexByte(line[1:n-1], '\'') >= 0 {
			return nil, errUncommonYAML
		}
		y.pos += n + 1
		return line[1 : n-1], nil
	}
	n := bytes.IndexByte(line, ':')
	if n <= 0 || n+1 == len(line) || line[n+1] != ' ' || bytes.ContainsAny(line[:n], "{}[],&*!|>%@`#?\"'") {
		return nil, errUncommonYAML
	}
	y.pos += n + 1
	return bytes.TrimRight(line[:n], " "), nil
}

func (y *yamlBlock) flowValue(key []byte) (int32, error) {
	c, err := y.flowByte()
	if err != nil {
		return 0, err
	}
	if c == '{' || c == '[' {
		return y.flow(key)
	}
	line := y.src[y.pos:y.end]
	if c == '"' || c == '\'' {
		n := quotedLen(line)
		if n < 0 || bytes.IndexByte(line[1:n-1], '\\') >= 0 || bytes.IndexByte(line[1:n-1], '\'') >= 0 {
			return 0, errUncommonYAML
		}
		y.pos += n
		return y.t.add(treeNode{kind: nodeScalar, key: key, text: line[1 : n-1], quoted: true})
	}
	n := bytes.IndexAny(line, ",]}")
	if n <= 0 || bytes.ContainsAny(line[:n], "{[&*!|>%@`#?\"'") || bytes.Contains(line[:n+1], []byte(": ")) {
		return 0, errUncommonYAML
	}
	text := bytes.TrimRight(line[:n], " \t")
	y.pos += n
	if string(text) == "null" || string(text) == "~" {
		return y.t.add(treeNode{kind: nodeNull, key: key})
	}
	return y.t.add(treeNode{kind: nodeScalar, key: key, text: text})
}

// parseYAML reads one object: by the fast reader, and where that meets YAML it
// does not know, by the full parser.
func parseYAML(src []byte, t *objectTree) (field, error) {
	f, err := parseYAMLBlock(src, t)
	if err == nil {
		return f, nil
	}
	if err == errTooManyNodes || err == errTooDeep {
		return field{}, err
	}
	if t.full += len(src); len(src) > maxFullYAML || t.full > maxFullStream {
		return field{}, fmt.Errorf("%d bytes of uncommon yaml; the limits are %d, and %d in all", len(src), maxFullYAML, maxFullStream)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(src, &doc); err != nil {
		return field{}, err
	}
	t.reset()
	c := yamlConverter{t: t}
	root, err := c.convert(&doc, nil, 0)
	return field{t, root}, err
}

// yamlConverter copies the full parser's nodes, expanding aliases under the
// bounds of an object: the full parser does not expand them itself.
type yamlConverter struct{ t *objectTree }

func (c yamlConverter) convert(n *yaml.Node, key []byte, depth int) (int32, error) {
	if depth > maxObjectDepth {
		return 0, errTooDeep
	}
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) == 0 {
			return 0, nil
		}
		return c.convert(n.Content[0], key, depth+1)
	case yaml.AliasNode:
		return c.convert(n.Alias, key, depth+1)
	case yaml.ScalarNode:
		if n.Tag == "!!null" {
			return c.t.add(treeNode{kind: nodeNull, key: key})
		}
		quoted := n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
		return c.t.add(treeNode{kind: nodeScalar, key: key, text: []byte(n.Value), quoted: quoted})
	case yaml.SequenceNode, yaml.MappingNode:
		kind := nodeList
		if n.Kind == yaml.MappingNode {
			kind = nodeMap
		}
		id, err := c.t.add(treeNode{kind: kind, key: key})
		if err != nil {
			return 0, err
		}
		last := int32(0)
		for i := 0; i < len(n.Content); i++ {
			var k []byte
			if kind == nodeMap {
				if i+1 == len(n.Content) {
					break
				}
				k = []byte(n.Content[i].Value)
				i++
				if unreadKey(k) {
					continue
				}
			}
			child, err := c.convert(n.Content[i], k, depth+1)
			if err != nil {
				return 0, err
			}
			last = c.t.link(id, last, child)
		}
		return id, nil
	}
	return 0, nil
}
