package logs

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// printedEndpoint is an address as printed, with its port where it has one.
type printedEndpoint struct {
	addr    netip.Addr
	port    uint16
	hasPort bool
	why     string // the problem's code when it is no address
	text    []byte
}

const (
	maxEndpoints = 8192
	maxHostNames = 256
)

// hostNames reads addresses, and remembers those it has read: a text repeats
// few of them.
type hostNames struct {
	seen  map[string]*printedEndpoint
	names []event.HostName
}

// endpoint reads "10.1.2.3.8080", "fd00::1.80", "10.1.2.3" or the same with
// names.
func (h *hostNames) endpoint(text []byte) *printedEndpoint {
	if e := h.seen[string(text)]; e != nil {
		return e
	}
	e := &printedEndpoint{text: bytes.Clone(text[:min(len(text), 64)])}
	h.resolve(text, e)
	if h.seen == nil || len(h.seen) >= maxEndpoints {
		h.seen = make(map[string]*printedEndpoint)
	}
	h.seen[string(text)] = e
	return e
}

func (h *hostNames) resolve(text []byte, e *printedEndpoint) {
	if len(text) > 255 {
		e.why = "unresolved-name"
		return
	}
	var ok bool
	if e.addr, ok = plainAddr(text); ok {
		return
	}
	i := bytes.LastIndexByte(text, '.')
	if i < 0 {
		if e.addr, ok = h.named(text); !ok {
			e.why = "unresolved-name"
		}
		return
	}
	host, service := text[:i], text[i+1:]
	port, known := portNumber(service)
	if e.addr, ok = plainAddr(host); ok {
		if e.port, e.hasPort = port, known; !known {
			e.why, e.text = "unresolved-port", e.text[min(i+1, len(e.text)):]
		}
		return
	}
	// A name with a port, or (ICMP) a name alone.
	if known {
		if e.addr, ok = h.named(host); ok {
			e.port, e.hasPort = port, true
			return
		}
	}
	if e.addr, ok = h.named(text); !ok {
		e.why = "unresolved-name"
	}
}

// plainAddr reads an address without a port.
func plainAddr(b []byte) (netip.Addr, bool) {
	if len(b) == 0 || !isHex(b[0]) && b[0] != ':' {
		return netip.Addr{}, false
	}
	a, err := netip.ParseAddr(string(b))
	return a.WithZone(""), err == nil
}

// named finds the address in a name: cluster DNS and cloud providers write it
// into the first label ("10-244-1-9.web.shop.svc.cluster.local",
// "ip-10-0-1-5.ec2.internal"). Nothing else tells the address of a name.
func (h *hostNames) named(b []byte) (netip.Addr, bool) {
	name := string(b)
	if name == "localhost" {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1}), true
	}
	label, _, more := strings.Cut(name, ".")
	if cloud, ok := strings.CutPrefix(label, "ip-"); ok {
		label = cloud
	} else if !more || !strings.Contains(name, ".svc") && !strings.Contains(name, ".pod") {
		return netip.Addr{}, false
	}
	a, err := netip.ParseAddr(strings.ReplaceAll(label, "-", "."))
	if err != nil || !a.Is4() {
		return netip.Addr{}, false
	}
	if n := (event.HostName{IP: a, Name: name}); len(h.names) < maxHostNames && !slices.Contains(h.names, n) {
		h.names = append(h.names, n)
	}
	return a, true
}

