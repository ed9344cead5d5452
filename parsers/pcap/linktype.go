package pcap

import "strconv"

// Link types as registered at tcpdump.org; they are 16 bits wide in files and
// are kept so.
const (
	linkNull      = 0
	linkEthernet  = 1
	linkPPP       = 9
	linkFDDI      = 10
	linkRaw12     = 12 // DLT_RAW of most systems, written by mistake
	linkRaw14     = 14 // DLT_RAW of OpenBSD
	linkPPPSerial = 50
	linkPPPEther  = 51
	linkRaw       = 101
	linkCiscoHDLC = 104
	linkLoop      = 108
	linkSLL       = 113
	linkPFLOG     = 117
	linkIPv4      = 228
	linkIPv6      = 229
	linkNFLOG     = 239
	linkSLL2      = 276

	linkJuniperEther   = 178
	linkIPoIB          = 242
	linkDSABrcm        = 281
	linkDSABrcmPrepend = 282
	linkDSA            = 284
	linkEDSA           = 285
)

// linkNames are the names a person may meet; tcpdump -L prints the same.
var linkNames = map[uint32]string{
	0: "NULL", 1: "EN10MB", 3: "AX25", 6: "IEEE802_5", 7: "ARCNET", 8: "SLIP", 9: "PPP", 10: "FDDI", 12: "RAW",
	14: "RAW", 50: "PPP_SERIAL", 51: "PPP_ETHER", 99: "SYMANTEC_FIREWALL", 100: "ATM_RFC1483", 101: "RAW",
	104: "C_HDLC", 105: "IEEE802_11", 106: "ATM_CLIP", 107: "FRELAY", 108: "LOOP", 109: "ENC", 113: "LINUX_SLL",
	114: "LTALK", 117: "PFLOG", 119: "PRISM_HEADER", 122: "IP_OVER_FC", 123: "SUNATM", 127: "IEEE802_11_RADIO",
	129: "ARCNET_LINUX", 130: "JUNIPER_MLPPP", 138: "APPLE_IP_OVER_IEEE1394", 139: "MTP2_WITH_PHDR", 140: "MTP2",
	141: "MTP3", 142: "SCCP", 143: "DOCSIS", 144: "LINUX_IRDA", 147: "USER0", 163: "IEEE802_11_RADIO_AVS",
	165: "BACNET_MS_TP", 166: "PPP_PPPD", 169: "GPRS_LLC", 177: "LINUX_LAPD", 178: "JUNIPER_ETHER",
	187: "BLUETOOTH_HCI_H4", 189: "USB_LINUX", 192: "PPI", 195: "IEEE802_15_4_WITHFCS", 196: "SITA", 197: "ERF",
	201: "BLUETOOTH_HCI_H4_WITH_PHDR", 202: "AX25_KISS", 203: "LAPD", 204: "PPP_WITH_DIR", 206: "FRELAY_WITH_DIR",
	209: "IPMB_LINUX", 215: "IEEE802_15_4_NONASK_PHY", 220: "USB_LINUX_MMAPPED", 224: "FC_2", 226: "IPNET",
	227: "CAN_SOCKETCAN", 228: "IPV4", 229: "IPV6", 230: "IEEE802_15_4_NOFCS", 231: "DBUS", 235: "DVB_CI",
	236: "MUX27010", 237: "STANAG_5066_D_PDU", 239: "NFLOG", 240: "NETANALYZER", 242: "IPOIB", 243: "MPEG_2_TS",
	245: "NFC_LLCP", 247: "INFINIBAND", 248: "SCTP", 249: "USBPCAP", 251: "BLUETOOTH_LE_LL", 252: "WIRESHARK_UPPER_PDU",
	253: "NETLINK", 254: "BLUETOOTH_LINUX_MONITOR", 256: "BLUETOOTH_LE_LL_WITH_PHDR", 258: "PKTAP", 259: "EPON",
	264: "ISO_14443", 266: "USB_DARWIN", 270: "LORATAP", 271: "VSOCK", 272: "NORDIC_BLE", 273: "DOCSIS31_XRA31",
	274: "ETHERNET_MPACKET", 276: "LINUX_SLL2", 278: "OPENVIZSLA", 279: "EBHSCR", 280: "VPP_DISPATCH",
	281: "DSA_TAG_BRCM", 282: "DSA_TAG_BRCM_PREPEND", 283: "IEEE802_15_4_TAP", 284: "DSA_TAG_DSA", 285: "DSA_TAG_EDSA",
	288: "USB_2_0", 289: "ATSC_ALP", 290: "ETW",
}

// LinkTypeName returns the name of a link type, "LINKTYPE_<n>" for one without.
func LinkTypeName(link uint32) string {
	if n, ok := linkNames[link]; ok {
		return n
	}
	return "LINKTYPE_" + strconv.FormatUint(uint64(link), 10)
}
