use super::*;

fn address(text: &str) -> IpAddr {
    address_of_host(text).unwrap_or_else(|| panic!("{text} is no address"))
}

#[test]
fn addresses_that_are_not_the_internet() {
    for text in [
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "10.255.255.255",
        "100.64.0.1",
        "100.100.100.200",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.254",
        "169.254.169.254",
        "168.63.129.16",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.192",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.0.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.7",
        "203.0.113.7",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::2",
        "::127.0.0.1",
        "::8.8.8.8",
        "::ffff:127.0.0.1",
        "::ffff:7f00:1",
        "::ffff:169.254.169.254",
        "::ffff:0:127.0.0.1",
        "64:ff9b::127.0.0.1",
        "64:ff9b::10.0.0.1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::8.8.8.8",
        "100::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "2001:2::1",
        "2001:10::1",
        "2001:20::1",
        "2001:db8::1",
        "3fff::1",
        "5f00::1",
        "2002:7f00:1::",
        "2002:a00:1::1",
        "2002:a9fe:a9fe::1",
        // Teredo by way of a private server, and to a private client.
        "2001:0:a00:1:0:0:f7f7:f7f7",
        "2001:0:808:808:0:0:80ff:fffe",
        "2001:0:808:808:0:0:5601:5601",
        "2a00:1450::5efe:10.0.0.1",
        "2a00:1450::200:5efe:127.0.0.1",
    ] {
        assert!(!is_public(address(text)), "{text}");
        assert!(!AllowedHosts::default().permits("x.example", address(text)), "{text}");
    }
}

#[test]
fn addresses_of_the_internet() {
    for text in [
        "1.1.1.1",
        "8.8.8.8",
        "100.63.255.255",
        "100.128.0.1",
        "126.255.255.255",
        "128.0.0.1",
        "168.63.129.17",
        "172.15.255.255",
        "172.32.0.1",
        "192.0.1.1",
        "192.167.255.255",
        "198.17.255.255",
        "198.20.0.1",
        "223.255.255.255",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
        "2001:4860:4860::8888",
        "2002:808:808::1",
        "2001:0:808:808:0:0:f7f7:f7f7",
        "2606:4700::1111",
        "2a00:1450::5efe:8.8.8.8",
    ] {
        assert!(is_public(address(text)), "{text}");
    }
}

#[test]
fn spellings_of_one_address() {
    for text in [
        "127.0.0.1",
        "127.0.0.1.",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0X7F000001",
        "0x7f.1",
        "0177.0.0.1",
        "017700000001",
        "0177.0.0.01",
        "127.0x0.0.0x1",
        "0x7f.0x0.0x0.0x1",
    ] {
        assert_eq!(address_of_host(text), Some(IpAddr::V4(Ipv4Addr::LOCALHOST)), "{text}");
    }
    for text in ["::1", "[::1]", "0:0:0:0:0:0:0:1", "0000::0001"] {
        assert_eq!(address_of_host(text), Some(IpAddr::V6(Ipv6Addr::LOCALHOST)), "{text}");
    }
    for text in [
        "",
        "example.com",
        "127.0.0.1.nip.io",
        "256.0.0.1",
        "1.2.3.4.5",
        "4294967296",
        "08",
        "0x-1",
        "+1",
        "1.",
    ] {
        let is_address = address_of_host(text).is_some();
        // A single number is an address; a trailing dot changes nothing.
        assert_eq!(is_address, text == "1.", "{text}");
    }
}