// servicePorts are the ports of the service names that tcpdump prints without
// -n and that probes and what runs beside them use (from the services files of
// Debian and Fedora).
var servicePorts = map[string]uint16{
	"echo": 7, "discard": 9, "daytime": 13, "netstat": 15, "chargen": 19, "ftp-data": 20, "ftp": 21, "ssh": 22, "telnet": 23, "smtp": 25,
	"time": 37, "domain": 53, "tftp": 69, "gopher": 70, "finger": 79, "http": 80, "www": 80, "kerberos": 88, "pop3": 110, "sunrpc": 111,
	"auth": 113, "nntp": 119, "ntp": 123, "epmap": 135, "netbios-ns": 137, "netbios-dgm": 138, "netbios-ssn": 139, "imap2": 143, "imap": 143,
	"snmp": 161, "snmp-trap": 162, "snmptrap": 162, "bgp": 179, "irc": 194, "ldap": 389, "https": 443, "microsoft-ds": 445, "submissions": 465,
	"urd": 465, "kpasswd": 464, "isakmp": 500, "exec": 512, "biff": 512, "login": 513, "who": 513, "shell": 514, "syslog": 514, "printer": 515,
	"route": 520, "dhcpv6-client": 546, "dhcpv6-server": 547, "rtsp": 554, "nntps": 563, "submission": 587, "ipp": 631, "ldaps": 636,
	"bootps": 67, "bootpc": 68, "domain-s": 853, "rsync": 873, "ftps": 990, "telnets": 992, "imaps": 993, "pop3s": 995,
	"socks": 1080, "openvpn": 1194, "rmiregistry": 1099, "ms-sql-s": 1433, "ms-sql-m": 1434, "ingreslock": 1524, "ncube-lm": 1521,
	"radius": 1812, "radius-acct": 1813, "datametrics": 1645, "mqtt": 1883, "h323hostcall": 1720, "nfs": 2049, "eforward": 2181, "docker": 2375,
	"docker-s": 2376, "zookeeper": 2181, "etcd-client": 2379, "etcd-server": 2380, "gsiftp": 2811, "iscsi-target": 3260, "mysql": 3306,
	"ms-wbt-server": 3389, "svn": 3690, "epmd": 4369, "f5-globalsite": 2792, "ipsec-nat-t": 4500, "vxlan": 4789, "geneve": 6081,
	"commplex-main": 5000, "commplex-link": 5001, "mmcc": 5050, "sip": 5060, "sip-tls": 5061, "xmpp-client": 5222, "xmpp-server": 5269,
	"mdns": 5353, "hostmon": 5355, "llmnr": 5355, "postgresql": 5432, "amqp": 5672, "amqps": 5671, "rfb": 5900, "couchdb": 5984,
	"x11": 6000, "redis": 6379, "sge-qmaster": 6444, "sge_qmaster": 6444, "ircd": 6667, "afs3-fileserver": 7000, "afs3-callback": 7001,
	"afs3-prserver": 7002, "afs3-vlserver": 7003, "afs3-bos": 7007, "cbt": 7777, "irdmi": 8000, "vcom-tunnel": 8001, "http-alt": 8080,
	"webcache": 8080, "us-cli": 8082, "us-srv": 8083, "d-s-n": 8086, "simplifymedia": 8087, "radan-http": 8088,
	"omniorb": 8088, "jamlink": 8091, "opsession-prxy": 3307, "blp3": 8292, "intermapper": 8181, "privoxy": 8118, "xprint-server": 8100,
	"pcsync-https": 8443, "https-alt": 8443, "otv": 8472, "ddi-tcp-1": 8888, "ddi-tcp-2": 8889, "cslistener": 9000, "bacula-dir": 9101,
	"bacula-fd": 9102, "bacula-sd": 9103, "jetdirect": 9100, "hp-pdl-datastr": 9100, "pdl-datastream": 9100, "websm": 9090, "xmltec-xmlmail": 9091,
	"XmlIpcRegSvc": 9092, "sun-as-jpda": 9191, "wap-wsp": 9200, "elasticsearch": 9200, "vrace": 9300, "git": 9418, "ndmp": 10000, "zabbix-agent": 10050,
	"zabbix-trapper": 10051, "amanda": 10080, "memcache": 11211, "memcached": 11211, "mongodb": 27017, "hkp": 11371, "sunproxyadmin": 8081, "tproxy": 8081, "teradataordbms": 8002, "mcreport": 8003, "etlservicemgr": 9001, "dynamid": 9002, "scp-config": 10001,
}
