package redact

import "strings"

// image finds the name of an image: behind a registry with a tag or digest,
// quoted after the word "image", or as a directory of a must-gather.
func (r *redactor) image(s string, i int) (int, string) {
	// A directory of a must-gather: "registry-example-com-tools-sha256-4c1f...".
	word := s[i : i+run(s[i:], nameByte)]
	if !strings.Contains(word, "-sha256-") {
		word = strings.TrimRight(s[i:i+run(s[i:], imageByte)], ".:,-")
		if !looksLikeImage(word) && !afterWord(s, i, word) {
			return 0, ""
		}
	}
	if r.meeting {
		r.meet(kindImage, word)
		return len(word), word
	}
	if p, ok := r.names[word]; ok {
		return len(word), p
	}
	return 0, ""
}

func imageByte(c byte) bool { return nameByte(c) || c == '/' || c == ':' || c == '@' }

func looksLikeImage(w string) bool {
	if strings.Contains(w, "://") {
		return false
	}
	registry, rest, ok := strings.Cut(w, "/")
	if !ok || !strings.ContainsAny(registry, ".:") && registry != "localhost" || !lower(registry) {
		return false
	}
	if _, _, isAddress := quad(registry, '.'); isAddress {
		return false // a URL
	}
	name, digest, hasDigest := strings.Cut(rest, "@sha256:")
	if hasDigest && len(digest) >= 12 {
		return true
	}
	// A tag follows the last colon and holds no slash; a registry's port does not
	// count.
	colon := strings.LastIndexByte(name, ':')
	return colon > 0 && !strings.Contains(name[colon:], "/") && colon+1 < len(name) && !strings.Contains(name, "!")
}

func lower(s string) bool { return strings.ToLower(s) == s }

// afterWord reports whether a word stands, maybe quoted, behind "image": "Pulling
// image \"redis:7\"", "image=redis:7", "\"image\":\"redis:7\"".
func afterWord(s string, i int, word string) bool {
	if word == "" || !strings.ContainsAny(word, ":@/") && !strings.HasSuffix(s[:i], `"`) {
		return false
	}
	before := strings.TrimRight(s[:i], " \\\"=:'")
	if before == s[:i] || !strings.HasSuffix(strings.ToLower(before), "image") {
		return false
	}
	at := len(before) - len("image")
	return at == 0 || !wordByte(before[at-1])
}
