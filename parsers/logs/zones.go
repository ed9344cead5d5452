package logs

// zoneMinutes are zone abbreviations that mean one offset wherever they are
// printed by date and journalctl. Ambiguous ones (IST, CST, BST) are left out:
// a stamp with such a zone is resolved by package clock.
var zoneMinutes = map[string]int{
	"UTC": 0, "GMT": 0, "WET": 0, "Z": 0,
	"CET": 60, "CEST": 120, "EET": 120, "EEST": 180, "WEST": 60, "MSK": 180,
	"EST": -300, "EDT": -240, "CDT": -300, "MST": -420, "MDT": -360, "PST": -480, "PDT": -420,
	"AKST": -540, "AKDT": -480, "HST": -600,
	"JST": 540, "KST": 540, "HKT": 480, "WIB": 420, "WITA": 480, "WIT": 540, "PKT": 300,
	"AEST": 600, "AEDT": 660, "ACST": 570, "ACDT": 630, "AWST": 480, "NZST": 720, "NZDT": 780,
	"SAST": 120, "EAT": 180, "CAT": 120, "WAT": 60, "IDT": 180,
}
