package logs

import "bytes"

// localMonths are the month abbreviations that glibc's locales print, in lower
// case, where they differ from English in their first three letters. Several
// spellings of one month are in use; a short name must end at a blank.
var localMonths = []struct {
	name  string
	month int
}{
	// French
	{"janv.", 1}, {"févr.", 2}, {"mars", 3}, {"avril", 4}, {"mai", 5}, {"juin", 6}, {"juil.", 7}, {"août", 8},
	{"sept.", 9}, {"oct.", 10}, {"nov.", 11}, {"déc.", 12},
	// German
	{"mär", 3}, {"mrz", 3}, {"okt", 10}, {"dez", 12},
	// Spanish, Portuguese, Italian
	{"ene", 1}, {"abr", 4}, {"ago", 8}, {"dic", 12}, {"fev", 2}, {"mai", 5}, {"set", 9}, {"out", 10},
	{"gen", 1}, {"mag", 5}, {"giu", 6}, {"lug", 7}, {"ott", 10},
	// Dutch, Polish, Czech, Turkish, Swedish, Danish
	{"mrt", 3}, {"mei", 5}, {"sty", 1}, {"lut", 2}, {"kwi", 4}, {"maj", 5}, {"cze", 6}, {"lip", 7}, {"sie", 8},
	{"wrz", 9}, {"paź", 10}, {"lis", 11}, {"gru", 12},
	{"led", 1}, {"úno", 2}, {"bře", 3}, {"dub", 4}, {"kvě", 5}, {"čen", 6}, {"čec", 7}, {"srp", 8}, {"zář", 9}, {"říj", 10}, {"pro", 12},
	{"oca", 1}, {"şub", 2}, {"nis", 4}, {"haz", 6}, {"tem", 7}, {"ağu", 8}, {"eyl", 9}, {"eki", 10}, {"kas", 11}, {"ara", 12},
	// Russian, Ukrainian
	{"янв", 1}, {"фев", 2}, {"мар", 3}, {"апр", 4}, {"мая", 5}, {"май", 5}, {"июн", 6}, {"июл", 7}, {"авг", 8},
	{"сен", 9}, {"окт", 10}, {"ноя", 11}, {"дек", 12},
	{"січ", 1}, {"лют", 2}, {"бер", 3}, {"кві", 4}, {"тра", 5}, {"чер", 6}, {"лип", 7}, {"сер", 8}, {"вер", 9},
	{"жов", 10}, {"лис", 11}, {"гру", 12},
}

// localMonth recognises a localised month at the front of a short prefix and
// returns what follows the blank behind it. Chinese, Japanese and Korean write
// the number of the month ("11月", "11월").
func localMonth(b []byte) (int, []byte) {
	name, rest, ok := cutByte(b, ' ')
	if !ok || len(name) < 3 || len(name) > 16 {
		if ok && len(name) == 0 { // " 1月": padded
			return localMonth(skipBlanks(b))
		}
		return 0, b
	}
	if isDigit(name[0]) {
		n, unit, _ := leadingUint(name)
		if s := string(unit); (s == "月" || s == "월") && n >= 1 && n <= 12 {
			return int(n), rest
		}
		return 0, b
	}
	lower := bytes.ToLower(name)
	for _, m := range localMonths {
		if string(lower) == m.name || string(lower) == m.name+"." {
			return m.month, rest
		}
	}
	// English with a dot or in full: "Sept.", "March".
	return monthOf(lower[0], lower[1], lower[2]), rest
}