#[test]
fn hosts_of_urls() {
    for (url, expected) in [
        ("https://example.com/mcp", Ok("example.com")),
        ("HTTPS://Example.COM:8443/mcp?a=b", Ok("example.com")),
        ("http://example.com.", Ok("example.com")),
        ("http://[::1]:80/", Ok("::1")),
        ("http://2130706433/", Ok("2130706433")),
        ("https://example.com#@127.0.0.1", Ok("example.com")),
        ("https://user@example.com", Err(HostProblem::UserInfo)),
        ("https://example.com@127.0.0.1/", Err(HostProblem::UserInfo)),
        ("https://user:pass@127.0.0.1/", Err(HostProblem::UserInfo)),
        ("ftp://example.com", Err(HostProblem::Scheme)),
        ("file:///etc/passwd", Err(HostProblem::Scheme)),
        ("example.com", Err(HostProblem::Scheme)),
        ("https:/example.com", Err(HostProblem::Scheme)),
        ("https://", Err(HostProblem::NoHost)),
        ("https:///x", Err(HostProblem::NoHost)),
        ("https://:80/x", Err(HostProblem::NoHost)),
        ("https://example.com\\@127.0.0.1/", Err(HostProblem::UserInfo)),
        ("https://example.com\\.evil", Err(HostProblem::Unclear)),
        ("https://exam ple.com/", Err(HostProblem::Unclear)),
        ("https://127%2e0.0.1/", Err(HostProblem::Unclear)),
        ("https://\u{2460}27.0.0.1/", Err(HostProblem::Unclear)),
        ("https://localhost\u{3002}/", Err(HostProblem::Unclear)),
        ("https://[fe80::1%25eth0]/", Err(HostProblem::Unclear)),
        ("https://[::1/", Err(HostProblem::Unclear)),
        ("https://example.com:99999/", Err(HostProblem::Unclear)),
        ("https://example.com:80:90/", Err(HostProblem::Unclear)),
        ("https://example.com../", Err(HostProblem::Unclear)),
        ("https://./", Err(HostProblem::Unclear)),
    ] {
        assert_eq!(host_of(url).as_deref(), expected.as_ref().map(|host| &**host), "{url}");
    }
}

#[test]
fn exceptions_are_hosts_suffixes_and_networks() {
    let texts = ["intranet.example", "*.corp.example", "10.1.0.0/16", "fd00::/8", "192.168.1.5"];
    let (allowed, refused) = AllowedHosts::parse(texts);
    assert_eq!(refused, []);
    for (host, found, is_allowed) in [
        ("intranet.example", "10.9.9.9", true),
        ("INTRANET.example.", "127.0.0.1", true),
        ("x.intranet.example", "10.9.9.9", false),
        ("a.corp.example", "10.9.9.9", true),
        ("a.b.corp.example", "10.9.9.9", true),
        ("corp.example", "10.9.9.9", false),
        ("evilcorp.example", "10.9.9.9", false),
        ("else.example", "10.1.2.3", true),
        ("else.example", "::ffff:10.1.2.3", true),
        ("else.example", "10.2.0.1", false),
        ("else.example", "fd12::1", true),
        ("else.example", "fe80::1", false),
        ("else.example", "192.168.1.5", true),
        ("else.example", "192.168.1.6", false),
        ("else.example", "8.8.8.8", true),
    ] {
        assert_eq!(allowed.permits(host, address(found)), is_allowed, "{host} {found}");
    }
}

#[test]
fn what_is_no_exception_is_refused() {
    for text in [
        "",
        "*",
        "*.",
        "a..b",
        "a b",
        "http://x",
        "x:80",
        "10.0.0.0/33",
        "10.1.0.0/8",
        "127.1",
        "*.*.x",
        "x/y",
    ] {
        let (allowed, refused) = AllowedHosts::parse([text]);
        assert_eq!((allowed, refused.len()), (AllowedHosts::default(), 1), "{text}");
    }
}

#[test]
fn urls_of_members() {
    let (allowed, _) = AllowedHosts::parse(["10.0.0.0/8"]);
    for (url, is_accepted) in [
        ("https://example.com/mcp", true),
        ("https://8.8.8.8/mcp", true),
        ("http://10.1.2.3:8080/mcp", true),
        ("http://127.1/mcp", false),
        ("http://0x7f.1/mcp", false),
        ("http://2852039166/latest/meta-data", false),
        ("http://[::ffff:127.0.0.1]/mcp", false),
        ("http://[::]/mcp", false),
        ("http://user@example.com/mcp", false),
        ("ws://example.com/mcp", false),
    ] {
        assert_eq!(check_url(url, &allowed).is_ok(), is_accepted, "{url}");
    }
}
